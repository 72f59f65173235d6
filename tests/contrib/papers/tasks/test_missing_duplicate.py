import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.missing_duplicate import _FILLER, _HIDDEN, MissingDuplicate
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import first_drawn


def oracle(task, prompt):
    symbols = [symbol for symbol in prompt.tolist() if symbol != _FILLER]
    if len(symbols) == 1:
        return np.array([1])
    half = len(symbols) // 2
    hidden = symbols.index(_HIDDEN)
    return np.array([symbols[(hidden + half) % (2 * half)]])


def many(length):
    return first_drawn(MissingDuplicate(), length, 1200)


def test_the_papers_examples():
    assert oracle(MissingDuplicate(), np.array([0, 1, 1, 0, 0, 2, 1, 0])).tolist() == [1]
    assert oracle(MissingDuplicate(), np.array([1, 0, 1, 1, 2, 1, 3])).tolist() == [0]


@pytest.mark.slow
def test_a_length_of_one_is_constant():
    e = many(1)
    assert (e.prompt[:, 0] == 1).all()
    assert (e.target == 1).all()
    assert (e.alignment == -1).all()


@pytest.mark.slow
def test_every_place_of_both_halves_is_hidden_equally_often():
    """6 places, 1200 draws: 200 each expected, standard deviation 13."""
    e = many(7)
    assert (e.prompt[:, 6] == 3).all()
    assert ((e.prompt == 2).sum(axis=1) == 1).all()
    counts = np.bincount(np.argmax(e.prompt == 2, axis=1), minlength=6)
    assert counts.min() > 140
    assert counts.max() < 260


def test_the_answer_comes_from_the_other_half():
    e = many(6)
    np.testing.assert_array_equal(e.alignment[:, 0], (np.argmax(e.prompt == 2, axis=1) + 3) % 6)


def test_coupled_positions_do_not_tell_where_the_other_half_is():
    numbers, target = many(5).structure["coupled"]
    assert numbers[0].tolist() == [1, 2, 3, 4, 5, 0, 0, 0, 0]
    assert target[0].tolist() == [0]


@pytest.mark.slow
def test_the_floor_is_a_half():
    """1000 unseen answers, standard deviation 0.016."""
    assert abs(chance_levels(MissingDuplicate(), (8,), 1000)[0]["exact_match"] - 0.5) < 0.07
