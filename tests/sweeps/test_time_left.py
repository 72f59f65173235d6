"""Estimates of the time left, on sequences of run groups whose times were recorded."""

import gzip
import json
from pathlib import Path

import pytest

from pe_lab.sweeps.time_left import GroupPlan, TimeLeft

PUBLISHED = Path(__file__).parents[2] / "results" / "published"
START, SETUP = 4.0, 8.0  # seconds of a group's start, and of a worker's


def recorded_groups(study):
    """The plan of each run group of a published study, and its seconds of training and other."""
    groups = {}
    text = gzip.decompress((PUBLISHED / study / "records.jsonl.gz").read_bytes()).decode()
    for line in text.splitlines():
        record = json.loads(line)
        if not record.get("cost"):
            continue
        cost, steps = record["cost"], record["config"]["train"]["steps"]
        members = cost["members"]
        seconds = cost["train_seconds"] * members, cost["compile_seconds"] * members
        # The plan knows the steps of the config, and not that a criterion ends them early.
        planned = cost["train_flops"] * members / 2.9e10 * steps / cost["steps"]
        groups[seconds] = GroupPlan(study, steps, members, planned, 21.0), cost["steps"], *seconds
    return list(groups.values())


def events_of(groups, workers):
    """(time, group, event) of groups that workers train one after the other."""
    events = []
    free_at = [0.0] * workers
    for index, (plan, last_step, train_seconds, compile_seconds) in enumerate(groups):
        worker = free_at.index(min(free_at))
        now = free_at[worker]
        group = str(index)
        events.append((now, group, {"event": "started"}))
        now += START + 0.7 * compile_seconds + (0 if now else SETUP)
        for chunk in range(1, 9):
            now += train_seconds / 8
            rate = last_step * plan.num_members / train_seconds
            event = {"event": "progress", "step": last_step * chunk // 8, "steps_per_second": rate}
            events.append((now, group, event))
        events.append((now, group, {"event": "evaluating"}))
        now += 0.3 * compile_seconds + 0.3 * train_seconds
        events.append((now, group, {"event": "ended", "status": 0}))
        free_at[worker] = now + 0.2
    return sorted(events, key=lambda event: event[0])


@pytest.mark.parametrize(
    "study",
    [
        "quickstart",
        "exposure",
        "combine",
        "journey",
        "ruoss15_scaled",
        "saturation",
        "story_recurrent",
        "lm_extrapolation_scaled",
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_from_a_third_of_the_work_on_the_time_left_is_right_within_a_quarter(study, workers):
    """Or within 5 % of the whole time: the last groups are few, and not the mean of the others."""
    groups = recorded_groups(study)
    events = events_of(groups, workers)
    end = max(now for now, _, _ in events)
    estimate = TimeLeft({str(index): plan for index, (plan, *_) in enumerate(groups)})
    errors = []
    for now, group, event in events:
        estimate.add(group, event, now)
        if now > end / 3:
            left = end - now
            errors.append(abs(estimate.seconds(now) - left) / max(left, end / 5))
    assert max(errors) < 0.25


PLANS = {
    "a": GroupPlan("rope", 100, 2, train_seconds=20.0, other_seconds=10.0),
    "b": GroupPlan("alibi", 100, 1, train_seconds=10.0, other_seconds=10.0),
}


def at(group, step, rate):
    return group, {"event": "progress", "step": step, "steps_per_second": rate}


def says(group, event, **more):
    return group, {"event": event, **more}


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        # Nothing is known of the time of a step.
        ([says("a", "started"), 10, says("a", "resumed", step=50)], None),
        # One worker: 10 s of training and 10 s of the rest are left, and 20 s of the second group.
        ([says("a", "started"), 10, at("a", 50, rate=10.0)], 10 + 10 + 20),
        # Compilation took ten times as long as planned, so it does of the others.
        ([says("a", "started"), 110, at("a", 50, 10.0)], 10 + 10 + 100),
        # Two workers train at their own rates: 100 member-steps in 10 s, 50 in 25 s.
        (
            [says("a", "started"), says("b", "started"), 30, at("a", 50, 10.0), at("b", 50, 2.0)],
            15 + 25,  # the start of the first took twice as long as planned
        ),
        # Steps of an earlier process have no rate: 50 member-steps are left, and the other group.
        ([says("a", "started"), says("a", "resumed", step=50), 5, at("a", 75, 10.0)], 5 + 10 + 20),
        # The first group trained for 20 of its 50 s; a group is not lost between two workers.
        ([says("a", "started"), 50, at("a", 100, 10.0), says("a", "ended", status=0)], 10 + 30),
        # A criterion ends groups at half of their steps.
        ([says("a", "started"), 50, at("a", 50, 5.0), says("a", "ended", status=0)], 10 + 30),
        # A group that starts again keeps the 40 s outside of training, and 10 s more.
        (
            [
                says("a", "started"),
                100,
                at("a", 50, 100 / 60),
                says("a", "left"),
                says("a", "started"),
                10,
            ],
            60 + 60 + 50,
        ),
        # A failed group says nothing.
        (
            [says("a", "started"), 9, at("a", 10, 10.0), says("a", "ended", status=1)],
            20,
        ),
    ],
)
def test_the_time_left_follows_from_measured_times_and_the_plan(steps, seconds):
    now = 1000.0
    estimate = TimeLeft(PLANS)
    for step in steps:
        if isinstance(step, int):
            now += step
        else:
            estimate.add(*step, now)
    assert estimate.seconds(now) == (seconds and pytest.approx(seconds))
