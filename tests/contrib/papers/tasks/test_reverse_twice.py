import jax
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.reverse_twice import ReverseTwice

VARIANTS = [{}, dict(second="original", num_symbols=9, distinct=True)]


def oracle(task, prompt):
    second = prompt if task.second == "original" else prompt[::-1]
    return np.array([*reversed(prompt), task.num_symbols, *second])


def test_worked_examples():
    string = np.array([5, 6, 7])
    assert oracle(ReverseTwice(), string).tolist() == [7, 6, 5, 100, 7, 6, 5]
    assert oracle(ReverseTwice(second="original"), string).tolist() == [7, 6, 5, 100, 5, 6, 7]
    assert ReverseTwice().target_vocabulary.text([5, 100]) == "5 |"


@pytest.mark.parametrize(
    ("second", "places"),
    [("reversed", [2, 1, 0, -1, 2, 1, 0]), ("original", [2, 1, 0, -1, 0, 1, 2])],
)
def test_both_parts_come_from_the_prompt(second, places):
    e = jax.jit(ReverseTwice(second=second).sample, static_argnums=2)(jax.random.key(0), 3, 5)
    assert e.alignment.tolist() == places + [-1] * 4
    assert e.answer_mask.tolist() == [True] * 7 + [False] * 4


def test_the_papers_alphabet_and_bounds():
    task = ReverseTwice()
    assert (task.num_symbols, task.distinct, task.max_length) == (100, False, None)
    assert [task.target_bound(n) for n in (1, 20)] == [3, 41]


def test_one_symbol_is_refused():
    with pytest.raises(ValueError, match="two symbols or more, got num_symbols=1"):
        ReverseTwice(num_symbols=1)
