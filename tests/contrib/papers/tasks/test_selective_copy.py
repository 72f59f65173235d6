import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.selective_copy import SelectiveCopy
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import example

VARIANTS = [{}, dict(num_symbols=3, num_content=2)]


def oracle(task, prompt):
    return np.array([symbol for symbol in prompt.tolist() if symbol != task.num_symbols])


def test_a_worked_example():
    assert oracle(SelectiveCopy(num_symbols=4), np.array([4, 3, 4, 4, 0, 2])).tolist() == [3, 0, 2]


def test_the_papers_sequences_have_a_prompt_of_239():
    task = SelectiveCopy()
    assert task.prompt_bound(239) + 1 + task.target_bound(239) == 256
    assert task.vocabulary.num_symbols + 1 == 16  # and the copy token
    assert (task.min_length, task.max_length) == (16, None)


def test_each_blank_stands_before_a_symbol_drawn_for_it_alone():
    """Of 3 blanks, k are before the first of 2 symbols with probability 1, 3, 3, 1 in 8.

    1600 draws: standard deviations 13 and 19.
    """
    keys = jax.random.split(jax.random.key(0), 1600)
    prompts = np.asarray(
        jax.jit(
            jax.vmap(lambda k: SelectiveCopy(num_content=2).sample(k, jnp.asarray(5), 5).prompt)
        )(keys)
    )
    assert (prompts[:, -1] != 14).all()
    first = np.argmax(prompts != 14, axis=1)
    np.testing.assert_allclose(np.bincount(first, minlength=4), [200, 600, 600, 200], atol=65)
    content = np.bincount(
        prompts[prompts != 14], minlength=14
    )  # 3200 symbols, 229 each, standard deviation 15
    assert content.min() > 165
    assert content.max() < 295


@pytest.mark.slow
def test_the_shortest_prompt_is_all_content():
    e = example(SelectiveCopy(num_content=4), 4, 9)
    assert e.alignment.tolist() == [0, 1, 2, 3]
    assert e.prompt[:4].tolist() == e.target.tolist()


def test_coupled_positions_do_not_tell_the_blanks():
    e = example(SelectiveCopy(num_content=2), 4, 5)
    assert e.structure["coupled"][0].tolist() == [1, 2, 3, 4, 0]
    assert e.structure["coupled"][1].tolist() == [0, 0]


@pytest.mark.slow
def test_the_floor_is_the_share_of_one_symbol():
    """16000 tokens of 14 symbols: standard deviation 0.002.

    Guesses are learned from 1000 tokens of each place, and do a little worse or better.
    """
    assert abs(chance_levels(SelectiveCopy(), (24,), 1000)[0]["token_accuracy"] - 1 / 14) < 0.012


def test_nothing_to_copy_is_refused():
    with pytest.raises(ValueError, match="num_content=0"):
        SelectiveCopy(num_content=0)
    with pytest.raises(ValueError, match="num_symbols=1 "):
        SelectiveCopy(num_symbols=1)
