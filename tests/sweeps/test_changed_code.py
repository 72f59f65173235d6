"""Runs whose code changed after their training: refusals, marked rows and notes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab.results import frame
from pe_lab.runs.records import records
from tests.experiments.entry_points import ROOT, call, refused
from tests.results.fake_study import values

pytestmark = pytest.mark.full

MODULE = '''
from pe_lab.encodings.alibi import ALiBi
class Steep(ALiBi):
    """ALiBi with scaled slopes."""
    def of_offset(self, offset):
        return 1.0 * super().of_offset(offset)
'''
NAME = "steep:Steep"
CHANGES = dict(model__num_layers=1, train__learning_rate=1e-2, evaluate__curve_every=12)
TRAIN = """
import sys
from pathlib import Path
from pe_lab.sweeps import study
from pe_lab.runs import grid
from tests import tiny
from tests.sweeps.test_changed_code import CHANGES, NAME
folder = Path(sys.argv[1])
points = grid.product({"model.encodings": [(dict(name=NAME),)]})
study.expand("fake", tiny.values(**CHANGES), points, folder).write(folder)
tiny.train(folder, tiny.group(NAME, seeds=1, **CHANGES))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the module of an encoding, and a study that trained it."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "steep.py").write_text(MODULE)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, "-c", TRAIN, str(folder / "results")]
    subprocess.run(command, cwd=ROOT, env=env, check=True)
    return folder


@pytest.fixture
def work(trained, tmp_path):
    return Path(shutil.copytree(trained, tmp_path / "work"))


def change_code(work):
    (work / "steep.py").write_text(MODULE.replace("1.0 *", "3.0 *"))


def evaluate(work, *arguments):
    arguments = [work / "results", "--allow_plugins=steep", *arguments]
    return call("evaluate", *arguments, path=[work])


def losses(work, length):
    """Loss and digests of every row of a length, in the order of the record."""
    (record,) = records.read_all(work / "results").values()
    rows = [r for r in record["rows"] if (r["split"], r["length"]) == ("test", length)]
    rows = [r for r in rows if r["metric"] == "negative_log_likelihood"]
    return [(r["value"], r["sources"]) for r in rows]


def shown_loss(work, length):
    """The loss that tables show."""
    found = frame.read(work / "results")
    (name,) = found.by_name
    return values(found, name, length, metric="negative_log_likelihood")[0]


def test_evaluate_refuses_changed_code_and_changes_nothing(work):
    before = {path: path.read_bytes() for path in (work / "results" / "records").iterdir()}
    change_code(work)
    arguments = [work / "results", "--allow_plugins=steep", "--lengths=4"]
    (record,) = records.read_all(work / "results").values()
    assert refused("evaluate", *arguments, path=[work]) == (
        f"The code of encodings/{NAME} has changed since the run {record['run_id']} was "
        "trained or evaluated: restore it, or give --allow-changed-code to mark the new rows."
    )
    assert {path: path.read_bytes() for path in before} == before


def test_rows_of_changed_code_are_marked_and_measured_again_with_the_right_code(work):
    change_code(work)
    assert evaluate(work, "--lengths=4", "--allow_changed_code").returncode == 0
    ((changed_loss, sources),) = losses(work, 4)
    (record,) = records.read_all(work / "results").values()
    assert list(sources) == [f"encodings/{NAME}"]
    assert sources != {f"encodings/{NAME}": record["provenance"]["sources"][f"encodings/{NAME}"]}
    assert shown_loss(work, 4) == changed_loss
    assert "1 run has rows that changed code measured" in (work / "results/table.md").read_text()

    again = evaluate(work, "--lengths=4", "--allow_changed_code")
    assert (again.returncode, "nothing is overwritten" in again.stderr) == (2, True)

    (work / "steep.py").write_text(MODULE)
    assert evaluate(work, "--lengths=4", "--only_missing").returncode == 0
    first, second = losses(work, 4)
    assert (first, second[1]) == ((changed_loss, sources), None)
    assert second[0] != changed_loss
    assert shown_loss(work, 4) == second[0]
    assert "changed code" not in (work / "results" / "table.md").read_text()


def test_a_sweep_does_not_extend_the_evaluation_of_a_run_of_changed_code(work):
    config = work / "fake.py"
    config.write_text(
        "from ml_collections import ConfigDict\n"
        "from pe_lab.runs import grid\n"
        "from tests import tiny\n"
        "from tests.sweeps.test_changed_code import CHANGES, NAME\n"
        "def get_config():\n"
        "    return ConfigDict(tiny.values(**CHANGES, evaluate__lengths=(2, 3, 4, 5)))\n"
        "def sweep():\n"
        '    return grid.product({"model.encodings": [(dict(name=NAME),)]})\n'
    )
    arguments = [f"--config={config}", f"--results={work / 'results'}", "--dry_run"]
    assert "to train: 1 run in 1 run group" in call("sweep", *arguments, path=[work, ROOT]).stdout
    change_code(work)
    sentence = refused("sweep", *arguments, path=[work, ROOT])
    assert f"and the code of encodings/{NAME} has changed since it was trained" in sentence


def test_every_command_that_shows_runs_notes_changed_code(work, tmp_path):
    folder = work / "results"
    note = f"note: 1 run was trained with other code: encodings/{NAME} changed since"
    commands = [
        ("tables", folder),
        ("report", folder),
        ("status", folder),
        ("publish", folder, "--allow_dirty"),
    ]
    for command in commands:
        assert "note:" not in call(*command, path=[work], cwd=tmp_path).stdout
    change_code(work)
    for command in commands:
        assert note in call(*command, path=[work], cwd=tmp_path).stdout.splitlines()
    assert note in (folder / "report.html").read_text()
    assert "note:" not in (folder / "table.md").read_text()
