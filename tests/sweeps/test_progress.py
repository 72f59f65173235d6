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
def display(clock):
    """A Progress without a terminal; `lines` has what it has printed."""
    text = StringIO()
    shown = Progress(GROUPS, Console(file=text, width=40))
    shown.lines = lambda: text.getvalue().splitlines()
    return shown


def at(group, step, rate=12.0):
    event = {"event": "progress", "step": step, "loss": 0.25, "steps_per_second": rate}
    return group, event


def says(group, event, **more):
    return group, {"event": event, **more}


def play(display, clock, steps):
    """Show events of run groups; a number is a time that passes, in seconds."""
    for step in steps:
        clock(step) if isinstance(step, int) else display.event(*step)


LONG = "word " * 30
UNKNOWN = "estimating time left"


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        (
            [says("a", "started"), 10, at("a", 50, rate=10.0)],
            ["rope  step 50/100 x 2  loss 0.2500  10 steps/s  0 of 3 runs, 20 seconds left"],
        ),
        ([says("a", kind) for kind in ("started", "evaluating", "finished")], []),
        (
            [says("b", "started"), says("a", "ended", status=0), says("b", "ended", status=0)],
            [f"rope  done  2 of 3 runs, {UNKNOWN}", "alibi  done  3 of 3 runs"],
        ),
        (
            [10, says("a", "failed", error="no memory"), says("a", "ended", status=1)],
            [
                f"rope  step 0/100 x 2  0 of 3 runs, {UNKNOWN}",
                f"rope  FAILED: no memory  2 of 3 runs, {UNKNOWN}",
            ],
        ),
        (
            [says("b", "ended", status=-9)],
            [f"alibi  FAILED: see its log  1 of 3 runs, {UNKNOWN}"],
        ),
        (
            [says("a", "started"), 10, says("a", "resumed", step=50)],
            [f"rope  step 50/100 x 2  0 of 3 runs, {UNKNOWN}"],
        ),
        (
            [says("b", "ended", status=0), at("a", 100)],
            [
                f"alibi  done  1 of 3 runs, {UNKNOWN}",
                "rope  step 100/100 x 2  loss 0.2500  12 steps/s  1 of 3 runs, evaluating",
            ],
        ),
        *(
            (
                [10, says("a", "ended", status=1, error=error)],
                [f"rope  FAILED: {error}  2 of 3 runs, {UNKNOWN}"],
            )
            for error in ("expected [b l], got [c]", "no file at [/tmp/x]", "at :bug: 3", LONG)
        ),
    ],
)
def test_without_a_terminal_events_are_plain_lines(display, clock, steps, lines):
    """With loss, rate, count and time; neither folded nor read as markup."""
    with display:
        play(display, clock, steps)
    assert display.lines() == lines


def test_lines_of_one_group_are_ten_seconds_apart(display, clock):
    for step in range(1, 31):
        play(display, clock, [1, at("a", step)])
    assert [line.split("  ")[1] for line in display.lines()] == [
        "step 1/100 x 2",
        "step 11/100 x 2",
        "step 21/100 x 2",
    ]


def test_saved_groups_are_neither_failed_nor_done(display, clock):
    steps = []
    for group in ("a", "b"):
        steps += [says(group, "started"), says(group, "resumed", step=40)]
    play(display, clock, steps)
    first = len(display.lines())
    steps = [says("a", "saving"), says("b", "saving"), at("a", 60)]
    play(display, clock, [*steps, says("a", "saved"), says("b", "stopped")])
    assert display.lines()[first:] == [
        "stopping: workers are saving; Ctrl-C again ends them at once",
        "rope  saving at step 40/100  0 of 3 runs",
        "alibi  saving at step 40/100  0 of 3 runs",
        "rope  saved at step 60/100  loss 0.2500  12 steps/s  0 of 3 runs",
        "alibi  stopped; it continues from its last checkpoint  0 of 3 runs",
    ]


def in_terminal():
    """A Progress in a terminal, and its text."""
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=100, color_system=None)
    return Progress(GROUPS, console), text


def test_a_terminal_shows_saving_and_saved_groups(clock):
    display, text = in_terminal()
    with display:
        play(display, clock, [at("a", 50), at("b", 50), says("a", "saving"), says("b", "saving")])
        play(display, clock, [at("b", 60), says("a", "saved")])
    assert "stopping: workers are saving" in text.getvalue()
    last = text.getvalue().split("rope")[-1]
    for words in ("saved at step 50/100", "saving at step 60/100", "0 of 3 runs"):
        assert words in last
    assert "FAILED" not in text.getvalue()


# What is left of 300 member-steps, and the time of the run groups outside of training.
@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        ([says("a", "started"), 10, says("a", "resumed", step=50)], None),
        # Compilation is not part of the rate: 200 member-steps at 10 a second.
        ([says("a", "started"), 1000, at("a", 50, rate=10.0)], 20.0),
        # Each group has its own rate: 100 member-steps in 10 s, 50 in 25 s, on two workers.
        (
            [says("a", "started"), says("b", "started"), at("a", 50, 10.0), at("b", 50, 2.0)],
            35.0 / 2,
        ),
        # The rate is the mean over the steps of a group: 20 in 2 s, 60 in 3 s.
        ([at("b", 20, 10.0), at("b", 80, 20.0), says("a", "ended", status=0)], 20 / 16),
        # Steps of an earlier process have no rate: 50 member-steps are left, and 100 of the other.
        ([says("a", "started"), says("a", "resumed", step=50), at("a", 75, 10.0)], 15.0),
    ],
)
def test_the_time_left_follows_from_the_rates_of_training(display, clock, steps, seconds):
    play(display, clock, steps)
    assert display.seconds_left() == (seconds and pytest.approx(seconds))


def test_the_time_outside_of_training_of_ended_groups_is_expected_of_the_others(display, clock):
    """The first group trains for 20 of its 50 seconds; the second has 10 s of steps ahead."""
    play(display, clock, [says("a", "started"), at("a", 100, 10.0), 50, says("a", "ended")])
    assert display.seconds_left() == 30.0 + 10.0
    play(display, clock, [says("b", "started"), 5])
    assert display.seconds_left() == 25.0 + 10.0
    play(display, clock, [at("b", 50, 25.0)])  # 2 of the 5 seconds were training
    assert display.seconds_left() == 27.0 + 2.0


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
def test_the_time_left_is_in_the_largest_unit_with_two_or_more(
    display, monkeypatch, seconds, words
):
    monkeypatch.setattr(display, "seconds_left", lambda: seconds)
    display.event(*says("a", "resumed", step=1))
    assert display.lines() == [f"rope  step 1/100 x 2  0 of 3 runs, {words}"]


def test_in_a_terminal_running_groups_are_rows_of_a_table_and_done_ones_leave_it(clock):
    display, text = in_terminal()
    play(display, clock, [at("a", 50), says("b", "ended", status=0)])
    assert text.getvalue() == ""
    with display:
        pass
    row = text.getvalue().split("\n")[0].split()
    assert row[-8:] == ["step", "50/100", "x", "2", "loss", "0.2500", "12", "steps/s"]
    assert "1 of 3 runs" in text.getvalue()
    assert "alibi" not in text.getvalue()


def test_a_closed_stdout_ends_no_worker(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        with Progress(GROUPS) as display:
            steps = [at("a", 50), says("a", "ended", status=0), says("b", "ended", status=0)]
            play(display, None, steps)
    assert all(group.has_ended for group in display.groups.values())
