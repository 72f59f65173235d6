"""A step draws its batch from seeds and from the data of its task."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.training.batches import add_positions, reduce_loss
from pe_lab.training.build import build_setup
from tests import tiny
from tests.training.trained_steps import RUN, batch_of


@pytest.mark.slow
def test_same_data_seed_same_batches_for_every_encoding():
    one, other = (batch_of(tiny.run(e), 5, 2)[0] for e in ("nope", "learned"))
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_batches_differ_by_step_and_by_seed():
    base = batch_of(RUN, 0, 0)[0].tokens
    assert (base != batch_of(RUN, 0, 1)[0].tokens).any()
    assert (base != batch_of(RUN, 1, 0)[0].tokens).any()


@pytest.mark.slow
def test_a_finite_training_set_comes_round_with_new_positions():
    finite = tiny.run(train__num_examples=16)  # two batches of 8
    first, again = batch_of(finite, 0, 0), batch_of(finite, 0, 2)
    jax.tree.map(np.testing.assert_array_equal, first[0], again[0])
    assert (jax.random.key_data(first[1]) != jax.random.key_data(again[1])).any()
    assert (first[0].tokens != batch_of(finite, 0, 1)[0].tokens).any()


@pytest.mark.slow
def test_lengths_are_uniform_for_each_example_or_one_a_step():
    each = np.concatenate(
        [np.asarray(batch_of(RUN, 0, s)[0].answer.sum(axis=1)) for s in range(60)]
    )
    counts = np.bincount(each, minlength=4)
    assert counts[0] == 0
    assert counts[1:].min() > 110  # 160 expected, standard deviation 10
    per_step = tiny.run(train__length_per="step")
    shared = [
        set(np.asarray(batch_of(per_step, 0, s)[0].answer.sum(axis=1)).tolist()) for s in range(20)
    ]
    assert {len(s) for s in shared} == {1}
    assert set().union(*shared) == {1, 2, 3}


def test_loss_reductions_by_hand():
    losses = jnp.asarray([[1.0, 3.0, 9.0], [5.0, 9.0, 9.0]])
    counted = jnp.asarray([[True, True, False], [True, False, False]])
    assert float(reduce_loss(losses, counted, "token")) == 3
    assert float(reduce_loss(losses, counted, "example")) == 3.5


@pytest.mark.slow
def test_a_source_draws_positions_of_its_own():
    scheme = dict(name="shifted", max_shift=50)
    run = tiny.run("sinusoidal", positions=scheme, layout__name="encoder_decoder")
    examples, keys = batch_of(run, 0, 0)
    _, streams = add_positions(build_setup(run), examples, keys, train=True)
    first = [streams[stack].positions[0][..., 0] for stack in ("encoder", "decoder")]
    assert (first[0] != first[1]).any()


@pytest.mark.slow
def test_what_examples_are_drawn_from_has_a_digest():
    """Another limit moves commands from one split to another; a task that draws from keys alone has
    none.
    """
    scan, other = (
        tiny.run(task={"name": "scan", "max_train": n}, train__max_length=3, evaluate__lengths=(3,))
        for n in (22, 25)
    )
    digest = build_setup(scan).data_digest
    assert digest == build_setup(scan).data_digest != build_setup(other).data_digest
    assert build_setup(tiny.run()).data_digest is None
