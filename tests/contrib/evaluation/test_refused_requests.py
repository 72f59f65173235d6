"""An evaluation of finished runs is refused, or passes over runs, where it cannot measure."""

import shutil

import pytest

from pe_lab.contrib.evaluation import measure
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.training import run_records
from tests import tiny
from tests.contrib.evaluation.requests import WORDS, ask, read
from tests.record_values import files

pytestmark = pytest.mark.slow  # all share a trained run


def test_a_run_is_not_measured_on_a_text_that_has_changed(folder):
    for record in records.read_all(folder).values():
        record["provenance"]["data"] = "the digest of another text"
        records.write(folder, record)
    with pytest.raises(UserError, match=r"^The text of copy has changed since the run"):
        measure.add(folder, ask(4))


@pytest.mark.parametrize("narrow", WORDS, ids=["rope", "learned"])
def test_what_one_run_has_measured_is_refused_before_any_is_measured(folder, narrow):
    assert measure.add(folder, ask(4, select=narrow)) in (1, 2)
    before = files(folder)
    with pytest.raises(UserError) as refused:
        measure.add(folder, ask(4, 6))
    run_id = str(refused.value).split()[2]
    (encoding,) = records.read_run(folder, run_id)["config"]["model"]["encodings"]
    assert encoding["name"] == narrow["model"]["encodings"]
    said = (
        f"The run {run_id} has measured test length 4 at offset 0 already, on 16 examples: "
        f"nothing is overwritten. With --only-missing, evaluate passes over such points."
    )
    assert str(refused.value) == said
    assert files(folder) == before


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            ask(4, encodings=(dict(name="rope"), dict(name="t5_bias"))),
            "t5_bias has parameters that the run ",
        ),
        (
            ask(4, encodings=(dict(name="learned", max_positions=64),), select=WORDS[1]),
            "The model differs from the model of the run LEARNED: ",
        ),
        (
            ask(4, positions=dict(name="normalized")),
            "learned needs whole positions; the scheme normalized gives fractions.",
        ),
        (
            ask(4, select=dict(model="rope")),
            "The selection matches none of the 3 finished runs in FOLDER.",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_and_nothing_is_written(folder, asked, sentence):
    before, found = files(folder), read(folder)
    with pytest.raises(UserError) as refused:
        measure.add(folder, asked)
    said = str(refused.value).replace(str(folder), "FOLDER")
    for (name, _), record in found.items():
        said = said.replace(record["run_id"], name.upper())
    assert said.startswith(sentence)
    assert "\n" not in str(refused.value)
    assert files(folder) == before


def test_a_folder_without_records_is_named(tmp_path):
    with pytest.raises(UserError) as refused:
        measure.add(tmp_path / "fak", ask(4))
    assert (
        str(refused.value) == f"There are no records in {tmp_path / 'fak'}: sweep the study first."
    )


def test_runs_that_have_not_finished_are_passed_over(folder):
    failed = tiny.run("alibi")
    records.write(folder, run_records.blank(failed))
    assert measure.add(folder, ask(3, only_missing=True)) == 0
    assert records.read(records.path_of(folder, failed.run_id))["rows"] == []
    with pytest.raises(UserError, match=r"The selection matches none of the 3 finished runs in"):
        measure.add(folder, ask(4, select=dict(model=dict(encodings="alibi"))))


def test_a_run_without_its_parameters_is_named_and_nothing_is_measured(folder):
    record = read(folder)["learned", 0]
    records.write(folder, {**record, "checkpoint": None})
    before = files(folder)
    with pytest.raises(UserError) as refused:
        measure.add(folder, ask(4))
    assert str(refused.value) == (
        f"The run {record['run_id']} kept no final parameters: config.checkpoints.keep_final "
        f"was False."
    )
    assert files(folder) == before
    assert measure.add(folder, ask(4, select=WORDS[0])) == 2


def test_a_published_study_has_no_checkpoints(folder):
    shutil.rmtree(folder / "groups")
    with pytest.raises(UserError, match=r"The checkpoint of \w+ is gone: .*groups.* is missing\."):
        measure.add(folder, ask(4))
