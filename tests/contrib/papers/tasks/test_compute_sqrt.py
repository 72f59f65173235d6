import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.compute_sqrt import ComputeSqrt, _root
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn


def oracle(task, prompt):
    number = int("".join(map(str, prompt)), 2)
    low, high = 0, 2 ** len(prompt)
    while high - low > 1:  # invariant: low^2 <= number < high^2
        middle = (low + high) // 2
        if middle * middle <= number:
            low = middle
        else:
            high = middle
    width = (len(prompt) + 1) // 2
    return np.array([int(bit) for bit in f"{low:0{width}b}"])


def test_worked_examples():
    assert oracle(ComputeSqrt(), np.array([1, 0, 0, 1, 0, 1])).tolist() == [1, 1, 0]
    assert oracle(ComputeSqrt(), np.array([0, 0, 0, 1])).tolist() == [0, 1]
    assert oracle(ComputeSqrt(), np.array([1])).tolist() == [1]


@pytest.mark.slow
def test_the_root_of_every_number_of_ten_bits():
    bits = np.arange(1024)[:, None] >> np.arange(10) & 1
    roots = np.asarray(jax.vmap(_root)(jnp.asarray(bits))) @ 2 ** np.arange(5)
    assert roots.tolist() == [math.isqrt(n) for n in range(1024)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "length", [55, 56, 57, 130]
)  # one limb of 28 bits of a root, its last length, two limbs, three
def test_squares_and_what_stands_before_them_have_neighbouring_roots(length):
    half = (length + 1) // 2
    roots = [2**half - 1, 2 ** (half - 1), 3 * 2 ** (half - 3) + 1]
    numbers = [n for root in roots for n in (root * root, root * root - 1, root * root + 2 * root)]
    bits = np.array([[n >> i & 1 for i in range(2 * half)] for n in numbers])
    found = [
        sum(int(bit) << i for i, bit in enumerate(row))
        for row in np.asarray(jax.vmap(_root)(jnp.asarray(bits)))
    ]
    assert found == [math.isqrt(n) for n in numbers]


@pytest.mark.slow
def test_long_roots_are_those_of_pythons_own_integers():
    e = drawn(ComputeSqrt(), 200, 20)
    for prompt, target in zip(np.asarray(e.prompt), np.asarray(e.target), strict=True):
        number, root = (int("".join(map(str, bits)), 2) for bits in (prompt, target))
        assert root == math.isqrt(number)


@pytest.mark.slow
def test_every_number_above_zero_comes_equally_often():
    """2100 draws of three bits: 300 each expected, standard deviation 16."""
    counts = np.bincount(drawn(ComputeSqrt(), 3, 2100).prompt @ [4, 2, 1], minlength=8)
    assert counts[0] == 0
    assert abs(counts[1:] - 300).max() < 75


def test_a_root_has_half_the_bits_rounded_up():
    assert [ComputeSqrt().target_bound(n) for n in (1, 2, 3, 40, 41)] == [1, 1, 2, 20, 21]
    assert ComputeSqrt().length_name == "bits"


@pytest.mark.slow
def test_the_floor_is_a_little_above_a_half():
    """Mean of two lengths and 2 * 1000 examples of some 40 bits: standard deviation 0.002."""
    found = [
        chance_level["token_accuracy"]
        for chance_level in chance_levels(ComputeSqrt(), (41, 100), 1000)
    ]
    assert abs(sum(found) / 2 - 0.51) < 0.02
