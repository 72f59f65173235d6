import collections

import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.bitwise_or import BitwiseOr
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn

pytestmark = pytest.mark.slow

VARIANTS = [{}, dict(lengths="equal")]


def oracle(task, prompt):
    first, second = task.vocabulary.text(prompt.tolist()).replace(" ", "").split("|")
    width = max(len(first), len(second))
    both = int(first.ljust(width, "0"), 2) | int(second.ljust(width, "0"), 2)
    return np.array([int(bit) for bit in f"{both:0{width}b}"])


def prompts(examples):
    return [
        "".join("01|"[s] for s in row[mask])
        for row, mask in zip(examples.prompt, examples.prompt_mask, strict=True)
    ]


def test_every_example_up_to_a_length_is_equally_likely():
    """2800 draws of 14 examples of up to 3 bits: 200 of each, standard deviation 14.

    The 6 with vectors of one length have two versions: 100 of each, standard deviation 10.
    """
    counts = collections.Counter(prompts(drawn(BitwiseOr(), 3, 2800)))
    expected = {}
    for first in range(1, 4):
        for second in range(1, 4):
            for one in range(min(first, second)):
                bits = lambda size, on, one=one: "".join("01"[on and i == one] for i in range(size))
                for in_first in (True, False) if first == second else (first < second,):
                    expected[bits(first, in_first) + "|" + bits(second, not in_first)] = (
                        100 if first == second else 200
                    )
    assert len(expected) == 8 + 2 * 6
    assert set(counts) == set(expected)
    assert max(abs(counts[text] - expected[text]) for text in expected) < 60


def test_equal_vectors_have_the_one_anywhere():
    """1600 draws of 4 places in 2 vectors: 200 of each, standard deviation 13."""
    counts = collections.Counter(prompts(drawn(BitwiseOr(lengths="equal"), 4, 1600)))
    assert len(counts) == 8
    assert max(abs(count - 200) for count in counts.values()) < 60


def test_bits_at_one_place_share_a_number():
    structure = drawn(BitwiseOr(lengths="equal"), 2, 1).structure
    assert [part[0].tolist() for part in structure["coupled"]] == [[1, 2, 0, 1, 2], [1, 2]]
    assert [part[0].tolist() for part in structure["symbols"]] == [
        [True, True, False, True, True],
        [True, True],
    ]
    assert [part[0].tolist() for part in structure["grid"]] == [
        [[1, 1], [1, 2], [0, 0], [2, 1], [2, 2]],
        [[3, 1], [3, 2]],
    ]


def test_the_floor_of_tokens_is_all_but_the_one():
    chance_level = chance_levels(BitwiseOr(lengths="equal"), (8,), 1000)[0]
    assert abs(chance_level["token_accuracy"] - 7 / 8) < 0.03
    assert abs(chance_level["exact_match"] - 1 / 8) < 0.05
