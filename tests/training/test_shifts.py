"""Shifts of positions that an encoding cannot notice are no positions that training has shown."""

import pytest

from pe_lab.positions.contiguous import Contiguous
from pe_lab.positions.shifted import Shifted
from pe_lab.training import exposure
from pe_lab.training.build import build_setup
from tests import tiny

SHIFTED = {"name": "shifted", "max_shift": 16}
LAST = 2 * 3 + 1  # of the longest example: BEGIN, SEPARATOR and 3 symbols, twice


def setup(*encodings, **changes):
    return build_setup(tiny.run(*encodings, positions=SHIFTED, **changes))


@pytest.mark.parametrize(
    ("encodings", "largest", "seen"),
    [
        (["rope"], LAST, None),
        (["alibi", "t5_bias"], LAST, None),
        (["sinusoidal"], LAST + 16, 12),
        (["rope", "sinusoidal"], LAST + 16, 12),
        ([{"name": "rope", "positions": SHIFTED | {"max_shift": 30}}], LAST, None),
        ([{"name": "rotary_value", "absolute": True}], LAST + 16, 12),
    ],
    ids=str,
)
def test_the_largest_position_of_a_record_has_no_unnoticed_shift(encodings, largest, seen):
    """A test of length 5 ends at position 11; only noticed shifts show larger ones."""
    shown = exposure.recorded(setup(*encodings), 12, None)
    assert (shown["max_position"], shown["seen_offsets"]) == (largest, {"5": seen})


@pytest.mark.slow
def test_a_trained_record_has_the_offsets_that_training_showed(tmp_path):
    changes = {"model__num_layers": 1, "train__steps": 2, "evaluate__lengths": (3, 4, 5, 6)}
    group = tiny.group(seeds=1, positions=SHIFTED | {"max_shift": 4}, **changes)
    shown = tiny.train(tmp_path, group)[0]["exposure"]
    assert shown["max_position"] == 11
    assert shown["seen_offsets"] == {"4": 2, "5": 0, "6": None}


def test_a_context_of_several_examples_ends_where_contiguous_positions_end():
    made = setup("rope", layout__examples_per_context=2, layout__document_mask=False)
    (placement,) = made.placements
    assert exposure.largest_trained_position(made, placement, 3) == 2 * (LAST + 1) - 1


@pytest.mark.parametrize("stacks", [("encoder", "decoder"), ("cross",)])
def test_two_sequences_that_are_shifted_apart_are_noticed(stacks):
    """In cross-attention, a relative encoding reads the difference of two draws."""
    made = setup({"name": "alibi", "stacks": stacks}, layout__name="encoder_decoder")
    noticed = {exposure.noticed_scheme(made, placement) for placement in made.placements}
    assert noticed == ({Shifted(max_shift=16)} if stacks == ("cross",) else {Contiguous()})
