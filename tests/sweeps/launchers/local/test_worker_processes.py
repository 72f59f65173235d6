"""The process of a run group: its cores, its imports, and what it prints."""

import os
import random
import sys
from multiprocessing import forkserver
from types import ModuleType

import pytest

from pe_lab.sweeps.launchers import local
from tests.sweeps.launchers.local.events import kinds

# A worker that is pinned after it has started waits for that, then says where it runs.
PINNED = """
import json, os, time
for _ in range(100):
    if len(os.sched_getaffinity(0)) == 1:
        break
    time.sleep(0.05)
cores, flags = sorted(os.sched_getaffinity(0)), os.environ.get("XLA_FLAGS", "")
report({"event": "pinned", "cores": cores, "flags": flags})
"""


needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system pins no processes"
)


def test_a_worker_reports_in_json_and_anything_else_goes_to_its_log(launch, tmp_path):
    program = (
        'import sys; report({"event": "progress", "step": 3}); print("hello"); print("oh '
        'no", file=sys.stderr)'
    )
    _, events = launch({"a": program})
    assert events == [
        ("a", {"event": "started"}),
        ("a", {"event": "progress", "step": 3}),
        ("a", {"event": "ended", "status": 0}),
    ]
    assert sorted((tmp_path / "logs" / "a.log").read_text(encoding="utf-8").split("\n")) == [
        "",
        "hello",
        "oh no",
    ]


def test_a_worker_is_given_its_group_and_the_folder(launch, tmp_path):
    launch(
        {
            "a": (
                "import sys; from pathlib import Path; Path(sys.argv[1], "
                "'said').write_text(sys.argv[0])"
            )
        }
    )
    assert (tmp_path / "said").read_text(encoding="utf-8") == str(tmp_path / "a.json")


@needs_affinity
def test_every_one_of_several_workers_is_pinned_to_a_core_with_one_thread(launch):
    _, events = launch({"a": PINNED, "b": PINNED, "c": PINNED}, workers=2)
    pinned = [event for _, event in events if event["event"] == "pinned"]
    assert [len(event["cores"]) for event in pinned] == [1, 1, 1]
    assert {event["cores"][0] for event in pinned} <= set(local.available_cores())
    assert {event["flags"] for event in pinned} == {
        "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    }


@needs_affinity
def test_a_worker_alone_has_all_cores_and_threads(launch):
    program = PINNED.replace("range(100)", "range(1)")
    _, events = launch({"a": program})
    assert events[1] == ("a", {"event": "pinned", "cores": local.available_cores(), "flags": ""})


def test_flags_of_the_user_are_kept(launch, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    program = 'import json, os; report({"event": "flags", "are": os.environ["XLA_FLAGS"]})'
    _, events = launch({"a": program}, workers=2)
    assert (
        events[1][1]["are"]
        == "--xla_dump_to=x --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )


def test_workers_import_what_this_process_imports(launch, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    program = 'import only_here; report({"event": "imported", "name": only_here.__name__})'
    statuses, events = launch({"a": program})
    assert statuses == {"a": 0}
    assert events[1][1]["name"] == "only_here"


SCRIPT = """
import subprocess, sys
out = subprocess.run([sys.executable, "tools/gen.py"], capture_output=True, text=True)
report({"event": "script", "out": out.stdout, "error": out.stderr})
"""


@pytest.mark.parametrize(("of_user", "out"), [(None, "found\n"), ("1", "")])
def test_a_script_of_a_plugin_imports_its_neighbor(launch, tmp_path, monkeypatch, of_user, out):
    if of_user is None:
        monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONSAFEPATH", of_user)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "neighbor_of_gen.py").write_text("print('found')", encoding="utf-8")
    (tmp_path / "tools" / "gen.py").write_text("import neighbor_of_gen", encoding="utf-8")
    program = f"import os; os.chdir({str(tmp_path)!r})\n{SCRIPT}"
    _, events = launch({"a": program})
    assert events[1][1]["out"] == out, events


PRINTED = ("3", "[1]", "{}", '{"event": "failed"}', '{"returned": 0}', '{"worker": 1, "ended": 0}')


PRINTS = [f"print({line!r})" for line in PRINTED]


PRINTS += [f"import os; os.write(1, {line!r}.encode() + bytes([10]))" for line in PRINTED]


PRINTS += [f"import subprocess; subprocess.run(['echo', {line!r}])" for line in PRINTED]


def test_nothing_that_a_group_prints_is_taken_for_a_report(launch, tmp_path):
    programs = {f"group{i}": f"{text}; raise SystemExit(3)" for i, text in enumerate(PRINTS)}
    statuses, events = launch({**programs, "last": ""})
    assert statuses == {**dict.fromkeys(programs, 3), "last": 0}
    assert kinds(events) == [(group, kind) for group in statuses for kind in ("started", "ended")]
    logs = [tmp_path / "logs" / f"{group}.log" for group in programs]
    printed = [log.read_text(encoding="utf-8").rstrip("\n") for log in logs]
    assert printed == [*PRINTED] * 3


def test_no_group_imports_the_main_module_or_what_is_in_the_way_of_the_standard_library(
    launch, monkeypatch, tmp_path
):
    """The main module may be a script that starts a sweep, and random.py a file of the user."""
    for name in ("random.py", "script.py"):
        (tmp_path / name).write_text("raise SystemExit('imported')", encoding="utf-8")
    main = ModuleType("__main__")
    main.__file__ = str(tmp_path / "script.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.chdir(tmp_path)
    forkserver._forkserver._stop()  # the next one starts here
    where = 'import os, random, sys; report({"event": "here", "is": random.__file__})'
    statuses, events = launch({"a": where})
    assert (statuses, events[1][1]["is"]) == ({"a": 0}, random.__file__)
    assert sys.modules["__main__"] is main
