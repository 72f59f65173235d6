import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab.results import frame
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.studies import outcomes
from tests.results.fake_study import point, record, two_variants, values, write_study
from tests.results.studies import study


def test_seeds_stand_side_by_side_in_the_order_of_the_sweep(tmp_path):
    found = frame.read(two_variants(tmp_path))
    assert [(name, list(found.cases_of(name)["run_id"])) for name in found.by_name] == [
        ("rope", ["r0", "r1", "r2"]),
        ("alibi", ["a0", "a1"]),
    ]
    assert (found.name, found.missing) == ("fake", 1)
    assert list(found.cases.query("status == 'finished'")["run_id"]) == ["r0", "r1", "a1"]


def test_what_was_measured_is_gathered_over_all_finished_runs(tmp_path):
    a = record("a", test={(4, 0): 1.0, (4, 7): 1.0}, max_length=4)
    b = record("b", test={(16, 0): 1.0}, validation={2: 1.0}, max_length=8)
    found = study(tmp_path, a, b)
    assert (found.lengths, found.offsets, found.max_lengths, found.length_name) == (
        [4, 16],
        [0, 7],
        [4, 8],
        "symbols",
    )


def test_a_variant_has_one_value_for_each_run_and_none_where_it_was_not_measured(tmp_path):
    found = frame.read(two_variants(tmp_path))
    assert values(found, "rope", 4) == [1.0, 0.996, None]
    assert values(found, "alibi", 8) == [None, None]
    assert values(found, "rope", 4, 3) == [None, None, None]
    assert values(found, "rope", 4, metric="token_accuracy") == [None, None, None]


def test_a_variant_counts_the_finished_runs_that_are_solved(tmp_path):
    counts = frame.read(two_variants(tmp_path)).variants[["solved", "finished", "runs"]]
    assert counts.values.tolist() == [[1, 2, 3], [0, 1, 2]]


@pytest.mark.parametrize(
    ("by_length", "threshold", "expected"),
    [
        ({2: 1.0, 4: 0.98}, 0.99, True),  # the mean reaches it
        ({2: 1.0, 4: 0.96}, 0.99, False),
        ({2: 1.0, 4: 0.96}, 0.98, True),
        ({4: 1.0, 8: 0.0}, 0.99, True),  # beyond the training length
        ({4: 1.0, 2: None}, 0.99, True),
        ({8: 1.0}, 0.99, False),  # nothing up to the training length
        ({2: 0.99, 3: 0.99, 4: 0.99}, 0.99, True),
    ],
)
def test_a_run_is_solved_when_its_mean_up_to_the_training_length_reaches_the_threshold(
    by_length, threshold, expected
):
    # The test does not count.
    made = record(
        "a", test={4: float(not expected)}, validation=by_length, max_length=4, threshold=threshold
    )
    assert outcomes.is_solved(made) is expected


def test_a_target_length_that_one_run_knows_marks_the_variant(tmp_path):
    entries = []
    for name, seed, reveals in (("rope", 0, False), ("rope", 1, True), ("alibi", 0, False)):
        run = record(f"{name}{seed}", seed, test={4: 1.0}, reveals=reveals)
        entries.append((point(name, seed), run))
    assert list(study(tmp_path, *entries).variants["reveals_target_length"]) == [True, False]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (
            [{"model.encodings": "rope", "seed": "0"}, {"model.encodings": "rope", "seed": "1"}],
            ["rope"],
        ),
        (
            [
                {"task": "copy", "model.encodings": "rope"},
                {"task": "copy", "model.encodings": "alibi"},
            ],
            ["rope", "alibi"],
        ),
        (
            [{"positions": "contiguous", "seed": "0"}, {"positions": "shifted", "seed": "0"}],
            ["contiguous", "shifted"],
        ),
        (
            [
                {"task": "copy", "width": "8"},
                {"task": "copy", "width": "16"},
                {"task": "parity", "width": "8"},
            ],
            ["copy · 8", "copy · 16", "parity · 8"],
        ),
        ([{"model.encodings": "rope"}, {"positions": "shifted"}], ["rope", "shifted"]),
        ([{"seed": "0"}, {"seed": "1"}], ["fake"]),
        ([{}], ["fake"]),
    ],
)
def test_a_variant_is_named_by_the_axes_that_vary_other_than_seeds(tmp_path, labels, names):
    runs = [record(f"run{i}") for i in range(len(labels))]
    assert list(study(tmp_path, *zip(labels, runs, strict=True)).by_name) == names


def test_one_run_may_answer_several_variants(tmp_path):
    shared = record("n", test={4: 0.5})
    entries = [(point("nope", 0, positions=p), shared) for p in ("contiguous", "shifted")]
    found = study(tmp_path, *entries)
    assert [(name, values(found, name, 4)) for name in found.by_name] == [
        ("contiguous", [0.5]),
        ("shifted", [0.5]),
    ]


def test_one_run_asked_for_twice_is_one_run_of_its_variant(tmp_path):
    shared = record("r", test={4: 0.5}, validation={4: 1.0})
    found = study(tmp_path, *[(point("rope", 0), shared)] * 2)
    assert (values(found, "rope", 4), found.by_name["rope"]["solved"]) == ([0.5], 1)


def test_a_run_without_record_is_missing_once_however_often_it_is_asked_for(tmp_path):
    entries = [(point("nope", 0, positions=p), "n") for p in ("contiguous", "shifted")]
    assert study(tmp_path, *entries).missing == 1


def test_records_that_the_study_does_not_ask_for_are_left_out(tmp_path):
    folder = write_study(tmp_path, (point("rope", 0), record("r", test={4: 1.0})))
    records.write(folder, record("older", test={64: 1.0}))
    assert frame.read(folder).lengths == [4]


def test_a_folder_without_a_study_is_refused(tmp_path):
    with pytest.raises(
        UserError, match=f"There is no study in {tmp_path}: {tmp_path}/study.json is missing"
    ):
        frame.read(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", '{"name": "x", "entries": [{"labels": {}}]}', '{"name": "x", "entries": 3}'],
)
def test_a_damaged_study_is_refused(tmp_path, text):
    (tmp_path / "study.json").write_text(text, encoding="utf-8")
    with pytest.raises(
        UserError, match=r"study\.json is damaged \(.*\): run the sweep again to write it"
    ):
        frame.read(tmp_path)


def test_a_damaged_record_is_refused(tmp_path):
    folder = write_study(tmp_path, (point("rope", 0), record("r")))
    records.path_of(folder, "r").write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match=r"The record .*records/r\.json is damaged"):
        frame.read(folder)


@pytest.mark.slow
def test_reading_results_imports_no_jax():
    program = (
        "import sys, pe_lab.cli.tables; from pe_lab.results import frame, plots, tables; "
        "print([m for m in %r if m in sys.modules])"
    )
    command = [
        sys.executable,
        "-c",
        program % ["jax", "jaxlib", "flax", "optax", "orbax", "matplotlib"],
    ]
    answer = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    assert (answer.stdout, answer.stderr) == ("[]\n", "")
