"""A run is done when its record exists, whatever its worker's exit status and output."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import evaluation_points, records
from pe_lab.runs.studies import study_files
from pe_lab.sweeps import plans, study, sweep
from pe_lab.sweeps.launchers.base import TIME_LIMIT
from pe_lab.sweeps.progress import Progress
from pe_lab.sweeps.setups import Setups
from pe_lab.training import run_records
from tests import tiny
from tests.experiments.entry_points import call
from tests.sweeps.fake_launchers import Ends

ROOT = Path(__file__).parents[2]


def write_finished(folder, run):
    rows = [point.row("exact_match", 1.0, 16) for point in evaluation_points.grid(run)]
    records.write(folder, {**run_records.blank(run), "status": "finished", "rows": rows})


@pytest.fixture
def run_study(tmp_path, monkeypatch):
    """Sweep two runs with a launcher; return the failures by seed and the events that are shown."""
    group = tiny.group("rope")
    shown = []
    monkeypatch.setattr(Progress, "event", lambda self, group_id, event: shown.append(event))

    def call(status, num_recorded):
        entries = [study.Entry({"seed": str(run.seed)}, run) for run in group.runs]
        asked = study.ExpandedStudy("fake", tuple(entries))
        todo = plans.Plan(asked, tmp_path, (group,), 2, None, {}, Setups())

        def write_records(folder):
            for run in group.runs[:num_recorded]:
                write_finished(folder, run)

        failures = sweep.run(todo, Ends(status, write_records))
        seeds = {run.run_id: run.seed for run in group.runs}
        return {seeds[run_id]: sentence for run_id, sentence in failures.items()}, shown

    return call


def test_status_0_without_records_is_a_failure(run_study, tmp_path):
    failures, shown = run_study(0, num_recorded=0)
    reason = "its worker ended with status 0 and left no complete record"
    assert [sentence.startswith(f"{reason}: see ") for sentence in failures.values()] == [True] * 2
    assert shown == [{"event": "ended", "status": 1, "error": reason}]
    errors = [record["error"] for record in records.read_all(tmp_path).values()]
    assert [error.startswith(reason) for error in errors] == [True] * 2


def test_status_0_does_not_hide_an_older_failure(run_study, tmp_path):
    for run in tiny.group("rope").runs:
        run_records.write_failure(run, tmp_path, "no memory")
    failures, _ = run_study(0, num_recorded=0)
    assert all("left no complete record" in sentence for sentence in failures.values())


@pytest.mark.parametrize("status", [0, 1, -signal.SIGSEGV])
def test_complete_records_are_a_success_whatever_the_status(run_study, status):
    """A library may crash while the process ends."""
    failures, shown = run_study(status, num_recorded=2)
    assert failures == {}
    assert shown == [{"event": "ended", "status": 0}]


@pytest.mark.slow
def test_a_damaged_study_file_is_written_again(tmp_path):
    (tmp_path / "study.json").write_text("{")
    asked = study.expand("fake", tiny.values(), [{}], tmp_path)
    sweep.run(plans.make(asked, tmp_path), Ends(1))
    assert study_files.read(tmp_path).name == "fake"


def test_the_finished_members_of_a_failed_group_are_no_failures(run_study):
    failures, shown = run_study(1, num_recorded=1)
    assert list(failures) == [1]
    assert shown == [{"event": "ended", "status": 1}]


def test_a_run_group_that_exceeded_its_time_limit_is_recorded_with_this_reason(run_study, tmp_path):
    failures, _ = run_study(TIME_LIMIT, num_recorded=1)
    reason = "its run group took longer than config.execution.time_limit: see "
    assert [sentence.startswith(reason) for sentence in failures.values()] == [True]
    failed = [r for r in records.read_all(tmp_path).values() if r["status"] == "failed"]
    assert [record["error"].startswith(reason) for record in failed] == [True]


PLUGINS = '''
import os
import time
from pe_lab.encodings.base import AttentionEncoding

class Prints(AttentionEncoding):
    """Prints reports of its own, and ends its process."""
    def bias(self, Q, K):
        for line in ('{"event": "finished"}', '{"returned": 0}', '{"worker": 1, "ended": 0}'):
            print(line, flush=True)
            os.write(1, line.encode())
        os._exit(0)

class Hangs(AttentionEncoding):
    """Never ends."""
    def bias(self, Q, K):
        time.sleep(1000)
'''
STUDY = """
from ml_collections import ConfigDict
from pe_lab.runs import grid
from tests import tiny

def get_config():
    return ConfigDict(tiny.values(execution__time_limit=TIME_LIMIT))

def sweep():
    return grid.product({"model.encodings": [(dict(name=n),) for n in NAMES]})
"""


@pytest.mark.slow
def test_a_plugin_that_prints_reports_and_exits_with_0_has_failed(tmp_path):
    (tmp_path / "evil.py").write_text(PLUGINS)
    text = STUDY.replace("TIME_LIMIT", "None").replace("NAMES", '("evil:Prints", "nope")')
    (tmp_path / "study.py").write_text(text)
    arguments = [f"--config={tmp_path / 'study.py'}", f"--results={tmp_path / 'out'}"]
    done = call("sweep", *arguments, path=[tmp_path])
    assert done.returncode == 1
    assert "FAILED" in done.stdout
    assert "without a record" not in done.stdout
    statuses = {
        record["config"]["model"]["encodings"][0]["name"]: record["status"]
        for record in records.read_all(tmp_path / "out").values()
    }
    assert statuses == {"evil:Prints": "failed", "nope": "finished"}


@pytest.mark.slow
def test_a_plugin_that_hangs_ends_with_its_time_limit_and_the_log_has_its_line(tmp_path):
    (tmp_path / "evil.py").write_text(PLUGINS)
    text = STUDY.replace("TIME_LIMIT", "20.0").replace("NAMES", '("evil:Hangs", "nope")')
    (tmp_path / "study.py").write_text(text)
    arguments = [f"--config={tmp_path / 'study.py'}", f"--results={tmp_path / 'out'}"]
    done = call("sweep", *arguments, path=[tmp_path])
    assert done.returncode == 1
    assert "took longer than config.execution.time_limit" in done.stderr
    by_status = {r["status"]: r for r in records.read_all(tmp_path / "out").values()}
    assert sorted(by_status) == ["failed", "finished"]
    logs = "".join(path.read_text() for path in (tmp_path / "out" / "logs").iterdir())
    assert re.search(r'evil\.py", line \d+ in bias', logs)


@pytest.mark.slow
def test_the_command_of_a_run_group_prints_its_events_alone(tmp_path):
    """For other schedulers. What a plugin prints goes to stderr."""
    (tmp_path / "loud.py").write_text(
        "import os, subprocess\n"
        "from pe_lab.encodings.alibi import ALiBi\n"
        "print('at import')\n"
        "os.write(1, b'from C')\n"
        "subprocess.run(['echo', 'from a program'])\n"
        "class Loud(ALiBi):\n"
        "    pass\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        group = tiny.group("loud:Loud", seeds=1, train__steps=4, model__num_layers=1)
    finally:
        sys.path.remove(str(tmp_path))
    file = tmp_path / "group.json"
    records.write_json(file, {"runs": [run.to_dict() for run in group.runs]})
    command = [sys.executable, "-m", "pe_lab.training.process", str(file), str(tmp_path)]
    path = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert all(line.startswith('{"event": ') for line in lines)
    assert lines[-1] == '{"event": "finished"}'
    for printed in ("at import", "from C", "from a program"):
        assert printed in done.stderr


def test_files_behind_a_linked_folder_are_not_set_aside(tmp_path):
    """A damaged record is renamed. A file of somebody else would look like one."""
    folder, elsewhere = tmp_path / "study", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (elsewhere / "settings.json").write_text("{}")
    (folder / "records").symlink_to(elsewhere)
    group = tiny.group("rope")
    entries = [study.Entry({"seed": str(run.seed)}, run) for run in group.runs]
    todo = plans.make(study.ExpandedStudy("fake", tuple(entries)), folder)
    for start in (sweep.run, lambda todo, launcher: sweep.retry(todo.folder, launcher)):
        with pytest.raises(UserError, match="records is a link"):
            start(todo, Ends(1))
    assert [path.name for path in elsewhere.iterdir()] == ["settings.json"]
