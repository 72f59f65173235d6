import os
import sys
from io import StringIO

import pytest
from rich.console import Console

from pe_lab.sweeps import progress
from pe_lab.sweeps.progress import Progress

GROUPS = {"a": ("rope", 100, 2), "b": ("alibi", 100, 1)}  # 300 member-steps


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a test says so."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


@pytest.fixture
def shown(clock):
    """A Progress without a terminal, and the lines that it has printed."""
    text = StringIO()
    return Progress(GROUPS, Console(file=text, width=40)), lambda: text.getvalue().splitlines()


def at(step, rate=12.0):
    return {"event": "progress", "step": step, "loss": 0.25, "steps_per_second": rate}


def test_without_a_terminal_a_group_is_one_plain_line_with_loss_rate_count_and_time(shown, clock):
    display, lines = shown
    with display:
        display.event("a", {"event": "started"})
        clock(10)
        display.event("a", at(50, rate=10.0))
    (line,) = lines()
    assert line == "rope  step 50/100 x 2  loss 0.2500  10 steps/s  0 of 3 runs, 20 seconds left"


def test_lines_of_one_group_are_ten_seconds_apart(shown, clock):
    display, lines = shown
    for step in range(1, 31):
        clock(1)
        display.event("a", at(step))
    assert [line.split("  ")[1] for line in lines()] == [
        "step 1/100 x 2",
        "step 11/100 x 2",
        "step 21/100 x 2",
    ]


def test_started_evaluating_and_finished_are_not_worth_a_line(shown):
    display, lines = shown
    for event in ("started", "evaluating", "finished"):
        display.event("a", {"event": event})
    assert lines() == []


def test_what_is_done_is_counted_in_runs(shown, clock):
    display, lines = shown
    display.event("b", {"event": "started"})
    display.event("a", {"event": "ended", "status": 0})
    display.event("b", {"event": "ended", "status": 0})
    assert lines() == ["rope  done  2 of 3 runs, estimating time left", "alibi  done  3 of 3 runs"]


def test_a_failed_group_says_why_and_a_killed_one_points_to_its_log(shown, clock):
    display, lines = shown
    clock(10)
    display.event("a", {"event": "failed", "error": "out of memory"})
    display.event("a", {"event": "ended", "status": 1})
    display.event("b", {"event": "ended", "status": -9})
    assert [line.split("  ")[:2] for line in lines()] == [
        ["rope", "step 0/100 x 2"],
        ["rope", "FAILED: out of memory"],
        ["alibi", "FAILED: see its log"],
    ]


def test_saved_groups_are_neither_failed_nor_done(shown):
    display, lines = shown
    for group in ("a", "b"):
        display.event(group, {"event": "started"})
        display.event(group, {"event": "resumed", "step": 40})
    first = len(lines())
    for group in ("a", "b"):
        display.event(group, {"event": "saving"})
    display.event("a", at(60))
    display.event("a", {"event": "saved"})
    display.event("b", {"event": "stopped"})
    assert lines()[first:] == [
        "stopping: workers are saving; Ctrl-C again ends them at once",
        "rope  saving at step 40/100  0 of 3 runs",
        "alibi  saving at step 40/100  0 of 3 runs",
        "rope  saved at step 60/100  loss 0.2500  12 steps/s  0 of 3 runs",
        "alibi  stopped; it continues from its last checkpoint  0 of 3 runs",
    ]


def test_a_terminal_shows_saving_and_saved_groups(clock):
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=100, color_system=None)
    with Progress(GROUPS, console) as display:
        display.event("a", at(50))
        display.event("b", at(50))
        display.event("a", {"event": "saving"})
        display.event("b", {"event": "saving"})
        display.event("b", at(60))
        display.event("a", {"event": "saved"})
    assert "stopping: workers are saving" in text.getvalue()
    last = text.getvalue().split("rope")[-1]
    assert "saved at step 50/100" in last
    assert "saving at step 60/100" in last
    assert "0 of 3 runs" in last
    assert "FAILED" not in text.getvalue()


def test_there_is_no_estimate_before_the_first_rate(shown, clock):
    display, lines = shown
    display.event("a", {"event": "started"})
    clock(10)
    display.event("a", {"event": "resumed", "step": 50})
    assert display.seconds_left() is None
    assert lines() == ["rope  step 50/100 x 2  0 of 3 runs, estimating time left"]


def test_compilation_is_not_part_of_the_rate(shown, clock):
    """100 of 200 member-steps of the one run group and 100 of the other, at 10 a second."""
    display, _ = shown
    display.event("a", {"event": "started"})
    clock(1000)
    display.event("a", at(50, rate=10.0))
    assert display.seconds_left() == 20.0


def test_running_groups_share_the_time_and_have_their_own_rates(shown):
    display, _ = shown
    for group in ("a", "b"):
        display.event(group, {"event": "started"})
    display.event("a", at(50, rate=10.0))  # 100 member-steps are left: 10 s
    display.event("b", at(50, rate=2.0))  # 50: 25 s
    assert display.seconds_left() == pytest.approx(35.0 / 2)


def test_the_rate_is_the_mean_over_the_steps_of_a_group(shown):
    display, _ = shown
    display.event("b", at(20, rate=10.0))  # 2 s
    display.event("b", at(80, rate=20.0))  # 3 s
    display.event("a", {"event": "ended", "status": 0})
    assert display.seconds_left() == pytest.approx(20 / 16)


def test_the_time_outside_of_training_of_ended_groups_is_expected_of_the_others(shown, clock):
    """The first group trains for 20 of its 50 seconds; the second has 10 s of steps ahead."""
    display, _ = shown
    display.event("a", {"event": "started"})
    display.event("a", at(100, rate=10.0))
    clock(50)
    display.event("a", {"event": "ended", "status": 0})
    assert display.seconds_left() == 30.0 + 10.0
    display.event("b", {"event": "started"})
    clock(5)
    assert display.seconds_left() == 25.0 + 10.0
    display.event("b", at(50, rate=25.0))  # 2 of the 5 seconds were training
    assert display.seconds_left() == 27.0 + 2.0


def test_steps_of_an_earlier_process_are_not_part_of_the_rate(shown):
    display, _ = shown
    display.event("a", {"event": "started"})
    display.event("a", {"event": "resumed", "step": 50})
    display.event(
        "a", at(75, rate=10.0)
    )  # 50 member-steps are left, and 100 of the other run group
    assert display.seconds_left() == 15.0


def test_evaluation_is_named_after_the_last_step(shown, clock):
    display, lines = shown
    display.event("b", {"event": "ended", "status": 0})
    display.event("a", at(100))
    assert lines()[-1].endswith("1 of 3 runs, evaluating")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "estimating time left"),
        (0.0, "0 seconds left"),
        (119.0, "119 seconds left"),
        (120.0, "2.0 minutes left"),
        (5400.0, "90.0 minutes left"),
        (86400.0, "24.0 hours left"),
        (1e8, "3.2 years left"),
    ],
)
def test_the_time_left_is_in_the_largest_unit_with_two_or_more(shown, monkeypatch, seconds, words):
    display, lines = shown
    monkeypatch.setattr(display, "seconds_left", lambda: seconds)
    display.event("a", {"event": "resumed", "step": 1})
    assert lines() == [f"rope  step 1/100 x 2  0 of 3 runs, {words}"]


def test_a_long_line_is_not_folded(shown, clock):
    display, lines = shown
    clock(10)
    display.event("a", {"event": "failed", "error": "word " * 30})
    display.event("a", {"event": "ended", "status": 1})
    assert len(lines()) == 2


@pytest.mark.parametrize("error", ["expected [b l], got [c]", "no file at [/tmp/x]", "at :bug: 3"])
def test_an_error_is_shown_as_it_is(shown, clock, error):
    display, lines = shown
    clock(10)
    display.event("a", {"event": "ended", "status": 1, "error": error})
    assert lines() == [f"rope  FAILED: {error}  2 of 3 runs, estimating time left"]


def test_in_a_terminal_running_groups_are_rows_of_a_table_and_done_ones_leave_it(clock):
    text = StringIO()
    display = Progress(
        GROUPS, Console(file=text, force_terminal=True, width=100, color_system=None)
    )
    display.event("a", at(50))
    display.event("b", {"event": "ended", "status": 0})
    assert text.getvalue() == ""
    with display:
        pass
    assert text.getvalue().split("\n")[0].split()[-8:] == [
        "step",
        "50/100",
        "x",
        "2",
        "loss",
        "0.2500",
        "12",
        "steps/s",
    ]
    assert "1 of 3 runs" in text.getvalue()
    assert "alibi" not in text.getvalue()


def test_a_closed_stdout_ends_no_worker(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        with Progress(GROUPS) as display:
            display.event("a", at(50))
            display.event("a", {"event": "ended", "status": 0})
            display.event("b", {"event": "ended", "status": 0})
    assert display.ended == {"a", "b"}
