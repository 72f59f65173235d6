import itertools

import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.even_pairs import EvenPairs
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn


def oracle(task, prompt):
    return np.array([sum(a != b for a, b in itertools.pairwise(prompt)) % 2])


def test_worked_examples():
    assert oracle(EvenPairs(), np.array([0, 0, 1, 1, 1, 0])).tolist() == [0]
    assert oracle(EvenPairs(), np.array([0, 1, 0, 1, 0, 0, 1])).tolist() == [1]


@pytest.mark.slow
def test_one_answer_whatever_the_length():
    assert [EvenPairs().target_bound(n) for n in (1, 40)] == [1, 1]
    assert not drawn(EvenPairs(), 1, 20).target.any()


def test_bits_are_uniform_and_independent():
    """Eight strings, 1600 draws: 200 each, standard deviation 13."""
    strings = drawn(EvenPairs(), 3, 1600).prompt @ [4, 2, 1]
    assert np.abs(np.bincount(strings, minlength=8) - 200).max() < 60


def test_its_floor_is_a_half():
    """1000 examples: standard deviation 0.016."""
    assert all(
        abs(f["token_accuracy"] - 0.5) < 0.08 for f in chance_levels(EvenPairs(), (2, 9), 1000)
    )
