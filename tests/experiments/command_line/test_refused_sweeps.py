"""A mistake in a sweep or in results ends a command with one line."""

import json

import pytest

from tests.experiments.command_line.configs import STUDY
from tests.experiments.entry_points import call, refused


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "argument", "sentence"),
    [
        (
            {},
            "--config.task.num_symbol=3",
            "copy has no 'num_symbol'. Did you mean 'num_symbols'? It has: distinct, num_symbols.",
        ),
        (
            dict(config="c.model.update(width=12, encodings=(dict(name='rope'),))"),
            "--dry_run",
            "RoPE rotates pairs, so the head width must be even, got 3.",
        ),
        (
            dict(config="c.model.encodings = (dict(name='learned', max_positions=10),)"),
            "--dry_run",
            "learned has positions 0..9; length 16 asks for position 33: "
            "training there would teach nothing.",
        ),
    ],
    ids=["argument", "head width", "table"],
)
def test_a_sweep_with_a_mistake_is_one_line_and_status_2(
    config_file, tmp_path, study, argument, sentence
):
    """A mistake in a name, in a constructor and in a setup; other tests have each sentence."""
    said = refused(
        "sweep", f"--config={config_file(**study)}", f"--results={tmp_path / 'results'}", argument
    )
    assert sentence in said


@pytest.mark.slow
def test_an_empty_results_folder_is_refused():
    sentence = refused("sweep", "--config=configs/smoke.py", "--results=", "--dry_run")
    assert sentence == "pe-lab sweep: --results must be a path, got ''."


@pytest.mark.slow
def test_a_config_that_tunes_in_two_stages_is_refused(config_file, tmp_path):
    tune = "tune = {'axes': {'train.learning_rate': (1e-3, 1e-2)}, 'seeds': 1}\n"
    file = config_file(text=STUDY.format(config="pass", sweep="grid.product()") + tune)
    said = refused("sweep", f"--config={file}", f"--results={tmp_path}", "--dry_run")
    assert said == (
        f"{file} has `tune`, and pe_lab trains in one stage: name the values in sweep(), and their "
        'axis in analysis(), as in tuned=("train.learning_rate",).'
    )


@pytest.mark.slow
def test_an_override_of_an_axis_of_the_sweep_is_refused(config_file, tmp_path):
    said = refused(
        "sweep",
        "--config=configs/smoke.py",
        f"--results={tmp_path}",
        "--config.seed=4",
        "--dry_run",
    )
    assert said == (
        "--config.seed has no effect: it is an axis of the sweep. "
        "Change the config, or use pe-lab train."
    )


@pytest.mark.slow
def test_an_override_applies_to_the_points_without_its_axis(config_file, tmp_path):
    points = """[
        *grid.product({"model.encodings": [({"name": "rope"},)]}),
        *grid.product({"model.encodings": [({"name": "nope"},)], "train.steps": [8]}),
    ]"""
    file = config_file(sweep=points)
    folder = tmp_path / "results"
    arguments = [f"--config={file}", f"--results={folder}", "--write_groups"]
    done = call("sweep", *arguments, "--config.train.steps=5")
    assert done.returncode == 0
    assert done.stderr.startswith(
        "note: --config.train.steps has no effect on 1 of 2 points, which have it as an axis\n"
    )
    steps_of = {}
    for group in folder.glob("groups/*.json"):
        (run,) = json.loads(group.read_text())["runs"]
        steps_of[run["model"]["encodings"][0]["name"]] = run["train"]["steps"]
    assert steps_of == {"rope": 5, "nope": 8}


@pytest.mark.slow
def test_a_results_folder_that_cannot_be_written_is_one_line_and_status_2(tmp_path):
    (tmp_path / "results").write_text("a file in its place", encoding="utf-8")
    said = refused(
        "sweep", "--config=configs/smoke.py", f"--results={tmp_path / 'results'}", "--dry_run"
    )
    assert said.startswith(f"The results folder {tmp_path / 'results'} cannot be written (")
    assert said.endswith("Give another: --results=FOLDER.")


@pytest.mark.slow
def test_a_damaged_record_is_refused_by_tables_and_run_again_by_a_sweep(tmp_path):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "x.json").write_text("{", encoding="utf-8")
    (tmp_path / "study.json").write_text(
        json.dumps({"name": "smoke", "entries": [{"labels": {}, "run_id": "x"}]}), encoding="utf-8"
    )
    sentence = f"The record {tmp_path}/records/x.json is damaged ("
    assert refused("tables", tmp_path).startswith(sentence)
    done = call("sweep", "--config=configs/smoke.py", "--dry_run", f"--results={tmp_path}")
    assert done.returncode == 0
    assert f"\nnote: {sentence}" in done.stdout
    assert (tmp_path / "records" / "x.json").exists()  # a dry run touches nothing


@pytest.mark.slow
def test_a_record_of_another_version_is_no_damage_and_refused(tmp_path):
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "x.json").write_text(
        '{"schema_version": 99, "digest": "x"}', encoding="utf-8"
    )
    said = refused("sweep", "--config=configs/smoke.py", "--dry_run", f"--results={tmp_path}")
    assert said == f"{tmp_path}/records/x.json has schema_version 99; this pe_lab reads 6 to 8."


@pytest.mark.slow
def test_a_study_that_is_not_there_is_not_published():
    sentence = "There is no study in results/nowhere: results/nowhere/study.json is missing."
    assert refused("publish", "results/nowhere") == sentence
