"""Ctrl-C ends what the local launcher runs."""

import os
import signal
import time

import pytest

from pe_lab.runs import errors
from pe_lab.sweeps.launchers import local
from tests.sweeps.launchers.local.events import kinds


@pytest.fixture
def interrupted(launch):
    """Launches run groups and presses Ctrl-C when one says that it is ready; gives all events."""

    def call(programs, times=1):
        seen = []

        def on_event(group, event):
            seen.append((group, event))
            if (event["event"] == "ready") or (event["event"] == "saving" and times == 2):
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            launch(programs, on_event=on_event)
        return seen

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield call
    signal.signal(signal.SIGINT, before)


SLEEPER = 'import time; report({"event": "ready"}); time.sleep(60)'
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPER


@pytest.mark.slow
def test_ctrl_c_asks_what_is_running_to_leave_and_waits_for_it(interrupted):
    saves = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), "
        "sys.exit(75))); "
    ) + SLEEPER
    assert kinds(interrupted({"a": saves}))[1:] == [("a", "ready"), ("a", "saving"), ("a", "saved")]


@pytest.mark.parametrize(("grace", "times"), [(0.2, 1), (60.0, 2)])
def test_what_does_not_leave_in_time_or_before_a_second_ctrl_c_is_killed(
    interrupted, monkeypatch, grace, times
):
    monkeypatch.setattr(local, "_GRACE", grace)
    started = time.monotonic()
    assert kinds(interrupted({"a": DEAF}, times))[1:] == [
        ("a", "ready"),
        ("a", "saving"),
        ("a", "stopped"),
    ]
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("status", [0, 3])
def test_what_ends_while_all_are_asked_to_leave_is_done_or_failed(interrupted, status):
    ends = (
        f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit({status})); "
        + SLEEPER
    )
    assert interrupted({"a": ends})[-1] == ("a", {"event": "ended", "status": status})


def test_nothing_is_started_after_ctrl_c(interrupted):
    assert kinds(interrupted({"a": SLEEPER, "b": ""})) == [
        ("a", "started"),
        ("a", "ready"),
        ("a", "saving"),
        ("a", "stopped"),
    ]


def test_a_signal_whose_exception_was_dropped_stops_the_launcher_at_its_next_look(
    launch, monkeypatch
):
    monkeypatch.setattr(errors, "_received", [signal.SIGTERM])
    with pytest.raises(errors.Interrupted):
        launch({"a": ""})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_a_group_has_a_process_group_of_its_own_and_no_signal_blocked(launch):
    program = (
        "import os, signal; report({'event': 'here', 'leads': os.getpgrp() == os.getpid(), "
        "'blocked': sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))})"
    )
    _, events = launch({"a": program})
    assert events[1] == ("a", {"event": "here", "leads": True, "blocked": []})
