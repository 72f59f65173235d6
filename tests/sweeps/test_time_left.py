"""Estimates of the time left, on sequences of run groups whose times were recorded."""

import dataclasses
import gzip
import json
import random
from pathlib import Path

import pytest

from pe_lab.sweeps import time_left
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
        groups[seconds] = (
            GroupPlan(study, steps, members, planned, 14.0, 7.0),
            cost["steps"],
            *seconds,
        )
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


@pytest.mark.slow
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


@dataclasses.dataclass(frozen=True)
class Shape:
    """Seconds of a group on idle cores.

    Attributes:
      pause: seconds of each curve point.
      error: a factor of the plan.
    """

    setup: float
    step: float
    evaluation: float
    error: float
    pause: float = 0.0
    steps: int = 600

    @property
    def plan(self):
        evaluations = self.evaluation + self.pause * self.steps / 200
        train_seconds = self.error * self.step * self.steps
        return GroupPlan("a", self.steps, 3, train_seconds, 14.0, 7.0 + self.error * evaluations)


# Short groups that compile for longer than they train; evaluation costs much or little.
SHORT, LONG = Shape(6, 0.01, 3, 1.4), Shape(9, 0.05, 12, 0.7, pause=2, steps=1200)
EVALUATED, COMPILED = Shape(5, 0.004, 20, 0.8, steps=500), Shape(30, 0.02, 4, 1.2, steps=700)
MIXTURES = {
    "quickstart": [SHORT] * 13,
    "many short": [SHORT] * 48,
    "two shapes": [SHORT, LONG] * 8,
    "one after the other": [SHORT] * 12 + [EVALUATED] * 12,
    "four shapes": [SHORT, COMPILED, EVALUATED, LONG] * 6,
}


def replayed(shapes, workers, load):
    """(time, group, event) of synthetic groups at a constant load, with noise of a tenth."""
    rng = random.Random(0)
    events, free_at = [], [0.0] * workers
    for index, shape in enumerate(shapes):
        worker = free_at.index(min(free_at))
        now, group = free_at[worker], str(index)

        def pass_time(seconds):
            return load * seconds * rng.uniform(0.9, 1.1)

        events.append((now, group, {"event": "started"}))
        now += pass_time(shape.setup + (3 if now == 0 else 0))
        for step in range(50, shape.steps + 1, 50):
            seconds = pass_time(50 * shape.step)
            now += seconds
            rate = 50 * shape.plan.num_members / seconds
            event = {"event": "progress", "step": step, "steps_per_second": rate}
            events.append((now, group, event))
            now += pass_time(shape.pause) if step % 200 == 0 else 0
        events.append((now, group, {"event": "evaluating"}))
        now += pass_time(shape.evaluation)
        events.append((now, group, {"event": "ended", "status": 0}))
        free_at[worker] = now
    return sorted(events, key=lambda event: event[0])


@pytest.mark.parametrize("load", [0.3, 1, 4])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shapes", MIXTURES.values(), ids=MIXTURES)
def test_after_a_group_of_each_shape_it_is_right_within_a_quarter(shapes, workers, load):
    """And from the first line on, no line is twice or half of the one before."""
    events = replayed(shapes, workers, load)
    end = events[-1][0]
    estimate = TimeLeft({str(index): shape.plan for index, shape in enumerate(shapes)})
    measured, errors, jumps = set(), [], []
    previous = None
    for now, group, event in events:
        estimate.add(group, event, now)
        seconds, left = estimate.seconds(now), end - now
        if event["event"] == "ended":
            measured.add(shapes[int(group)])
        if seconds is None or left < end / 20:  # the last groups are few, and not a mean
            continue
        if len(measured) == len(set(shapes)):
            errors.append(abs(seconds - left) / left)
        if previous is not None:
            jumps.append(max(seconds / previous, previous / seconds))
        previous = seconds
    assert max(errors) < 0.25
    assert max(jumps) < 2


PLANS = {
    "a": GroupPlan("rope", 100, 2, train_seconds=20.0, setup_seconds=6.0, rest_seconds=4.0),
    "b": GroupPlan("alibi", 100, 1, train_seconds=10.0, setup_seconds=6.0, rest_seconds=4.0),
}


def at(group, step, rate):
    return group, {"event": "progress", "step": step, "steps_per_second": rate}


def says(group, event, **more):
    return group, {"event": event, **more}


START_OF_A = [says("a", "started"), 8]


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        # Nothing is known of the time of a step.
        ([says("a", "started"), 10, says("a", "resumed", step=50)], None),
        # A quarter of the first setup is the start of the worker, so the setup is as planned.
        ([says("a", "started"), 18, at("a", 50, rate=10.0)], (10 + 4) + (6 + 10 + 4)),
        # Compilation took ten times as long as planned, so it does of the others.
        ([says("a", "started"), 90, at("a", 50, 10.0)], (10 + 40) + (60 + 10 + 40)),
        # Two workers train at their own rates: 100 member-steps in 10 s, 50 in 25 s.
        (
            [says("a", "started"), says("b", "started"), 30, at("a", 50, 10.0), at("b", 50, 2.0)],
            25 + 4 * 0.75 * (20 + 5) / 12,
        ),
        # Steps of an earlier process have no rate: 50 member-steps are left, and the other group.
        ([says("a", "started"), says("a", "resumed", step=50), 13, at("a", 75, 10.0)], 9 + 20),
        # Evaluations during training pause it for 3 s in half of the steps.
        (
            [says("a", "started"), 18, at("a", 50, 10.0), 3, says("a", "saving")],
            (10 + 3) + (6 + 10 + 6),
        ),
        # Evaluation took twice as long as planned; a group is not lost between two workers.
        ([*START_OF_A, 20, at("a", 100, 10.0), 8, says("a", "ended", status=0)], 6 + 10 + 8),
        # A criterion ends groups at half of their steps.
        ([*START_OF_A, 10, at("a", 50, 10.0), 4, says("a", "ended", status=0)], 6 + 5 + 4),
        # A group that starts again keeps the 2 s after its setup, and the 10 s of its second start.
        (
            [
                says("a", "started"),
                18,
                at("a", 50, 10.0),
                2,
                says("a", "left"),
                says("a", "started"),
                10,
            ],
            (10 + 12) + (6 + 10 + 24),
        ),
        # A failed group says nothing about evaluation.
        ([*START_OF_A, 2, at("a", 10, 10.0), 9, says("a", "ended", status=1)], 20),
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


def test_before_the_first_evaluation_it_is_as_slow_as_training_and_its_program_as_the_setup():
    plan = GroupPlan("", 100, 1, 100.0, 10.0, rest_seconds=60.0, evaluation_seconds=50.0)
    estimate = TimeLeft({"a": plan, "b": plan})
    estimate.add(*says("a", "started"), 0.0)
    # The setup takes 40 s, of which a quarter is the start of the worker, and 50 steps take 25 s.
    estimate.add(*at("a", 50, 2.0), 65.0)
    rest = 0.5 * 50 + 3 * 10
    assert estimate.seconds(65.0) == pytest.approx((25 + rest) + (30 + 50 + rest))


def test_groups_of_one_shape_stay_together_beside_groups_of_other_steps():
    plans = {
        f"{steps} {index}": GroupPlan("", steps, 1, 10.0 + index / 10, 14.0, 7.0)
        for steps, num_groups in ((600, 6), (1200, 3))
        for index in range(num_groups)
    }
    estimate = TimeLeft(plans)
    now = 0.0
    for group in ("600 0", "1200 0"):  # one of each shape ends; setup takes 14 s and the rest 7 s
        seconds = 10 if group.startswith("600") else 40
        for event, wait in (
            ({"event": "started"}, 14),
            ({"event": "progress", "step": 0, "steps_per_second": 1.0}, seconds),
        ):
            estimate.add(group, event, now)
            now += wait
        steps = int(group.split()[0])
        progress = {"event": "progress", "step": steps, "steps_per_second": steps / seconds}
        for event, wait in ((progress, 0), ({"event": "evaluating"}, 7)):
            estimate.add(group, event, now)
            now += wait
        estimate.add(group, {"event": "ended", "status": 0}, now)
    trained = sum(10.0 + index / 10 for index in range(1, 6))
    trained += 4 * sum(10.0 + index / 10 for index in range(1, 3))
    setup = 14 * (1 - time_left._WORKER_SHARE)  # the first group started the worker
    assert estimate.seconds(now) == pytest.approx(trained + 5 * (setup + 7) + 2 * (14 + 7))
