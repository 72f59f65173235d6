import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.bucket_sort import BucketSort
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn


def oracle(task, prompt):
    counts = [prompt.tolist().count(symbol) for symbol in range(task.num_symbols)]
    return np.repeat(np.arange(task.num_symbols), counts)


def test_worked_example():
    assert oracle(BucketSort(), np.array([1, 0, 2, 0, 4, 1, 1, 2])).tolist() == [
        0,
        0,
        1,
        1,
        1,
        2,
        2,
        4,
    ]


@pytest.mark.slow
def test_symbols_are_uniform_and_none_is_aligned():
    """Five symbols, 1000 draws of three: 600 each, standard deviation 22."""
    e = drawn(BucketSort(), 3)
    assert np.abs(np.bincount(e.prompt.ravel(), minlength=5) - 600).max() < 98
    assert (e.alignment == -1).all()


@pytest.mark.slow
def test_a_predictor_that_sees_no_prompt_is_right_at_most_places():
    """It learns from 1000 examples, so it is a little below 0.78 and 0.94."""
    short, long = chance_levels(BucketSort(), (41, 500), 1000)
    assert abs(short["token_accuracy"] - 0.778) < 0.012
    assert abs(long["token_accuracy"] - 0.938) < 0.006
    assert long["exact_match"] < 0.01


def test_one_symbol_is_refused():
    with pytest.raises(ValueError, match="two symbols or more, got num_symbols=1"):
        BucketSort(num_symbols=1)
