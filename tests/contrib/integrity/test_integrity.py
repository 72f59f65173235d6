"""The check of a results folder: each kind of damage is one sentence."""

import json
import shutil
from pathlib import Path

import pytest

from pe_lab.contrib.integrity import integrity
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.studies import study_files
from pe_lab.training import checkpoint
from tests import tiny
from tests.experiments.entry_points import call, refused

GROUP = tiny.group(
    "rope",
    train__steps=4,
    evaluate__curve_every=4,
    model__num_layers=1,
    checkpoints__keep_curve=True,
)
PUBLISHED = Path("results/published/quickstart")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "fake"
    entries = [({"model.encodings": "rope", "seed": str(r.seed)}, r.run_id) for r in GROUP.runs]
    study_files.write(folder, "fake", entries, {})
    tiny.train(folder, GROUP)
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "fake")


def problems(folder):
    """Each problem without the folder. Nothing may change."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    sentences = [sentence.replace(f"{folder}/", "") for sentence in integrity.problems(folder)]
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert all(sentence.count("\n") == 0 for sentence in sentences)
    return sentences


def cut(path):
    path.write_bytes(path.read_bytes()[:40])


def test_intact_folders_have_no_problem(folder):
    assert problems(folder) == []
    assert problems(PUBLISHED) == []


def test_all_problems_of_a_folder_are_found(folder):
    cut(records.path_of(folder, GROUP.runs[0].run_id))
    cut(folder / "study.json")
    cut(folder / "groups" / f"{GROUP.group_id}.json")
    checkpoints = folder / "checkpoints" / GROUP.group_id
    for path in (checkpoints / "4", checkpoints / "curve" / "0"):
        cut(path / "state" / "_METADATA")
    starts = [sentence.partition(" (")[0] for sentence in problems(folder)]
    assert starts == [
        f"The record records/{GROUP.runs[0].run_id}.json is damaged",
        "study.json is damaged",
        f"The run group groups/{GROUP.group_id}.json is damaged",
        f"The checkpoint checkpoints/{GROUP.group_id}/4 is damaged",
        f"The checkpoint checkpoints/{GROUP.group_id}/curve/0 is damaged",
    ]


def test_a_checkpoint_from_before_the_digests_of_files_is_checked_by_its_arrays(folder):
    path = folder / "checkpoints" / GROUP.group_id / "4"
    (path / checkpoint.FILES).unlink()
    assert problems(folder) == []
    cut(path / "state" / "_METADATA")
    (sentence,) = problems(folder)
    assert sentence.endswith("If it is damaged, remove it.")


def test_a_checkpoint_that_is_gone_is_named_with_its_runs(folder):
    shutil.rmtree(folder / "checkpoints" / GROUP.group_id / "4")
    assert problems(folder) == [
        f"The checkpoint checkpoints/{GROUP.group_id}/4 of the finished run {run_id} is gone."
        for run_id in sorted(run.run_id for run in GROUP.runs)
    ]


def test_a_checkpoint_that_training_replaces_meanwhile_is_no_problem(folder, monkeypatch):
    def check(path):
        shutil.rmtree(path)
        raise UserError("cannot be read")

    monkeypatch.setattr(checkpoint, "check", check)
    assert not [line for line in integrity.problems(folder) if "cannot be read" in line]


def test_a_label_that_does_not_agree_with_a_record_is_a_problem(folder):
    content = json.loads((folder / "study.json").read_text())
    del content["digest"], content["schema_version"]
    for entry in content["entries"]:
        entry["labels"]["seed"] = str(1 - int(entry["labels"]["seed"]))
    (folder / "study.json").write_text(json.dumps(content))
    (sentence,) = problems(folder)
    assert sentence.startswith("study.json is damaged (it labels the run ")


def test_a_published_study_lacks_no_record(tmp_path):
    folder = shutil.copytree(PUBLISHED, tmp_path / "quickstart")
    by_id = records.read_all(folder)
    lost = next(iter(by_id))
    del by_id[lost]
    records.write_archive(folder, by_id.values())
    assert problems(folder) == [f"records.jsonl.gz has no record of the run {lost}."]
    (folder / "records.jsonl.gz").write_bytes(b"")
    assert problems(folder) == [
        "The records records.jsonl.gz are damaged (it is empty). Restore the file."
    ]


def test_a_run_with_two_records_is_a_problem(tmp_path):
    folder = shutil.copytree(PUBLISHED, tmp_path / "quickstart")
    run_id, record = next(iter(records.read_all(folder).items()))
    path = records.write(folder, record)
    assert problems(folder) == []
    records.write(folder, {**record, "rows": record["rows"][1:]})
    assert problems(folder) == [
        f"The record records/{path.name} differs from the one of this run in records.jsonl.gz; it "
        "is the one that is read."
    ]
    path.unlink()
    archive = folder / records.ARCHIVE
    archive.write_bytes(archive.read_bytes() * 2)
    assert problems(folder) == [
        "The records records.jsonl.gz are damaged (it has two records of the run "
        f"{run_id}). Restore the file."
    ]


@pytest.mark.slow
def test_the_command_prints_one_line_a_problem_and_ends_with_status_1(folder):
    done = call("check", folder)
    assert (done.returncode, done.stdout) == (0, f"{folder}: no problem found\n")
    for run in GROUP.runs:
        cut(records.path_of(folder, run.run_id))
    done = call("check", folder)
    assert (done.returncode, done.stderr) == (1, "")
    assert len(done.stdout.splitlines()) == 2
    nowhere = folder / "nowhere"
    assert refused("check", nowhere) == f"There is no folder {nowhere}."
