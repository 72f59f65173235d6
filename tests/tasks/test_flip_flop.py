import functools

import numpy as np
import pytest

from pe_lab.tasks.flip_flop import _READ, _WRITE, FlipFlop
from tests.tasks.drawing import drawn

VARIANTS = [{}, dict(p_ignore=0.1), dict(p_ignore=1.0)]
CHANCE_LEVELS = [
    ({}, 6, "token_accuracy", 1 / 2, 1),  # at least one read
]
REFUSALS = [
    (dict(p_ignore=2.0), "probability, got 2"),
]


def oracle(task, prompt, given):
    memory = -1
    sequence = [*prompt.tolist(), *given.tolist()]
    for i in range(0, len(sequence), 2):
        if sequence[i] == _WRITE:
            memory = sequence[i + 1]
        elif sequence[i] == _READ:
            sequence[i + 1] = memory
    return np.array(sequence[2:])


@functools.cache
def many(p_ignore):
    """400 examples of 22 instructions."""
    return drawn(FlipFlop(p_ignore=p_ignore), 22, 400)


@pytest.mark.slow
def test_the_first_instruction_writes_and_the_last_one_reads():
    e = many(0.8)
    assert (e.prompt[:, 0] == 2).all()
    assert (e.target[:, -2] == 3).all()
    assert e.asked_mask[:, -1].all()


@pytest.mark.parametrize("p_ignore", [0.1, 0.8])
def test_the_others_are_drawn_independently(p_ignore):
    """8000 instructions: a standard deviation of their shares is at most 0.006."""
    kinds = many(p_ignore).target[:, :-2:2]
    rest = (1 - p_ignore) / 2
    np.testing.assert_allclose(
        [(kinds == k).mean() for k in (2, 3, 4)], [rest, rest, p_ignore], atol=0.028
    )


def test_bits_that_are_not_read_are_uniform():
    """About 6400 ignored bits, standard deviation 0.006."""
    e = many(0.8)
    ignored = e.target[:, 1::2][e.target[:, ::2] == 4]
    assert abs(ignored.mean() - 0.5) < 0.03


def test_what_is_asked_is_what_follows_a_read():
    e = many(0.1)
    np.testing.assert_array_equal(e.asked_mask[:, 1::2], e.target[:, ::2] == 3)
    assert not e.asked_mask[:, ::2].any()
    assert (e.alignment == -1).all()


def test_bounds():
    task = FlipFlop()
    assert (task.min_length, task.prompt_bound(256) + task.target_bound(256)) == (2, 512)
    assert task.vocabulary.text([2, 1, 4, 0, 3]) == "w 1 i 0 r"
