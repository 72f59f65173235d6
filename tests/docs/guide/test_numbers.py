import numpy as np
import pytest

from docs.build.guide import numbers
from docs.build.guide.trained import order_of
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from tests import models


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["nope", "sinusoidal"])
def test_a_permutation_changes_nothing_of_a_set_and_something_of_a_sequence(encoding):
    changed = numbers.permuted(models.settings(), "encoder", encoding)
    assert (changed < 1e-5) is (encoding == "nope")
    assert (
        numbers.permuted(models.settings(), "decoder", encoding) > 0.1
    )  # its mask has an order of its own


def test_the_map_that_is_written_down_is_the_map():
    assert numbers.map_error() < 1e-6


@pytest.mark.slow
def test_the_numbers_of_counts_by_hand():
    found = numbers.fresh(models.settings())
    assert found["largest index"] == {64: 63, 1024: 1023}
    assert list(found["cosines"]) == list(numbers.WIDTHS)


def test_random_directions_have_the_cosine_of_their_width():
    found = numbers.cosines(64)
    assert found["rms cosine of random directions"] == 1 / 8
    assert found["rms cosine"] == pytest.approx(1 / 8, rel=0.05)


def test_rows_in_order_are_told_from_rows_without():
    ordered, random = (
        order_of(UntrainedEncoding({"name": name}).table(18)) for name in ("sinusoidal", "learned")
    )
    assert ordered["cosine of rows 1 apart"] > ordered["cosine of rows 2 apart"] > 0.8
    assert abs(random["cosine of rows 1 apart"]) < 0.1


def test_rows_that_alternate_are_told():
    alternating = order_of(np.array([[1.0, 0.0], [-2.0, 0.0]] * 4))
    assert (alternating["cosine of rows 1 apart"], alternating["cosine of rows 2 apart"]) == (-1, 1)
