"""A sweep can print its plan, its notes and the commands of its run groups without training."""

import os
import shlex
import subprocess
import sys

import pytest

from pe_lab.runs.records import records
from tests.experiments.entry_points import ROOT, call
from tests.experiments.swept_studies import STUDY, TWO_RUNS


@pytest.mark.slow
def test_groups_are_commands_for_any_scheduler(tmp_path):
    """Each is run here by hand, as a scheduler would; tables are then those of a sweep."""
    folder = tmp_path / "study"
    done = call(
        "sweep",
        "--config=configs/smoke.py",
        "--config.train.steps=4",
        f"--results={folder}",
        "--write_groups",
    )
    assert done.returncode == 0
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())
    commands = [line.split() for line in done.stdout.splitlines()]
    assert [c[1:4] for c in commands] == [["-P", "-m", "pe_lab.training.process"]] * 2
    for command in commands:
        assert (
            subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ,
                stdout=subprocess.DEVNULL,
                check=False,
            ).returncode
            == 0
        )
    assert [r["status"] for r in records.read_all(folder).values()] == ["finished"] * 4
    assert (
        "nothing to do, all 4 runs"
        in call(
            "sweep", "--config=configs/smoke.py", "--config.train.steps=4", f"--results={folder}"
        ).stdout
    )


@pytest.mark.slow
def test_the_groups_of_a_study_are_quoted_commands_and_notes_go_to_stderr(tmp_path):
    config = tmp_path / "twice.py"
    config.write_text(TWO_RUNS.replace("range(2)", "(0, 0)"))
    folder = tmp_path / "a study"
    done = call("sweep", f"--config={config}", f"--results={folder}", "--write_groups")
    assert done.returncode == 0
    (command,) = done.stdout.splitlines()
    (file,) = folder.glob("groups/*.json")
    module = "pe_lab.training.process"
    interpreter, *arguments = shlex.split(command)
    assert arguments == ["-P", "-m", module, str(file), str(folder)]
    assert (ROOT / interpreter).samefile(sys.executable)
    assert "note: the sweep has a point twice: seed=0" in done.stderr.splitlines()


@pytest.mark.slow
def test_a_dry_run_says_what_it_would_do_and_does_nothing(tmp_path):
    done = call(
        "sweep",
        "--config=configs/smoke.py",
        f"--results={tmp_path / 'dry'}",
        "--dry_run",
        "--workers=2",
    )
    assert done.returncode == 0
    assert "smoke: 4 points, 4 runs, 0 of them done" in done.stdout
    assert "to train: 4 runs in 2 run groups" in done.stdout
    # The first state, training and evaluation of each run group.
    assert "6 programs to compile; roughly" in done.stdout
    assert not (tmp_path / "dry").exists()


SHIFTED_OR_NOT = """
from pe_lab.studies import base
from pe_lab.runs import grid
def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(width=16, num_layers=1, num_heads=2)
    c.train.update(steps=4, batch_size=8, max_length=3, warmup_steps=1)
    c.evaluate.update(lengths=(3, 6), num_examples=8, batch_size=8)
    c.evaluate.update(curve_lengths=(3,), curve_examples=8)
    return c
def sweep():
    encodings = [(dict(name=name),) for name in NAMES]
    schemes = [dict(name="contiguous"), grid.labelled("shifted", dict(name="shifted", max_shift=9))]
    return grid.product({"model.encodings": encodings, "positions": schemes, "seed": range(1)})
def analysis():
    return dict(contrasts=(("contiguous", "shifted"),))
"""


@pytest.mark.slow
def test_notes_on_a_design_do_not_change_with_the_runs_that_are_finished(tmp_path):
    config, folder = tmp_path / "design.py", tmp_path / "design"

    def notes(*flags):
        done = call("sweep", f"--config={config}", f"--results={folder}", *flags)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if line.startswith("note: ")]

    config.write_text(SHIFTED_OR_NOT.replace("NAMES", "['rope', 'raw_index']"))
    before = notes("--dry_run")
    assert any("rope · shifted repeats rope · contiguous" in text for text in before)
    assert any("raw_index · shifted will not be compared" in text for text in before)
    assert any("(contrasts, adjusted by Holm's method: 2)" in text for text in before)
    config.write_text(SHIFTED_OR_NOT.replace("NAMES", "['rope']"))
    notes()
    config.write_text(SHIFTED_OR_NOT.replace("NAMES", "['rope', 'raw_index']"))
    assert notes("--dry_run") == before
    (first,) = notes()  # after the table, the first one
    assert first.startswith(before[0])
    assert first.endswith(f"--dry-run prints all {len(before)} notes on the design.")
    assert notes("--dry_run") == before


@pytest.mark.slow
def test_a_point_that_is_there_twice_is_reported(tmp_path):
    config = tmp_path / "twice.py"
    config.write_text(
        STUDY.partition("def sweep")[0]
        + 'def sweep():\n    return grid.product({"seed": [0, 0]})\n'
    )
    done = call("sweep", f"--config={config}", f"--results={tmp_path / 'out'}", "--dry_run")
    assert (done.returncode, done.stderr) == (0, "")
    notes = [line for line in done.stdout.splitlines() if line.startswith("note: ")]
    assert notes[0] == "note: the sweep has a point twice: seed=0"
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "twice: 2 points, 1 run, 0 of them done",
        "to train: 1 run in 1 run group",
    ]
    assert lines[2].endswith(": 1 member")
