import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.tasks.parity import Parity
from tests.tasks.drawing import drawn

VARIANTS = [{}, dict(answer="every", ones="uniform"), dict(answer="scratchpad")]


def oracle(task, prompt):
    parities = [sum(prompt[: i + 1]) % 2 for i in range(len(prompt))]
    return np.array(parities[-1:] if task.answer == "last" else parities)


def test_worked_examples():
    assert oracle(Parity(), np.array([1, 0, 1, 0, 1])).tolist() == [1]
    assert oracle(Parity(), np.array([1, 1])).tolist() == [0]
    assert oracle(Parity(answer="every"), np.array([1, 1, 0, 1])).tolist() == [1, 0, 0, 1]


def test_one_answer_whatever_the_length():
    assert [Parity().target_bound(n) for n in (1, 40)] == [1, 1]
    assert [Parity(answer="every").target_bound(n) for n in (1, 40)] == [1, 40]
    assert Parity().length_name == "bits"


def test_the_defaults_draw_the_bits_of_the_key_itself():
    key = jax.random.key(3)
    assert (
        Parity().sample(key, jnp.asarray(9), 9).prompt.tolist()
        == jax.random.randint(key, (9,), 0, 2).tolist()
    )


def test_the_number_of_ones_is_uniform_where_asked():
    """1200 draws: 200 of each number, standard deviation 13; 600 ones at each place, 17."""
    bits = drawn(Parity(ones="uniform"), 5, 1200).prompt
    assert np.abs(np.bincount(bits.sum(axis=1), minlength=6) - 200).max() < 60
    assert np.abs(bits.sum(axis=0) - 600).max() < 80


@pytest.mark.slow
def test_of_a_scratchpad_the_last_parity_alone_is_the_answer():
    every, pad = (
        Parity(answer=a).sample(jax.random.key(1), jnp.asarray(4), 6)
        for a in ("every", "scratchpad")
    )
    assert every.target.tolist() == pad.target.tolist()
    assert every.answer_mask.tolist() == [True] * 4 + [False] * 2
    assert pad.answer_mask.tolist() == [False] * 3 + [True] + [False] * 2


@pytest.mark.slow
def test_a_parity_shares_its_number_with_the_bit_that_it_waits_for():
    bits, parities = (
        Parity(answer="scratchpad")
        .sample(jax.random.key(1), jnp.asarray(3), 5)
        .structure["coupled"]
    )
    assert (bits.tolist(), parities.tolist()) == ([0, 1, 2, 0, 0], [1, 2, 3, 0, 0])
    assert not Parity().sample(jax.random.key(1), jnp.asarray(3), 5).structure
