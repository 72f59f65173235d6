from pathlib import Path

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.studies import study_files, study_labels
from tests import tiny

PUBLISHED = sorted(path.parent for path in Path("results/published").glob("*/study.json"))
AXIS = "model.encodings"


def study(*points):
    """The entries and records of (labels, run)."""
    entries = [(labels, run.run_id) for labels, run in points]
    return entries, {run.run_id: {"config": run.to_dict()} for _, run in points}


def check(*points):
    study_labels.check(Path("x"), *study(*points))


def refusal(axis, label):
    return pytest.raises(
        UserError,
        match=rf"^x/study\.json is damaged \(it labels the run [0-9a-f]{{16}} '{label}' on the "
        rf"axis '{axis}', and the config of its record differs\): run the sweep again",
    )


ROPE, ALIBI, NOPE = (tiny.run(name) for name in ("rope", "alibi", "nope"))


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_labels_of_published_studies_agree(folder):
    entries = study_files.read(folder).entries
    study_labels.check(folder, entries, records.read_all(folder))


def test_exchanged_labels_are_refused():
    check(({AXIS: "rope"}, ROPE), ({AXIS: "alibi"}, ALIBI))
    with refusal(AXIS, "alibi"):
        check(({AXIS: "alibi"}, ROPE), ({AXIS: "rope"}, ALIBI))


def test_exchanged_numbers_are_refused():
    low, high = (tiny.run("rope", train__learning_rate=rate) for rate in (1e-3, 3e-3))
    path = "train.learning_rate"
    check(({path: "0.001"}, low), ({path: "0.003"}, high))
    with refusal(path, "0.003"):
        check(({path: "0.003"}, low), ({path: "0.001"}, high))


def test_exchanged_schemes_of_an_encoding_that_reads_them_are_refused():
    shifted = tiny.run("rope", positions={"name": "shifted", "max_shift": 32})
    name = "shifted(max_shift=32)"
    check(({"positions": "contiguous"}, ROPE), ({"positions": name}, shifted))
    with pytest.raises(UserError, match="on the axis 'positions'"):
        check(({"positions": name}, ROPE), ({"positions": "contiguous"}, shifted))


def test_one_label_of_two_values_is_refused():
    seeds = [tiny.run("rope", seed=seed) for seed in range(2)]
    check(*(({AXIS: "mine"}, run) for run in seeds))
    with refusal(AXIS, "mine"):
        check(({AXIS: "mine"}, ROPE), ({AXIS: "mine"}, ALIBI))


def test_labels_with_arguments_are_compared_with_those_arguments():
    runs = [tiny.run({"name": "rope", "base": base}) for base in (100.0, 500.0)]
    named = ["rope(base=100.0)", "rope(base=500.0)"]
    check(*(({AXIS: label}, run) for label, run in zip(named, runs, strict=True)))
    with pytest.raises(UserError, match="is damaged"):
        check(*(({AXIS: label}, run) for label, run in zip(named[::-1], runs, strict=True)))


def test_labels_of_the_users_own_are_accepted():
    check(({AXIS: "baseline"}, ROPE), ({AXIS: "ours"}, ALIBI), ({AXIS: ""}, NOPE))


def test_a_run_of_several_variants_may_have_several_labels():
    """The config of NoPE names one of the schemes, none of which it reads."""
    shifted = tiny.run("rope", positions={"name": "shifted", "max_shift": 32})
    check(
        ({"positions": "contiguous"}, NOPE),
        ({"positions": "shifted(max_shift=32)"}, NOPE),
        ({"positions": "contiguous"}, ROPE),
        ({"positions": "shifted(max_shift=32)"}, shifted),
    )


def test_an_axis_inside_another_one_changes_its_values():
    path = f"{AXIS}.0.base"
    runs = [tiny.run({"name": "rope", "base": base}) for base in (100.0, 500.0)]
    check(
        ({AXIS: "rope", path: "100.0"}, runs[0]),
        ({AXIS: "rope", path: "500.0"}, runs[1]),
    )
    with refusal(path, "500.0"):
        check(
            ({AXIS: "rope", path: "500.0"}, runs[0]),
            ({AXIS: "rope", path: "100.0"}, runs[1]),
        )


def test_a_run_without_a_record_is_not_compared():
    entries, by_id = study(({AXIS: "alibi"}, ROPE), ({AXIS: "rope"}, ALIBI))
    study_labels.check(Path("x"), entries, {ROPE.run_id: by_id[ROPE.run_id]})
