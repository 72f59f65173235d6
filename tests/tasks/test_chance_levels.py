"""Chance levels by hand: the most frequent answers of the first half are scored on the second."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.tasks.base import Example, Task, Vocabulary
from pe_lab.tasks.chance_levels import chance_levels, chance_scores
from pe_lab.tasks.copy import Copy


def floor(seen, unseen, answer=None):
    target = np.array([*seen, *unseen], np.int32)
    counted = (
        np.ones((len(unseen), target.shape[1]), bool) if answer is None else np.array(answer, bool)
    )
    return chance_scores(target, counted)


def test_each_place_has_its_most_frequent_symbol_and_the_whole_its_most_frequent_whole():
    """Place by place 1 2 1 is said, which is no target; as a whole 1 3 1, which is there twice."""
    seen = [[1, 3, 1], [1, 3, 1], [4, 2, 1], [5, 2, 7], [1, 2, 6]]
    found = floor(seen, [[1, 3, 1], [1, 2, 9], [0, 0, 0], [0, 2, 0], [1, 3, 2]])
    assert found == {"token_accuracy": (2 + 2 + 0 + 1 + 1) / 15, "exact_match": 1 / 5}


@pytest.mark.parametrize("order", [1, -1])
def test_of_equally_frequent_ones_the_least_is_said_whatever_their_order(order):
    """256 needs a second byte, and -1 stands before 0."""
    seen = [[256, 1], [7, 2], [7, -1], [7, 0]][::order]
    assert [floor(seen, [unseen] * 4)["exact_match"] for unseen in ([7, -1], [7, 0], [256, 1])] == [
        1,
        0,
        0,
    ]
    assert floor([[256, 1], [7, 2], [256, 2], [7, 1]][::order], [[7, 1]] * 4) == {
        "token_accuracy": 1,
        "exact_match": 1,
    }


def test_what_is_given_is_not_scored_and_what_is_no_answer_counts_for_the_whole_alone():
    seen = [[-1, 5], [-1, 5], [-1, 5]]
    assert floor(seen, [[-1, 5], [-1, 4], [-1, 5]], [[0, 1]] * 3) == {
        "token_accuracy": 2 / 3,
        "exact_match": 2 / 3,
    }
    assert floor([[2, 5]] * 3, [[2, 5], [3, 5], [2, 4]], [[0, 1]] * 3) == {
        "token_accuracy": 2 / 3,
        "exact_match": 1 / 3,
    }


@dataclasses.dataclass(frozen=True)
class Constant(Task):
    """Its target is its length, so often."""

    @property
    def vocabulary(self):
        return Vocabulary(600)

    def sample(self, key, length, bound, data=None):
        mask = jnp.arange(bound) < length
        symbols = jnp.where(mask, length + data, 0)
        return Example(symbols, mask, symbols, mask, mask, jnp.full(bound, -1))


def test_lengths_have_chance_levels_of_their_own_and_the_data_is_that_of_the_split():
    assert chance_levels(Constant(), (7, 500, 3), 5, jnp.asarray(2)) == [
        {"length": n, "token_accuracy": 1.0, "exact_match": 1.0, "count": 5} for n in (7, 500, 3)
    ]


@pytest.mark.slow
def test_a_floor_is_measured_on_examples_of_its_length_whatever_the_others():
    alone, among = (
        chance_levels(Copy(num_symbols=6), (3,), 200),
        chance_levels(Copy(num_symbols=6), (3, 5, 6), 200),
    )
    assert among[0] == alone[0]
    assert among[1]["exact_match"] < alone[0]["exact_match"] + 0.05


def test_the_floor_of_distinct_symbols_is_one_in_as_many():
    """Six symbols at each of 2000 * 3 places: a sixth, standard deviation below 0.005."""
    (found,) = chance_levels(Copy(num_symbols=6), (3,), 2000)
    assert abs(found["token_accuracy"] - 1 / 6) < 0.025
