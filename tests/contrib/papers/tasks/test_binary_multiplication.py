import jax
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.binary_multiplication import BinaryMultiplication
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks._oracles import binary_numbers, padded_bits
from tests.tasks.drawing import first_drawn as drawn
from tests.tasks.drawing import said

VARIANTS = [{}, dict(padded=False)]


def oracle(task, prompt):
    numbers = binary_numbers(prompt)
    if len(numbers) == 1:
        return padded_bits(task, prompt, 0 if len(prompt) == 2 else None)
    return padded_bits(task, prompt, numbers[0] * numbers[1])


def test_worked_examples():
    """4 * 22 = 88 and 9 * 32 = 288, as in the papers' code; 3 * 3 = 9 fills its room."""
    assert said(BinaryMultiplication(), "0 0 1 * 0 1 1 0 1") == "0 0 0 1 1 0 1 end 0"
    assert said(BinaryMultiplication(), "1 0 0 1 * 0 0 0 0 0 1") == "0 0 0 0 0 1 0 0 1 end 0"
    assert said(BinaryMultiplication(), "1 1 * 1 1") == "1 0 0 1 end"
    assert said(BinaryMultiplication(padded=False), "1 * 1") == "1"


@pytest.mark.slow
def test_the_shortest_prompts_are_one_number_and_the_answer_is_none_or_zero():
    for length, prompts, target in ((1, {(0,)}, [2]), (2, {(0, 0), (1, 0), (0, 1)}, [0, 2])):
        e = drawn(BinaryMultiplication(), length, 60)
        assert set(map(tuple, e.prompt[:, :length].tolist())) == prompts
        assert e.target[:, :length].tolist() == [target] * 60


@pytest.mark.slow
@pytest.mark.parametrize("padded", [True, False])
def test_long_products_are_those_of_pythons_own_integers(padded):
    task = BinaryMultiplication(padded=padded)
    e = drawn(task, 150, 20, bound=150)
    for prompt, target, mask in zip(e.prompt, e.target, e.target_mask, strict=True):
        np.testing.assert_array_equal(target[mask], oracle(task, prompt))


@pytest.mark.slow
def test_the_first_number_has_each_size_equally_often():
    """At length 6 it has 1 to 4 bits: of 1200, 300 each expected, standard deviation 15."""
    sign = (drawn(BinaryMultiplication(), 6, 1200).prompt == 2).argmax(axis=1)
    assert abs(np.bincount(sign, minlength=5)[1:5] - 300).max() < 70


def test_bits_of_one_significance_are_coupled_and_nothing_tells_where_the_product_ends():
    e = jax.tree.map(lambda leaf: leaf[0].tolist(), drawn(BinaryMultiplication(), 6, 1))
    sign = e.prompt.index(2)
    assert e.structure["coupled"] == (
        [*range(1, sign + 1), 0, *range(1, 6 - sign), 0, 0, 0],
        [1, 2, 3, 4, 5, 6, 0, 0, 0],
    )
    assert e.structure["symbols"] == (
        [i != sign and i < 6 for i in range(9)],
        [True] * 6 + [False] * 3,
    )


def test_the_answer_of_a_padded_target_ends_with_the_terminator():
    e = drawn(BinaryMultiplication(), 9, 50)
    assert ((e.target == 2).argmax(axis=1) == e.answer_mask.sum(axis=1) - 1).all()
    assert [BinaryMultiplication().target_bound(n) for n in (1, 9)] == [1, 9]


@pytest.mark.slow
def test_the_floor_is_about_a_half():
    """1000 examples of about 35 tokens: standard deviation 0.003. Up to length 500 it is 0.5."""
    assert (
        abs(chance_levels(BinaryMultiplication(), (41,), 1000)[0]["token_accuracy"] - 0.49) < 0.03
    )
