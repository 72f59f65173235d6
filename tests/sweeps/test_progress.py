import os
import re
import sys
from io import StringIO

import pytest
from rich.console import Console

from pe_lab.runs.system import terminal
from pe_lab.sweeps import progress
from pe_lab.sweeps.progress import Progress
from pe_lab.sweeps.time_left import GroupPlan

GROUPS = {  # 300 member-steps
    "a": GroupPlan("rope", 100, 2, train_seconds=20.0, setup_seconds=6.0, rest_seconds=4.0),
    "b": GroupPlan("alibi", 100, 1, train_seconds=10.0, setup_seconds=6.0, rest_seconds=4.0),
}


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
    shown = Progress(GROUPS, console=Console(file=text, width=40))
    shown.text = text.getvalue
    shown.lines = lambda: [re.sub("  +", "  ", line) for line in text.getvalue().splitlines()]
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


LONG = "word " * 29 + "word"
UNKNOWN = "estimating the time left"


@pytest.mark.parametrize(
    ("steps", "lines"),
    [
        (
            [says("a", "started"), 10, at("a", 50, rate=10.0)],
            [
                "rope  step  50/100 x 2  loss 0.2500  10 steps/s  0 of 3 runs done, about 30 "
                "seconds left"
            ],
        ),
        ([says("a", kind) for kind in ("started", "evaluating", "finished")], []),
        (
            [says("b", "started"), says("a", "ended", status=0), says("b", "ended", status=0)],
            [f"rope  done  2 of 3 runs done, {UNKNOWN}", "alibi  done  3 of 3 runs done"],
        ),
        (
            [10, says("a", "failed", error="no memory"), says("a", "ended", status=1)],
            [
                f"rope  step  0/100 x 2  0 of 3 runs done, {UNKNOWN}",
                f"rope  FAILED: no memory  2 of 3 runs done, {UNKNOWN}",
            ],
        ),
        (
            [says("b", "ended", status=-9)],
            [f"alibi  FAILED: see its log  1 of 3 runs done, {UNKNOWN}"],
        ),
        (
            [says("a", "started"), 10, says("a", "resumed", step=50)],
            [f"rope  step  50/100 x 2  0 of 3 runs done, {UNKNOWN}"],
        ),
        (
            [says("b", "ended", status=0), at("a", 100)],
            [
                f"alibi  done  1 of 3 runs done, {UNKNOWN}",
                "rope  step 100/100 x 2  loss 0.2500  12 steps/s  1 of 3 runs done, about a "
                "few seconds left",
            ],
        ),
        *(
            (
                [10, says("a", "ended", status=1, error=error)],
                [f"rope  FAILED: {error}  2 of 3 runs done, {UNKNOWN}"],
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
    steps = re.findall(r"step +(\d+)/100 x 2", display.text())
    assert steps == ["1", "11", "21"]


def test_the_columns_of_plain_lines_are_aligned(display, clock):
    play(display, clock, [10, at("a", 5), at("b", 100), says("b", "ended", status=0)])
    assert [line.partition(" of 3 runs done")[0] for line in display.text().splitlines()] == [
        "rope   step   5/100 x 2      loss 0.2500    12 steps/s  0",
        "alibi  step 100/100 x 1      loss 0.2500    12 steps/s  0",
        "alibi  done                  loss 0.2500    12 steps/s  1",
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
        "rope  saving at step  40/100  0 of 3 runs done",
        "alibi  saving at step  40/100  0 of 3 runs done",
        "rope  saved at step  60/100  loss 0.2500  12 steps/s  0 of 3 runs done",
        "alibi  stopped; it continues from its last checkpoint  0 of 3 runs done",
    ]


def in_terminal():
    """A Progress in a terminal, and its text."""
    text = StringIO()
    console = Console(file=text, force_terminal=True, width=100, color_system=None)
    return Progress(GROUPS, console=console), text


def test_a_terminal_shows_saving_and_saved_groups(clock):
    display, text = in_terminal()
    with display:
        play(display, clock, [at("a", 50), at("b", 50), says("a", "saving"), says("b", "saving")])
        play(display, clock, [at("b", 60), says("a", "saved")])
    assert "stopping: workers are saving" in text.getvalue()
    last = text.getvalue().split("rope")[-1]
    for words in ("saved at step  50/100", "saving at step  60/100", "0 of 3 runs done"):
        assert words in last
    assert "FAILED" not in text.getvalue()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (4.0, "a few seconds"),
        (44.0, "40 seconds"),
        (89.0, "90 seconds"),
        (119.0, "2 minutes"),
        (5300.0, "88 minutes"),
        (5400.0, "1.5 hours"),
        (172800.0, "2.0 days"),
        (1e8, "3.2 years"),
    ],
)
def test_the_time_left_is_in_round_numbers(seconds, words):
    assert terminal.rough_duration(seconds) == words


def test_runs_that_were_finished_before_the_sweep_are_counted(clock):
    text = StringIO()
    display = Progress(GROUPS, 8, Console(file=text, width=40))
    play(display, clock, [says("b", "ended", status=0)])
    assert "9 of 11 runs done" in text.getvalue()


def test_in_a_terminal_running_groups_are_rows_of_a_table_and_done_ones_leave_it(clock):
    display, text = in_terminal()
    play(display, clock, [at("a", 50), says("b", "ended", status=0)])
    assert text.getvalue() == ""
    with display:
        pass
    row = text.getvalue().split("\n")[0].split()
    assert row[-8:] == ["step", "50/100", "x", "2", "loss", "0.2500", "12", "steps/s"]
    assert "1 of 3 runs done" in text.getvalue()
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
