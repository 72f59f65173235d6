"""Ctrl-C ends what the local launcher runs."""

import signal
import threading

import pytest

from pe_lab.sweeps.launchers import local
from tests.sweeps.launchers.local.events import kinds


@pytest.fixture
def interrupted(launch, monkeypatch):
    """Launches run groups and presses Ctrl-C when one says that it is ready; gives all events until
    the worker's thread is over.
    """
    over = threading.Event()

    class Thread(threading.Thread):
        def run(self):
            super().run()
            over.set()  # an interrupted join leaves the thread marked as ended (CPython 3.11)

    def call(programs):
        seen = []

        def on_event(group, event):
            seen.append((group, event))
            if event["event"] == "ready":
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        with monkeypatch.context() as patched:
            patched.setattr(threading, "Thread", Thread)
            with pytest.raises(KeyboardInterrupt):
                launch(programs, on_event=on_event)
        assert over.wait(60)
        return seen

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield call
    signal.signal(signal.SIGINT, before)


SLEEPER = 'import time; report({"event": "ready"}); time.sleep(60)'


@pytest.mark.slow
def test_ctrl_c_asks_what_is_running_to_leave_and_waits_for_it(interrupted):
    saves = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), "
        "sys.exit(75))); "
    ) + SLEEPER
    assert kinds(interrupted({"a": saves}))[1:] == [("a", "ready"), ("a", "saving"), ("a", "saved")]


def test_what_does_not_leave_in_time_is_killed(interrupted, monkeypatch):
    monkeypatch.setattr(local, "_GRACE", 0.2)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEPER
    assert kinds(interrupted({"a": deaf}))[1:] == [
        ("a", "ready"),
        ("a", "saving"),
        ("a", "stopped"),
    ]


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
