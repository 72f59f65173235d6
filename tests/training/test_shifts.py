"""Shifts of positions that an encoding cannot notice are no positions that training has shown."""

import pytest

from pe_lab.positions.contiguous import Contiguous
from pe_lab.positions.shifted import Shifted
from pe_lab.training import run_records, shifts
from pe_lab.training.build import build_setup
from tests import tiny

SHIFTED = {"name": "shifted", "max_shift": 16}
LAST = 2 * 3 + 1  # of the longest example: BEGIN, SEPARATOR and 3 symbols, twice


def setup(*encodings, **changes):
    return build_setup(tiny.run(*encodings, positions=SHIFTED, **changes))


@pytest.mark.parametrize(
    ("encodings", "largest"),
    [
        (["rope"], LAST),
        (["alibi", "t5_bias"], LAST),
        (["sinusoidal"], LAST + 16),
        (["rope", "sinusoidal"], LAST + 16),
        ([{"name": "rope", "positions": SHIFTED | {"max_shift": 30}}], LAST),
        ([{"name": "rotary_value", "absolute": True}], LAST + 16),
    ],
    ids=str,
)
def test_the_largest_position_of_a_record_has_no_unnoticed_shift(encodings, largest):
    made = setup(*encodings)
    assert run_records._exposure(made, 12, None)["max_position"] == largest


def test_a_context_of_several_examples_ends_where_contiguous_positions_end():
    made = setup("rope", layout__examples_per_context=2, layout__document_mask=False)
    (placement,) = made.placements
    assert shifts.largest_trained_position(made, placement, 3) == 2 * (LAST + 1) - 1


@pytest.mark.parametrize("stacks", [("encoder", "decoder"), ("cross",)])
def test_two_sequences_that_are_shifted_apart_are_noticed(stacks):
    """In cross-attention, a relative encoding reads the difference of two draws."""
    made = setup({"name": "alibi", "stacks": stacks}, layout__name="encoder_decoder")
    noticed = {shifts.noticed_scheme(made, placement) for placement in made.placements}
    assert noticed == ({Shifted(max_shift=16)} if stacks == ("cross",) else {Contiguous()})
