"""Notes on the design of a study before it is trained."""

from pathlib import Path

import pytest

from pe_lab.runs import grid
from pe_lab.sweeps import design_checks, study
from pe_lab.training.setup import build_setup
from tests import tiny

ROPE, ALIBI = ({"name": "rope"},), ({"name": "alibi"},)
SETTINGS = {
    "task": {"name": "copy", "num_symbols": 250, "distinct": False},  # no input repeats
    "evaluate__lengths": (2, 3, 6),
    "evaluate__num_examples": 4,
    "train__min_length": 2,
}


def notes(*axes, seeds=3, analysis=None, **changes):
    points = grid.product(*axes, {"seed": range(seeds)})
    values = tiny.values(**{**SETTINGS, **changes})
    asked = study.expand("fake", values, points, Path("nowhere"), analysis)
    setups = [build_setup(group.run) for group in study.groups(asked.runs)]
    return design_checks.notes(asked, setups, seeds)


@pytest.mark.slow
def test_a_sound_design_has_no_note():
    axes = {"model.encodings": [ROPE, ALIBI]}
    analysis = {"contrasts": [("rope", "alibi")]}
    assert notes(axes, seeds=4, analysis=analysis) == []


@pytest.mark.slow
def test_a_point_of_extrapolation_that_is_not_measured_is_named():
    (note,) = notes({"model.encodings": [ROPE]}, evaluate__lengths=(3, 5))
    assert note == (
        "no run can extrapolate: the point at 2× the training length is length 6, not evaluated "
        "(training length 3; config.evaluate.lengths and offsets)"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "enough"), [(1, 3), (2, 3), (3, None)])
def test_seeds_that_can_decide_no_contrast_are_too_few(seeds, enough):
    """Three successes against three failures have p = 2 / 64 in Barnard's test, two 2 / 16."""
    analysis = {"contrasts": [("rope", "alibi")]}
    axes = {"model.encodings": [ROPE, ALIBI]}
    found = notes(axes, seeds=seeds, analysis=analysis)
    if enough is None:
        assert found == []
    else:
        assert found == [
            f"with {seeds} seeds no declared contrast can reach p < 0.05 (contrasts, adjusted by "
            f"Holm's method: 1); with {enough} seeds, the most extreme outcome of one contrast could"
        ]


@pytest.mark.slow
def test_a_contrast_with_a_variant_that_reveals_the_target_length_is_named():
    axes = {"positions": [{"name": "contiguous"}, {"name": "normalized"}]}
    analysis = {"contrasts": [("contiguous", "normalized")]}
    raw_index = ({"name": "raw_index"},)
    (note,) = notes(axes, seeds=4, analysis=analysis, model__encodings=raw_index)
    assert note == (
        "the contrast of contiguous with normalized will not be compared: only normalized reveals "
        "the target length"
    )


@pytest.mark.slow
def test_a_contrast_with_a_variant_that_sees_the_positions_of_the_test_is_named():
    """Names of variants mean these variants, as in tables, and not all with their labels."""
    plain = grid.labelled("", {"name": "contiguous"})
    shifted = grid.labelled("shifted", {"name": "shifted", "max_shift": 16})
    raw = grid.labelled("raw", ({"name": "raw_index"},))
    axes = {"model.encodings": [raw], "positions": [plain, shifted]}
    (note,) = notes(axes, seeds=4, analysis={"contrasts": [("raw · shifted", "raw")]})
    assert note == (
        "the contrast of raw · shifted with raw will not be compared: only raw · shifted sees the "
        "positions of the test in training"
    )


def test_lengths_beyond_a_table_are_named():
    learned = grid.labelled("table", ({"name": "learned", "max_positions": 8},))
    (note,) = notes({"model.encodings": [learned]})
    assert note.startswith("table will have no numbers at lengths 6: learned has positions 0..7;")


@pytest.mark.slow
def test_lengths_whose_inputs_repeat_are_named():
    task = {"name": "parity"}
    (note,) = notes({"model.encodings": [ROPE]}, task=task, train__min_length=1)
    assert note == "training can draw inputs of parity that are evaluated (§), of length 2, 3"
