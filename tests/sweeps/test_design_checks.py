"""Notes on the design of a study before it is trained."""

import re
from pathlib import Path

import pytest

from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from pe_lab.sweeps import design_checks, study
from pe_lab.sweeps.setups import Setups
from tests import tiny

ROPE, ALIBI = ({"name": "rope"},), ({"name": "alibi"},)
SETTINGS = {
    "task": {"name": "copy", "num_symbols": 250, "distinct": False},  # no input repeats
    "evaluate__lengths": (2, 3, 6),
    "evaluate__num_examples": 4,
    "train__min_length": 2,
}


def notes(*axes, seeds=3, analysis=None, **changes):
    return design_checks.notes(expanded(*axes, seeds=seeds, analysis=analysis, **changes), seeds)


def expanded(*axes, seeds=3, analysis=None, **changes):
    points = grid.product(*axes, {"seed": range(seeds)})
    values = tiny.values(**{**SETTINGS, **changes})
    return study.expand("fake", values, points, Path("nowhere"), analysis)


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
def test_a_claim_or_contrast_at_a_length_that_is_not_measured_is_named():
    claim = dict(text="RoPE is better.", a="rope", b="alibi", at=5 / 3)
    analysis = {
        "contrasts": [dict(a="rope", b="alibi", at=4 / 3)],
        "reproduction": dict(paper="Doe 2024", claims=[claim]),
    }
    sentences = notes({"model.encodings": [ROPE, ALIBI]}, seeds=4, analysis=analysis)
    named = [re.search(r"is (length \d, not evaluated)", note).group(1) for note in sentences]
    assert named == ["length 4, not evaluated", "length 5, not evaluated"]


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
            f"Holm's method: 1); with {enough} seeds, the most extreme outcome of one contrast "
            f"could"
        ]


@pytest.mark.slow
def test_seeds_of_a_text_are_too_few_if_no_pairs_can_decide(tmp_path):
    """Five pairs have p of at least 2 / 2^5, six 2 / 2^6. A text has no runs that extrapolate."""
    for n in range(40):
        (tmp_path / f"{n}.txt").write_text(f"A text of the number {n}. " * 9, encoding="utf-8")
    text = {"name": "language_model", "path": str(tmp_path)}
    axes = {"model.encodings": [ROPE, ALIBI]}
    analysis = {"contrasts": [("rope", "alibi")]}

    def doubts(seeds):
        changes = {"task": text, "layout__end_token": False, "train__criterion": None}
        return notes(axes, seeds=seeds, analysis=analysis, **changes)

    (note,) = doubts(5)
    assert note.endswith("with 6 seeds, the most extreme outcome of one contrast could")
    assert doubts(6) == []


@pytest.mark.slow
def test_an_equivalence_takes_seeds_for_an_interval_and_no_p():
    contrast = {"a": "rope", "b": "alibi", "margin": 0.05}
    axes = {"model.encodings": [ROPE, ALIBI]}
    assert notes(axes, seeds=4, analysis={"contrasts": [contrast]}) == [
        "with 4 seeds no contrast with a margin can show that two variants are alike: an interval "
        "takes 5"
    ]
    assert notes(axes, seeds=5, analysis={"contrasts": [contrast]}) == []


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
    asked = {"a": "raw · shifted", "b": "raw", "seen_positions": True}
    assert notes(axes, seeds=4, analysis={"contrasts": [asked]}) == []


def test_lengths_beyond_a_table_are_named():
    learned = grid.labelled("table", ({"name": "learned", "max_positions": 8},))
    (note,) = notes({"model.encodings": [learned]})
    assert note.startswith("table will have no numbers at lengths 6: learned has positions 0..7;")


@pytest.mark.slow
def test_lengths_whose_inputs_repeat_are_named():
    task = {"name": "parity"}
    (note,) = notes({"model.encodings": [ROPE]}, task=task, train__min_length=1)
    assert note == "training can draw inputs of parity that are evaluated (§), of length 2, 3"


CONTIGUOUS = grid.labelled("contiguous", {"name": "contiguous"})
SHIFTED = grid.labelled("shifted", {"name": "shifted", "max_shift": 16})
RAW = grid.labelled("raw", ({"name": "raw_index"},))


@pytest.mark.slow
def test_relative_encodings_repeat_their_run_under_a_scheme_that_keeps_differences():
    """Raw indices do not: they see the shift. Their contrast is left out, and those of RoPE and
    ALiBi are compared.
    """
    axes = {"model.encodings": [ROPE, ALIBI, RAW], "positions": [CONTIGUOUS, SHIFTED]}
    repeated, not_compared = sorted(
        notes(axes, seeds=6, analysis={"contrasts": [("contiguous", "shifted")]})
    )
    assert repeated == (
        "rope · shifted repeats rope · contiguous, alibi · shifted repeats alibi · contiguous: a "
        "relative encoding reads differences of positions alone, and these schemes have the same "
        "ones; a difference between two such variants is noise"
    )
    assert not_compared.startswith("the contrast of raw · contiguous with raw · shifted will not")


@pytest.mark.slow
@pytest.mark.parametrize(
    "encodings",
    [
        ({"name": "rope"}, {"name": "raw_index"}),
        ({"name": "rotary_value", "absolute": True},),
        ({"name": "fire"},),
    ],
    ids=lambda encodings: encodings[-1]["name"],
)
def test_an_encoding_that_notices_a_shift_repeats_nothing(encodings):
    axes = {"positions": [CONTIGUOUS, SHIFTED]}
    assert not any("repeats" in note for note in notes(axes, model__encodings=encodings))


@pytest.mark.slow
def test_two_sequences_that_are_shifted_apart_repeat_nothing():
    """In cross-attention, ALiBi reads the difference of two draws."""
    encodings = ({"name": "alibi", "stacks": ("encoder", "decoder", "cross")},)
    axes = {"positions": [CONTIGUOUS, SHIFTED]}
    changes = {"layout__name": "encoder_decoder", "model__encodings": encodings}
    assert not any("repeats" in note for note in notes(axes, **changes))
    inside = ({"name": "alibi"},)
    assert any("repeats" in note for note in notes(axes, **{**changes, "model__encodings": inside}))


@pytest.mark.slow
def test_variants_with_other_rates_or_without_positions_repeat_nothing():
    axes = {"train.learning_rate": [1e-3, 3e-3], "positions": [CONTIGUOUS, SHIFTED]}
    assert not any("repeats" in note for note in notes(axes, model__encodings=({"name": "nope"},)))


@pytest.mark.slow
def test_notes_do_not_depend_on_the_runs_that_are_left():
    """On those of the study alone: the setups that a plan has built are of the missing runs."""
    axes = {"model.encodings": [ROPE, RAW], "positions": [CONTIGUOUS, SHIFTED]}
    analysis = {"contrasts": [("contiguous", "shifted"), ("rope", "raw")]}
    asked = expanded(axes, seeds=2, analysis=analysis, task={"name": "parity"})
    groups = study.groups(asked.runs)

    def notes_with(groups):
        built = Setups()
        for group in groups:
            built.of(group.run)
        return design_checks.notes(asked, 2, built)

    complete = notes_with(groups)
    assert len(complete) == 5
    for some in ((), groups[:1], groups[-1:]):
        assert notes_with(some) == complete


@pytest.mark.slow
def test_variants_with_equal_settings_are_named():
    default = ({"name": "rope", "base": 10000},)
    (note,) = notes({"model.encodings": [default, ROPE]}, seeds=4)
    assert note == (
        "rope is the same runs as rope(base=10000): their settings are equal, and tables show them "
        "twice"
    )
    (note,) = notes({"train.learning_rate": [1, 1.0]}, seeds=4)
    assert note.startswith("1.0 is the same runs as 1: ")
    # NoPE reads no positions: schemes are given to it on purpose.
    schemes = [{"name": "contiguous"}, {"name": "shifted", "max_shift": 3}]
    nope = ({"name": "nope"},)
    assert notes({"model.encodings": [nope]}, {"positions": schemes}, seeds=4) == []


def test_a_contrast_of_runs_with_themselves_is_refused():
    default = ({"name": "rope", "base": 10000},)
    axes = {"model.encodings": [default, ROPE, ALIBI]}
    with pytest.raises(UserError, match=r"^The contrast of rope\(base=10000\) with rope compares"):
        expanded(axes, analysis={"contrasts": [("rope(base=10000)", "rope")]})
    expanded(axes, analysis={"contrasts": [("rope(base=10000)", "alibi")]})
