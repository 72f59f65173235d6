"""Evaluations added to finished runs: two of RoPE with a base of 500 in one run group, one of a
learned table of 13.
"""

import contextlib
import shutil

import pytest

from pe_lab.runs import locks, records
from pe_lab.runs.errors import UserError
from pe_lab.sweeps import measure
from pe_lab.training import run_records
from tests import tiny
from tests.record_values import files

pytestmark = pytest.mark.slow  # all share a trained run

LEARNED = dict(name="learned", max_positions=13)
WORDS = dict(model=dict(encodings="rope")), dict(model=dict(encodings="learned"))
NLL = "negative_log_likelihood"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "fake"
    fast = dict(
        model__num_layers=1,
        train__learning_rate=1e-2,
        train__steps=40,
        evaluate__curve_every=40,
        execution__chunk_steps=40,
    )
    tiny.train(folder, tiny.group(dict(name="rope", base=500.0), **fast))
    tiny.train(folder, tiny.group(LEARNED, seeds=1, **fast))
    return folder


@pytest.fixture
def folder(trained, tmp_path):
    """A copy of what was trained, to be added to."""
    return shutil.copytree(trained, tmp_path / "fake")


def ask(*lengths, offsets=(0,), only_missing=False, select=None, **override):
    return measure.EvaluationRequest(lengths, offsets, override or None, select or {}, only_missing)


def read(folder):
    """The records by encoding and seed."""
    return {
        (r["config"]["model"]["encodings"][0]["name"], r["member"]["seed"]): r
        for r in records.read_all(folder).values()
    }


def new_rows(folder, trained):
    """What every run has gained."""
    before = read(trained)
    return {who: record["rows"][len(before[who]["rows"]) :] for who, record in read(folder).items()}


def values(rows, metric=NLL):
    return {(r["length"], r["offset"]): r["value"] for r in rows if r["metric"] == metric}


def test_only_lengths_below_those_of_the_config_are_measured(folder, trained):
    """The config's shortest length is 2; a shorter batch has a shape, too."""
    assert measure.add(folder, ask(1)) == 3
    assert all(values(rows) for rows in new_rows(folder, trained).values())


def test_a_label_stands_for_one_override(folder):
    def named(maximum):
        scheme = dict(name="randomized", maximum=maximum)
        return ask(4, select=WORDS[0], label="spread", positions=scheme)

    assert measure.add(folder, named(30)) == 2
    before = files(folder)
    with pytest.raises(UserError, match="another override that is called 'spread': give this one"):
        measure.add(folder, named(40))
    assert files(folder) == before


def test_runs_that_another_process_trains_or_evaluates_are_left_alone(folder):
    with contextlib.ExitStack() as stack:
        for file in (folder / "groups").glob("*.json"):
            stack.enter_context(locks.held(file.with_suffix(".lock")))
        before = files(folder)
        with pytest.raises(UserError, match=r"^Another process trains or evaluates the run"):
            measure.add(folder, ask(4))
        assert files(folder) == before


def test_rows_that_another_process_adds_meanwhile_stay(folder, monkeypatch):
    """Length 6 is measured after the records were read and before they are written."""
    rows = measure.Evaluator.rows

    def slowly(self, params, points):
        monkeypatch.setattr(measure.Evaluator, "rows", rows)
        with monkeypatch.context() as patched:
            patched.setattr(measure.locks, "held", lambda file: contextlib.nullcontext(True))
            measure.add(folder, ask(6, select=WORDS[0]))
        return self.rows(params, points)

    monkeypatch.setattr(measure.Evaluator, "rows", slowly)
    measure.add(folder, ask(4, select=WORDS[0]))
    lengths = {row["length"] for row in read(folder)["rope", 0]["rows"]}
    assert {4, 6} <= lengths


def test_a_run_is_not_measured_on_a_text_that_has_changed(folder):
    for record in records.read_all(folder).values():
        record["provenance"]["data"] = "the digest of another text"
        records.write(folder, record)
    with pytest.raises(UserError, match=r"^The text of copy has changed since the run"):
        measure.add(folder, ask(4))


def test_every_run_gains_the_grid_and_what_was_there_is_bit_equal(trained, folder):
    said = []
    assert measure.add(folder, ask(4, 6, offsets=(0, 5)), said.append) == 3
    for who, after in read(folder).items():
        before = read(trained)[who]
        assert after["rows"][: len(before["rows"])] == before["rows"]
        assert {k: v for k, v in after.items() if k not in ("rows", "chance_levels", "digest")} == {
            k: v for k, v in before.items() if k not in ("rows", "chance_levels", "digest")
        }
        assert after["chance_levels"][:3] == before["chance_levels"]
        assert [f["length"] for f in after["chance_levels"]] == [2, 3, 5, 4, 6]
    for rows in new_rows(folder, trained).values():
        exact = [
            (r["split"], r["length"], r["offset"], r["override"])
            for r in rows
            if r["metric"] == "exact_match"
        ]
        assert exact == [("test", n, offset, None) for n in (4, 6) for offset in (0, 5)]
    rope, table = (new_rows(folder, trained)[who] for who in (("rope", 0), ("learned", 0)))
    assert {r["count"] for r in rope} == {16}
    assert [(r["length"], r["offset"], r["reason"]) for r in table if r["value"] is None] == [
        (4, 5, "learned has positions 0..12; length 4 asks for position 14"),
        (6, 0, "learned has positions 0..12; length 6 asks for position 13"),
        (6, 5, "learned has positions 0..12; length 6 asks for position 18"),
    ]
    assert [line.split(": ")[0] for line in said] == ["1 of 2 run groups", "2 of 2 run groups"]
    assert {line.split(": ")[1] for line in said} == {
        "rope, 2 runs measured at 4 evaluation points",
        "learned, 1 runs measured at 4 evaluation points",
    }


@pytest.mark.full
def test_a_measurement_that_was_interrupted_goes_on_to_the_same_numbers(trained, folder):
    """One of the two records of a run group has not been written."""
    record = read(folder)["rope", 1]
    kept = [r for r in record["rows"] if r["length"] != 5]
    assert len(record["rows"]) - len(kept) == 6
    records.write(folder, {**record, "rows": kept})
    missing = files(folder)
    with pytest.raises(UserError, match="nothing is overwritten"):
        measure.add(folder, ask(5))
    assert files(folder) == missing
    assert measure.add(folder, ask(3, 5, only_missing=True)) == 1
    assert files(folder) == files(trained)


def test_nothing_is_left_to_do_where_all_is_measured(trained, folder, monkeypatch):
    monkeypatch.setattr(measure, "load_state", None)
    assert measure.add(folder, ask(2, 3, 5, only_missing=True)) == 0
    assert files(folder) == files(trained)


@pytest.mark.parametrize("narrow", WORDS, ids=["rope", "learned"])
def test_what_one_run_has_measured_is_refused_before_any_is_measured(folder, narrow):
    assert measure.add(folder, ask(4, select=narrow)) in (1, 2)
    before = files(folder)
    with pytest.raises(UserError) as refused:
        measure.add(folder, ask(4, 6))
    run_id = str(refused.value).split()[2]
    assert (
        records.read(records.path_of(folder, run_id))["config"]["model"]["encodings"][0]["name"]
        == narrow["model"]["encodings"]
    )
    said = (
        f"The run {run_id} has measured test length 4 at offset 0 already, on 16 examples: "
        f"nothing is overwritten. With --only_missing, evaluate passes over such points."
    )
    assert str(refused.value) == said
    assert files(folder) == before


@pytest.mark.full
def test_a_place_asked_for_twice_is_measured_once(trained, folder):
    measure.add(folder, ask(4, 4, offsets=(0, 0), select=WORDS[0]))
    assert len(new_rows(folder, trained)["rope", 0]) == 6


def test_a_selection_says_which_runs_are_meant(trained, folder):
    select = dict(seed="1", model=dict(encodings=(dict(name="rope", base=500),)))
    assert measure.add(folder, ask(4, select=select)) == 1
    assert {who: len(rows) for who, rows in new_rows(folder, trained).items()} == {
        ("rope", 0): 0,
        ("rope", 1): 6,
        ("learned", 0): 0,
    }
    both = shutil.copytree(trained, folder.parent / "both")
    measure.add(both, ask(4, select=WORDS[0]))
    assert new_rows(both, trained)["rope", 1] == new_rows(folder, trained)["rope", 1]


@pytest.mark.full
def test_arguments_that_a_change_leaves_open_are_the_runs_own(trained, folder):
    """Slowed down a thousand million times, RoPE turns nothing: what was changed is what is
    measured.
    """
    half = dict(name="rope", scaling="linear", factor=2.0)
    for spec in (half, {**half, "factor": 1e9}, {**half, "base": 10000.0}):
        measure.add(folder, ask(3, encodings=(spec,), select=WORDS[0]))
    measure.add(folder, ask(3, 4, offsets=(0, 7), encodings=(), select=WORDS[0]))
    rows = new_rows(folder, trained)["rope", 0]
    by_label = {r["override"]["label"]: r for r in rows}
    assert list(by_label) == [
        "rope(scaling=linear, factor=2.0)",
        "rope(scaling=linear, factor=1000000000.0)",
        "rope(scaling=linear, factor=2.0, base=10000.0)",
        "none",
    ]
    own = by_label["rope(scaling=linear, factor=2.0)"]["override"]["encodings"]
    assert [(e["base"], e["factor"], e["scaling"], e["layers"]) for e in own] == [
        (500.0, 2.0, "linear", None)
    ]
    assert (
        by_label["rope(scaling=linear, factor=2.0, base=10000.0)"]["override"]["encodings"][0][
            "base"
        ]
        == 10000.0
    )
    assert by_label["none"]["override"] == {
        "label": "none",
        "positions": None,
        "encodings": [],
        "is_complete": True,
        "reveals_target_length": False,
    }

    nll = {
        label: values([r for r in rows if r["override"]["label"] == label]) for label in by_label
    }
    scaled, unturned, other, removed = nll.values()
    as_trained = values(read(trained)["rope", 0]["rows"])
    assert len({measured[3, 0] for measured in (as_trained, scaled, unturned, other)}) == 4
    assert abs(unturned[3, 0] - removed[3, 0]) < 1e-5 < abs(scaled[3, 0] - removed[3, 0])
    assert (removed[3, 0], removed[4, 0]) == (
        removed[3, 7],
        removed[4, 7],
    )  # without an encoding nothing reads positions

    with pytest.raises(
        UserError,
        match=(
            r"has measured test length 3 at offset 0 with rope\(scaling=linear, factor=2, "
            r"base=500\) already"
        ),
    ):
        measure.add(
            folder,
            ask(
                3,
                encodings=(dict(name="rope", scaling="linear", factor=2, base=500),),
                select=WORDS[0],
            ),
        )


@pytest.mark.full
def test_other_positions_that_tell_the_length_mark_their_rows(trained, folder):
    measure.add(folder, ask(4, positions=dict(name="normalized"), select=WORDS[0]))
    measure.add(folder, ask(4, positions=dict(name="shifted", max_shift=3), select=WORDS[0]))
    told = {
        (r["override"]["label"], r["override"]["reveals_target_length"])
        for rows in new_rows(folder, trained).values()
        for r in rows
    }
    assert told == {("normalized", True), ("shifted(max_shift=3)", False)}
    positions = {
        r["override"]["label"]: r["override"]["positions"]
        for r in new_rows(folder, trained)["rope", 0]
    }
    assert positions == {
        "normalized": {"name": "normalized"},
        "shifted(max_shift=3)": {"name": "shifted", "max_shift": 3},
    }
    assert not any(record["exposure"]["reveals_target_length"] for record in read(folder).values())


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            ask(4, encodings=(LEARNED,)),
            "learned has parameters that the run ROPE was not trained with.",
        ),
        (
            ask(4, encodings=(dict(name="rope"), dict(name="t5_bias"))),
            "t5_bias has parameters that the run ",
        ),
        (
            ask(4, encodings=(dict(name="learned", max_positions=64),), select=WORDS[1]),
            "The model differs from the model of the run LEARNED: ",
        ),
        (
            ask(4, encodings=(dict(name="rope", bass=3),)),
            "rope has no 'bass'. Did you mean 'base'?",
        ),
        (
            ask(4, encodings=(dict(name="ropee"),)),
            "pe_lab/encodings has no 'ropee'. Did you mean 'rope'?",
        ),
        (ask(4, encodings=(dict(name="rope", factor=2),)), "RoPE's factor 2 needs a scaling: "),
        (
            ask(4, positions=dict(name="normalized")),
            "learned needs whole positions; the scheme normalized gives fractions.",
        ),
        (
            ask(4, 7),
            "copy with these arguments has no examples longer than 6 symbols, got length 7",
        ),
        (ask(4, select=dict(sed=3)), "select has no 'sed'. Did you mean 'seed'?"),
        (
            ask(4, select=dict(model=dict(encoding="rope"))),
            "select.model has no 'encoding'. Did you mean 'encodings'?",
        ),
        (
            ask(4, select=dict(model=dict(encodings="alibi"))),
            "The selection matches none of the 3 finished runs in FOLDER.",
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
