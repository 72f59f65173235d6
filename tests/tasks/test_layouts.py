import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab import plugins
from pe_lab.tasks.copy import Copy
from pe_lab.tasks.layouts import LAYOUTS, Decoder

PAD, BEGIN, SEPARATOR, END = 8, 9, 10, 11


def laid_out(end_token, length=2, bound=3):
    task = Copy(num_symbols=8)
    example = task.sample(jax.random.key(0), jnp.asarray(length), bound)
    a, b = example.prompt[:2].tolist()
    return a, b, Decoder(end_token)(task, example)


def test_decoder_with_an_end_token():
    a, b, batch = laid_out(end_token=True)
    assert batch.tokens.tolist() == [BEGIN, a, b, SEPARATOR, a, b, PAD, PAD]
    assert batch.labels.tolist() == [PAD, PAD, PAD, a, b, END, PAD, PAD]
    assert batch.mask.astype(int).tolist() == [1, 1, 1, 1, 1, 1, 0, 0]
    assert batch.target.astype(int).tolist() == [0, 0, 0, 1, 1, 1, 0, 0]
    assert batch.answer.astype(int).tolist() == [0, 0, 0, 1, 1, 0, 0, 0]


def test_decoder_without_an_end_token():
    a, b, batch = laid_out(end_token=False)
    assert batch.tokens.tolist() == [BEGIN, a, b, SEPARATOR, a, PAD, PAD]
    assert batch.labels.tolist() == [PAD, PAD, PAD, a, b, PAD, PAD]
    assert batch.mask.astype(int).tolist() == [1, 1, 1, 1, 1, 0, 0]
    assert batch.target.tolist() == batch.answer.tolist() == [False, False, False, True, True, False, False]


@pytest.mark.parametrize("end_token", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", plugins.names("tasks"))
def test_every_layout_takes_every_task_and_says_its_length(name, layout, end_token):
    task = plugins.build("tasks", plugins.resolve("tasks", {"name": name}))
    made = LAYOUTS[layout](end_token)
    for length in (1, 4):
        batch = made(task, task.sample(jax.random.key(1), jnp.asarray(length), 4))
        assert {leaf.shape for leaf in jax.tree.leaves(batch)} == {(made.num_tokens(task, 4),)}
        assert int(batch.mask.sum()) == made.num_tokens(task, length)
        assert int(batch.target.sum()) == task.target_bound(length) + end_token
        assert (np.asarray(batch.labels)[~np.asarray(batch.target)] == task.vocabulary.pad).all()
