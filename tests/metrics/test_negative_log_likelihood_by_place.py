import math

import numpy as np
import pytest

from pe_lab.metrics import negative_log_likelihood_by_place as by_place
from pe_lab.metrics.base import Sums
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_rows


def row(value, length=4, metric=by_place.METRIC):
    return record_rows.row("test", length, 0, metric, value, 32, None if value else "no reason")


BITS = [8.0, 4.0, 2.0, 1.0]
TEXT = row([bits * math.log(2) for bits in BITS])


@pytest.mark.parametrize(("stride", "bits"), [(None, 3.75), (4, 3.75), (2, 1.5), (1, 1.0)])
def test_bits_and_perplexity_by_hand(stride, bits):
    assert by_place.bits_per_byte(TEXT, stride) == pytest.approx(bits)
    assert by_place.perplexity(TEXT, stride) == pytest.approx(2**bits)
    assert by_place.mean(TEXT, stride) == pytest.approx(bits * math.log(2))


def test_a_sliding_window_is_the_mean_over_what_its_steps_say():
    """A text of 8 places read by a window of 4 that slides by 2. The loss of a place depends on the
    places before it alone.
    """
    loss = [3.0, 2.0, 1.5, 1.25]  # with 0, 1, 2, 3 places before it
    said = [
        loss[place - start] for start in range(0, 5, 2) for place in range(start + 2, start + 4)
    ]
    assert by_place.mean(row(loss), 2) == pytest.approx(sum(said) / len(said))


def test_a_uniform_guess_has_the_alphabet_as_perplexity():
    assert by_place.perplexity(row([math.log(256)] * 3, length=3)) == pytest.approx(256)


def test_an_end_token_does_not_count():
    assert by_place.mean(row([1.0, 2.0, 100.0], length=2)) == 1.5
    assert by_place.mean(row([1.0, 2.0, 100.0], length=2), 1) == 2.0


def test_no_value_has_no_perplexity():
    assert [f(row(None)) for f in (by_place.mean, by_place.perplexity, by_place.bits_per_byte)] == [
        None
    ] * 3


def test_an_index_that_no_target_reaches_has_no_value():
    sums = Sums(np.array([6.0, 2.0, 0.0]), np.array([3, 2, 0]))
    values = by_place.NegativeLogLikelihoodByPlace(by_place.METRIC).value(sums, 3)
    assert values == [2.0, 1.0, None]
    assert by_place.mean(row(values, length=3)) is None
    assert by_place.mean(row(values, length=2)) == 1.5


@pytest.mark.parametrize("stride", [0, 5])
def test_a_stride_outside_of_the_window_is_refused(stride):
    for value in (BITS, None):
        with pytest.raises(UserError, match=f"4 places can slide by 1 to 4, got stride={stride}"):
            by_place.mean(row(value), stride)


def test_rows_of_other_metrics_are_refused():
    with pytest.raises(
        UserError, match="needs a row of negative_log_likelihood_by_place, got one of exact_match"
    ):
        by_place.perplexity(row(0.5, metric="exact_match"))


@pytest.mark.parametrize("count", [3, 256])
def test_a_mean_has_the_digits_of_a_float32_and_its_value(count):
    total = np.float32(count) * np.float32(1.1)
    metric = by_place.NegativeLogLikelihoodByPlace(by_place.METRIC)
    (mean,) = metric.value(Sums(np.array([total]), np.array([count], np.int32)), 1)
    assert len(repr(mean)) <= len("1.12345678")
    assert np.float32(mean) == np.float32(total / count)
