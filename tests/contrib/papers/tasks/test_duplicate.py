import jax
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.duplicate import Duplicate
from pe_lab.tasks.chance_levels import chance_levels

VARIANTS = [{}, dict(separator=True, times=3), dict(num_symbols=9, distinct=True, times=1)]


def oracle(task, prompt):
    separator = [task.num_symbols] if task.separator else []
    copy = [*separator, *prompt.tolist()]
    return np.array((copy * task.times)[len(separator) :])


def test_worked_examples():
    string = np.array([1, 0, 1])
    assert oracle(Duplicate(), string).tolist() == [1, 0, 1, 1, 0, 1]
    assert oracle(Duplicate(separator=True), string).tolist() == [1, 0, 1, 2, 1, 0, 1]
    assert oracle(Duplicate(times=3), string).tolist() == [1, 0, 1] * 3


@pytest.mark.parametrize(
    ("separator", "places"), [(False, [0, 1, 2] * 3), (True, [0, 1, 2, -1, 0, 1, 2, -1, 0, 1, 2])]
)
def test_each_copy_comes_from_the_whole_string_and_separators_from_nowhere(separator, places):
    e = jax.jit(Duplicate(times=3, separator=separator).sample, static_argnums=2)(
        jax.random.key(0), 3, 4
    )
    assert e.alignment.tolist() == places + [-1] * 3
    assert e.answer_mask.tolist() == [True] * len(places) + [False] * 3


def test_the_separator_is_a_symbol_of_the_target_alone():
    task = Duplicate(num_symbols=100, separator=True)
    assert task.target_vocabulary.text([99, 100]) == "99 |"
    assert task.vocabulary.num_symbols == 100
    assert Duplicate().target_vocabulary == Duplicate().vocabulary


def test_target_bounds():
    assert [Duplicate().target_bound(n) for n in (1, 5)] == [2, 10]
    assert Duplicate(times=3, separator=True).target_bound(4) == 14
    assert Duplicate(num_symbols=9, distinct=True).max_length == 9


def test_the_floor_of_bits_is_a_half():
    """4000 tokens, standard deviation 0.008; the guesses are learnt from as many."""
    chance_level = chance_levels(Duplicate(), (2,), 1000)[0]
    assert abs(chance_level["token_accuracy"] - 0.5) < 0.05


def test_no_copy_at_all_is_refused():
    with pytest.raises(ValueError, match="one copy or more, got times=0"):
        Duplicate(times=0)
    with pytest.raises(ValueError, match="two symbols or more, got num_symbols=1"):
        Duplicate(num_symbols=1)
