import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.rotate import Rotate
from tests.tasks.drawing import example

VARIANTS = [{}, dict(by=4, drawn=True), dict(num_symbols=9, distinct=True, by=3)]


def oracle(task, prompt):
    symbols = prompt.tolist()
    step = symbols.pop(0) - task.num_symbols + 1 if task.drawn else task.by
    return np.roll(symbols, -step)


def test_worked_examples():
    assert oracle(Rotate(), np.array([0, 1, 1])).tolist() == [1, 1, 0]
    assert oracle(Rotate(by=5), np.array([0, 1, 1])).tolist() == [1, 0, 1]
    assert oracle(Rotate(by=3, drawn=True), np.array([3, 0, 1, 1, 1])).tolist() == [1, 1, 0, 1]


def test_a_step_longer_than_the_string_begins_anew():
    e = example(Rotate(by=7), 3, 4)
    assert e.alignment.tolist() == [1, 2, 0, -1]


@pytest.mark.slow
def test_every_step_is_equally_likely_and_told():
    """4 steps, 1200 draws: 300 each expected, standard deviation 15."""
    keys = jax.random.split(jax.random.key(0), 1200)
    e = jax.jit(jax.vmap(lambda k: Rotate(by=4, drawn=True).sample(k, jnp.asarray(5), 5)))(keys)
    told = np.asarray(e.prompt[:, 0]) - 2
    counts = np.bincount(told, minlength=4)
    assert counts.min() > 225
    assert counts.max() < 375
    np.testing.assert_array_equal(np.asarray(e.alignment[:, 0]), 1 + (told + 1) % 5)


@pytest.mark.slow
def test_a_drawn_step_is_not_told_by_coupled_positions():
    e = example(Rotate(by=4, drawn=True), 3, 5)
    assert e.structure["coupled"][0].tolist() == [1, 2, 3, 4, 0, 0]
    assert e.structure["coupled"][1].tolist() == [0] * 5
    assert example(Rotate(), 3, 5).structure == {}


def test_names_and_bounds():
    task = Rotate(by=3, drawn=True)
    assert task.vocabulary.text([0, 1, 2, 4]) == "0 1 >1 >3"
    assert (task.prompt_bound(5), Rotate(by=3).prompt_bound(5), task.target_bound(5)) == (6, 5, 5)


def test_no_step_is_refused():
    with pytest.raises(ValueError, match="1 or more, got by=0"):
        Rotate(by=0)
    with pytest.raises(ValueError, match="got num_symbols=1"):
        Rotate(num_symbols=1)
