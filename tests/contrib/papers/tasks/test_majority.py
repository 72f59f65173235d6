import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.majority import Majority
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn

VARIANTS = [{}, dict(num_symbols=26), dict(interleaved=3), dict(every_prefix=True)]


def oracle(task, prompt):
    symbols = prompt.tolist()
    if task.every_prefix:
        return np.array([int(2 * sum(symbols[: i + 1]) >= i + 1) for i in range(len(symbols))])
    strings = [symbols[i :: task.interleaved] for i in range(task.interleaved)]
    return np.array([max(set(string), key=string.count) for string in strings])


def test_worked_examples():
    assert oracle(Majority(), np.array([1, 0, 1])).tolist() == [1]
    assert oracle(Majority(num_symbols=4), np.array([3, 0, 3, 1, 3, 0])).tolist() == [3]
    assert oracle(Majority(interleaved=2), np.array([1, 0, 1, 0, 0, 1])).tolist() == [1, 0]


def test_a_tie_of_a_prefix_counts_as_one():
    assert oracle(Majority(every_prefix=True), np.array([0, 1, 0, 0])).tolist() == [0, 1, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("length", "numbers"), [(4, [0, 1, 3, 4]), (5, [0, 1, 2, 3, 4, 5])])
def test_the_number_of_zeros_is_uniform_but_for_a_tie(length, numbers):
    """1200 draws; 200 each at least, standard deviation at most 15."""
    zeros = length - drawn(Majority(), length, 1200).prompt.sum(axis=1)
    found, counts = np.unique(zeros, return_counts=True)
    assert found.tolist() == numbers
    assert np.abs(counts - 1200 / len(numbers)).max() < 68


@pytest.mark.slow
def test_a_single_zero_stands_anywhere():
    """A fourth of 2000 draws have one zero, at four places: 125 each, standard deviation 11."""
    bits = drawn(Majority(), 4, 2000).prompt
    where = np.bincount(bits[bits.sum(axis=1) == 3].argmin(axis=1), minlength=4)
    assert np.abs(where - 125).max() < 52


@pytest.mark.slow
def test_letters_are_uniform_among_strings_with_one_most_frequent():
    """Of 27 strings of three letters 21 have one, and of 9 strings of two letters 3 have one.

    2100 draws of the 21: 100 each, standard deviation 10.
    """
    strings = np.bincount(drawn(Majority(num_symbols=3), 3, 2100).prompt @ [9, 3, 1], minlength=27)
    assert (strings > 0).sum() == 21
    assert np.abs(strings[strings > 0] - 100).max() < 45
    pairs = drawn(Majority(num_symbols=3), 2, 900).prompt
    assert (pairs[:, 0] == pairs[:, 1]).all()
    assert np.abs(np.bincount(pairs[:, 0]) - 300).max() < 64


def test_letters_are_named_and_larger_alphabets_are_numbered():
    assert Majority(num_symbols=3).vocabulary.names == ("a", "b", "c")
    assert Majority().vocabulary.names == Majority(num_symbols=27).vocabulary.names == ()


@pytest.mark.slow
def test_interleaved_strings_are_drawn_apart_and_leave_the_rest_of_a_length():
    e = drawn(Majority(interleaved=3), 8, 1200)
    assert e.prompt.shape == (1200, 6)
    assert Majority(interleaved=3).min_length == 3
    ones = e.prompt.reshape(1200, 2, 3).sum(
        axis=1
    )  # 0 or 2 of each: 8 kinds, 150 each, standard deviation 11.5
    assert np.abs(np.bincount(ones @ [4, 2, 1] // 2, minlength=8) - 150).max() < 52
    assert (e.target == (ones == 2)).all()


@pytest.mark.slow
def test_the_floor_is_a_half_and_one_letter_of_all():
    """1000 examples: standard deviations 0.016 and 0.006."""
    assert abs(chance_levels(Majority(), (9,), 1000)[0]["token_accuracy"] - 0.5) < 0.07
    assert (
        abs(chance_levels(Majority(num_symbols=26), (9,), 1000)[0]["token_accuracy"] - 1 / 26)
        < 0.03
    )


def test_combinations_and_empty_alphabets_are_refused():
    with pytest.raises(
        ValueError,
        match="one of num_symbols above 2, interleaved above 1 and every_prefix, "
        "got 26, 3 and False",
    ):
        Majority(num_symbols=26, interleaved=3)
    with pytest.raises(ValueError, match="got 3, 1 and True"):
        Majority(num_symbols=3, every_prefix=True)
    with pytest.raises(ValueError, match="got 2, 3 and True"):
        Majority(interleaved=3, every_prefix=True)
    with pytest.raises(ValueError, match="one string or more, got 1 and 1"):
        Majority(num_symbols=1)
