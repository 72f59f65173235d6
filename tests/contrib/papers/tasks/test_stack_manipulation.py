import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.stack_manipulation import _END, StackManipulation, _final_stack
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn

VARIANTS = [{}, dict(padded=False)]
END, POP, PUSH0, PUSH1 = 2, 3, 4, 5


def oracle(task, prompt):
    stack: list[int] = []
    for word in task.vocabulary.text(prompt.tolist()).split():
        if word != "pop":
            stack.append(int(word[-1]))
        elif stack:
            stack.pop()
    zeros = [0] * (len(prompt) - len(stack)) if task.padded else []
    return np.array([*stack[::-1], _END, *zeros])


def test_worked_examples():
    stack = StackManipulation()
    assert oracle(stack, np.array([0, 1, 1, 0, PUSH1, POP, POP])).tolist() == [
        1,
        1,
        0,
        END,
        0,
        0,
        0,
        0,
    ]
    assert oracle(stack, np.array([1, POP, POP, PUSH0, PUSH1])).tolist() == [1, 0, END, 0, 0, 0]
    assert oracle(StackManipulation(padded=False), np.array([1, POP])).tolist() == [END]


@pytest.mark.slow
def test_popping_nothing_is_forgotten():
    """After two pops too many, the stack has the two pushed symbols; each source is its push."""
    prompt = jnp.array([1, POP, POP, POP, PUSH0, PUSH1, 0])
    target, source, height = _final_stack(prompt, jnp.arange(7) < 6, jnp.arange(7) < 1)
    assert (target.tolist(), source.tolist(), int(height)) == (
        [1, 0, END, 0, 0, 0, 0, 0],
        [5, 4, 7, 7, 7, 7, 7, 7],
        2,
    )


@pytest.mark.slow
def test_heights_and_actions_are_uniform():
    """At length 5, 1200 draws: 300 of each of four heights, standard deviation 15.

    Of 3000 actions 1000 of each of three, standard deviation 26.
    """
    prompt = drawn(StackManipulation(), 5, 1200).prompt
    assert np.abs(np.bincount((prompt < 2).sum(axis=1), minlength=5)[1:] - 300).max() < 68
    actions = np.bincount(prompt[prompt > 1])[POP:]
    assert np.abs(actions - actions.mean()).max() < 120
    ones, zeros = (
        (prompt == 1).sum(),
        (prompt == 0).sum(),
    )  # half of 3000 each, standard deviation 27
    assert abs(ones - zeros) < 250


@pytest.mark.slow
def test_one_symbol_is_one_bit():
    e = drawn(StackManipulation(), 1, 20)
    assert sorted(np.unique(e.prompt)) == [0, 1]
    assert (e.target == np.hstack([e.prompt, np.full((20, 1), END)])).all()


@pytest.mark.slow
def test_the_answer_ends_at_the_end_and_zeros_follow():
    e = drawn(StackManipulation(), 6, 50)
    assert e.target_mask.all()
    end = e.target.argmax(axis=1)
    assert (e.answer_mask.sum(axis=1) == end + 1).all()
    assert (e.target[~e.answer_mask] == 0).all()
    short = drawn(StackManipulation(padded=False), 6, 50)
    assert (short.target_mask == e.answer_mask).all()


@pytest.mark.slow
def test_bits_of_the_first_stack_are_aligned_and_pushed_ones_are_not():
    e = drawn(StackManipulation(), 6, 50)
    bit = e.answer_mask & (e.target < 2)
    kept = (e.alignment >= 0).sum(axis=1)
    assert ((e.alignment >= 0) <= bit).all()
    assert 0 < kept.sum() < bit.sum()
    assert (kept <= (e.prompt < 2).sum(axis=1)).all()


@pytest.mark.slow
def test_its_floor_is_a_half():
    """1000 examples of about 50 symbols, which are not independent."""
    assert abs(chance_levels(StackManipulation(), (200,), 1000)[0]["token_accuracy"] - 0.5) < 0.03
