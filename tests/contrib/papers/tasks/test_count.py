import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.count import Count
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn

VARIANTS = [{}, dict(modulus=3, num_symbols=4, told=True)]


def oracle(task, prompt):
    symbol, string = (prompt[0], prompt[1:]) if task.told else (1, prompt)
    return np.array([string.tolist().count(symbol) % task.modulus])


def test_worked_examples():
    assert oracle(Count(), np.array([1] * 7 + [0])).tolist() == [2]
    assert oracle(
        Count(modulus=3, num_symbols=3, told=True), np.array([2, 2, 0, 2, 2, 2, 1])
    ).tolist() == [1]


@pytest.mark.slow
def test_the_number_of_the_counted_symbol_is_uniform_and_the_others_are():
    """Five numbers, 1500 draws: 300 each, standard deviation 15.5; half of the rest per symbol."""
    e = drawn(Count(num_symbols=3), 4, 1500)
    assert np.abs(np.bincount((e.prompt == 1).sum(axis=1), minlength=5) - 300).max() < 70
    zeros, twos = (
        (e.prompt == 0).sum(),
        (e.prompt == 2).sum(),
    )  # about 1500 each, standard deviation 27 of 3000
    assert abs(zeros - twos) < 250


@pytest.mark.slow
def test_the_told_symbol_is_uniform_and_is_the_one_that_is_counted():
    """Three symbols, 1500 draws: 500 each, standard deviation 18."""
    e = drawn(Count(modulus=7, num_symbols=3, told=True), 6, 1500)
    assert np.abs(np.bincount(e.prompt[:, 0]) - 500).max() < 82
    assert (e.target[:, 0] == (e.prompt[:, 1:] == e.prompt[:, :1]).sum(axis=1)).all()


def test_told_prompts_are_one_symbol_longer():
    assert [Count(told=told).prompt_bound(6) for told in (False, True)] == [6, 7]


@pytest.mark.slow
def test_its_floor_is_about_one_in_modulus():
    """Of 0..9 each remainder twice; 1000 examples: standard deviation 0.013."""
    assert abs(chance_levels(Count(), (9,), 1000)[0]["token_accuracy"] - 0.2) < 0.06


def test_one_symbol_and_one_answer_are_refused():
    with pytest.raises(ValueError, match="of 2 or more, got 1 and 2"):
        Count(modulus=1)
    with pytest.raises(ValueError, match="of 2 or more, got 5 and 1"):
        Count(num_symbols=1)
