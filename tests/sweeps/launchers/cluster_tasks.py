"""Programs of tasks on a cluster, whose ends launchers report with the same statuses and events."""

from pe_lab.runs.system import locks

# At the second try, the rest of the program is passed over.
FIRST = (
    "import os, pathlib, sys; p = pathlib.Path(sys.argv[0] + '.tried'); p.exists() or p.touch() or "
)
MARK = "pathlib.Path(sys.argv[0]).with_suffix('.later').touch()"
PROGRAMS = {
    "bad": 'import sys; print("oh no", file=sys.stderr); sys.exit(3)',
    "dead": "import os; os.kill(os.getpid(), 9)",
    "once": FIRST + "os.kill(os.getpid(), 9)",
    "left": FIRST + f"({MARK}, sys.exit({locks.LATER}))",
    "exits": f"import os; os._exit({locks.LATER})",
    "good": "",
}
STATUSES = {"bad": 3, "dead": -9, "once": 0, "left": 0, "exits": 1, "good": 0}
ONCE = ["queued", "ended"]
DIED = ["queued", "died", *ONCE]
KINDS = {
    "bad": ONCE,
    "dead": DIED,
    "once": DIED,
    "left": ["queued", "left", *ONCE],
    "exits": ONCE,
    "good": ONCE,
}


def kinds(events, group):
    """The kinds of a group's events, without its starts, which a launcher may not see."""
    names = [event["event"] for name, event in events if name == group]
    return [name for name in names if name != "started"]


def check_all_ends(launch, folder):
    """Launch all programs: one that dies is tried once more, one that has left is started again.

    A plugin that ends its process with the status of a preempted one leaves no mark, and has
    failed.
    """
    statuses, events = launch(PROGRAMS)
    assert statuses == STATUSES
    assert {group: kinds(events, group) for group in PROGRAMS} == KINDS
    assert ("dead", {"event": "died", "signal": 9}) in events
    assert (folder / "logs" / "bad.log").read_text(encoding="utf-8") == "oh no\n"
