"""An archive of a row is published once, and only if it has the protocol of the table."""

from pathlib import Path

import pytest

from experiments import publish
from pe_lab.contrib.grids import bundles, forms
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.studies import study_files

ROOT = Path(__file__).parents[2]


def published_row(folder, *, label="mine", seeds=3, changed=False):
    """A row like one of the published table, of copying alone."""
    published = ROOT / "results" / "published" / "suite_grid_copying"
    study = study_files.read(published)
    rates = [str(rate) for rate in forms.RATES]
    entries = [
        (labels | {"model.encodings": label}, run_id)
        for labels, run_id in study.entries
        if labels["model.encodings"] == "rope"
        and not labels["positions"]
        and labels["train.learning_rate"] in rates
        and int(labels["seed"]) < seeds
    ]
    by_id = records.read_all(published)
    of_row = [by_id[run_id] for _, run_id in entries]
    for run in of_row if changed else []:
        run["config"]["train"]["batch_size"] = 64
        run["digest"] = records.digest(run)
    analysis = {key: value for key, value in study.analysis.items() if key != "contrasts"}
    folder.mkdir()
    records.write_archive(folder, of_row)
    study_files.write(folder, "suite", entries, analysis)
    return folder


@pytest.mark.slow
def test_a_row_is_published_once_or_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bundles.write(published_row(tmp_path / "row", label="my row"), "my row", tmp_path / "mine.zip")
    options = publish.Options(study=tmp_path / "mine.zip")
    assert publish.run(options) == 0
    target = tmp_path / "results" / "published" / "suite_rows" / "my_row"
    assert {file.name for file in target.iterdir()} == {"study.json", "records.jsonl.gz"}
    with pytest.raises(UserError, match=r"suite_rows/my_row exists: give --replace"):
        publish.run(options)
    replacing = publish.Options(study=tmp_path / "mine.zip", replace=True)
    target.rename(target.with_name(".my_row.before"))  # as a kill leaves it
    with pytest.raises(UserError, match=r"suite_rows/my_row exists: give --replace"):
        publish.run(options)
    assert publish.run(replacing) == 0
    before = {file.name: file.read_bytes() for file in target.iterdir()}
    bundles.write(published_row(tmp_path / "other", label="my_row"), "my_row", options.study)
    with pytest.raises(UserError, match=r"my_row holds the row 'my row', and no row is replaced"):
        publish.run(replacing)
    assert {file.name: file.read_bytes() for file in target.iterdir()} == before
    bundles.write(tmp_path / "other", "my row", options.study)
    sentence = r"mine.zip has the label 'my row', and its study has the row 'my_row'\.$"
    with pytest.raises(UserError, match=sentence):
        publish.run(replacing)


@pytest.mark.slow
def test_a_bundle_of_no_task_of_the_suite_is_no_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = published_row(tmp_path / "row")
    study = study_files.read(folder)
    entries = [({**labels, "task": "other"}, run_id) for labels, run_id in study.entries]
    study_files.write(folder, "suite", entries, {})
    bundles.write(folder, "mine", tmp_path / "mine.zip")
    with pytest.raises(UserError, match="its study has none of the tasks copy"):
        publish.run(publish.Options(study=tmp_path / "mine.zip"))
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"seeds": 2}, "mine is left out of copy: 6 of its 9 runs are finished."),
        ({"changed": True}, "mine is left out of copy: config.train.batch_size was 64 and is 32"),
        ({"label": "kerple"}, "kerple is left out: the table has a row with this name and other"),
    ],
)
def test_a_row_of_another_protocol_is_refused(tmp_path, monkeypatch, other, sentence):
    monkeypatch.chdir(tmp_path)
    folder, label = published_row(tmp_path / "row", **other), other.get("label", "mine")
    bundles.write(folder, label, tmp_path / "mine.zip")
    with pytest.raises(UserError) as raised:
        publish.run(publish.Options(study=tmp_path / "mine.zip"))
    start = f"{tmp_path / 'mine.zip'} is no row of the suite: {sentence}"
    assert str(raised.value).startswith(start)
    assert not (tmp_path / "results").exists()
