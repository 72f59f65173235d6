"""A step of training updates each member independently of the others in its group."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.training import batches, step
from pe_lab.training.build import build_setup
from pe_lab.training.state import initial_state
from pe_lab.training.step import train_chunk
from tests import tiny
from tests.marks import full
from tests.tiny import members
from tests.training.trained_steps import RUN, batch_of


@functools.cache
def programs(run):
    """Initialization and training, which compile once for each number of members."""
    setup = build_setup(run)
    init = functools.partial(initial_state, setup)
    chunk = functools.partial(train_chunk, setup)
    return jax.jit(init), jax.jit(chunk)


def trained(run, which, steps=6):
    init, chunk = programs(run)
    return chunk(init(which), which, jnp.asarray(steps))


def of(tree, r):
    return jax.tree.map(lambda leaf: np.asarray(leaf[r]), tree)


@pytest.mark.slow
def test_under_map_a_member_is_bit_equal_in_any_company():
    mine = {"seed": 3, "data_seed": 4}
    state, losses = trained(RUN, members(mine))
    with_others, losses_there = trained(RUN, members({"seed": 1}, mine, {"learning_rate": 0.1}))
    jax.tree.map(np.testing.assert_array_equal, of(state, 0), of(with_others, 1))
    np.testing.assert_array_equal(losses[0], losses_there[1])


@pytest.mark.slow
def test_vmap_computes_what_map_does():
    two = members({"seed": 1}, {"seed": 2})
    vmapped = dataclasses.replace(RUN, execution=dataclasses.replace(RUN.execution, members="vmap"))
    np.testing.assert_allclose(trained(RUN, two)[1], trained(vmapped, two)[1], atol=1e-4)


@pytest.mark.slow
def test_each_member_scalar_matters():
    changes = ({}, {"seed": 1}, {"data_seed": 1}, {"learning_rate": 0.05}, {"weight_decay": 5.0})
    base, *others = (trained(RUN, members(c))[1][0] for c in changes)
    for losses in others:
        assert np.abs(losses - base).max() > 1e-5


@pytest.mark.slow
def test_chunks_of_any_size_give_the_same_bits():
    made, which = build_setup(RUN), members({})
    init, chunk = (jax.jit(functools.partial(f, made)) for f in (initial_state, train_chunk))
    whole, _ = chunk(init(which), which, jnp.asarray(7))
    parts, _ = chunk(init(which), which, jnp.asarray(2))
    parts, losses = chunk(parts, which, jnp.asarray(5))
    jax.tree.map(np.testing.assert_array_equal, whole, parts)
    assert np.flatnonzero(np.asarray(losses[0])).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("layout", ["decoder", full("encoder"), full("encoder_decoder")])
def test_the_loss_falls(layout):
    sizes = {} if layout == "decoder" else {"model__num_layers": 1}
    _, losses = trained(
        tiny.run("rope", layout__name=layout, execution__chunk_steps=80, **sizes), members({}), 80
    )
    assert losses[0, -1] < 0.8 * losses[0, 0]


@pytest.mark.slow
def test_computing_inner_values_again_changes_no_loss():
    again = dataclasses.replace(RUN, execution=dataclasses.replace(RUN.execution, remat=True))
    np.testing.assert_allclose(
        trained(again, members({}))[1], trained(RUN, members({}))[1], rtol=1e-4
    )


@pytest.mark.slow
def test_in_bfloat16_it_trains_and_its_parameters_stay_float32():
    run = tiny.run("rope", "t5_bias", model__compute_dtype="bfloat16", execution__chunk_steps=80)
    state, losses = trained(run, members({}), 80)
    assert losses[0, -1] < 0.8 * losses[0, 0]
    assert {leaf.dtype for leaf in jax.tree.leaves(state.params)} == {jnp.dtype("float32")}


@pytest.mark.slow
def test_each_step_draws_its_loops_uniformly():
    """3,000 draws of 2, 3 and 4: 1,000 of each, with a standard deviation of 26."""
    setup = build_setup(tiny.run(model__num_loops=4, train__min_loops=2))
    key = jax.random.key(0)
    draw = functools.partial(batches.draw_num_loops, setup, key)
    drawn = np.asarray(jax.vmap(draw)(jnp.arange(3000)))
    counts = np.bincount(drawn, minlength=5)
    assert counts.tolist()[:2] == [0, 0]
    assert counts[2:].sum() == 3000
    assert np.abs(counts[2:] - 1000).max() < 130
    assert step.training_batch(setup, key, jnp.asarray(7)).num_loops == drawn[7]


def test_without_drawn_loops_a_batch_has_none():
    setup = build_setup(tiny.run(model__num_loops=4))
    assert batches.draw_num_loops(setup, jax.random.key(0), jnp.asarray(7)) is None


@pytest.mark.slow
def test_vmapped_members_draw_their_own_numbers_of_loops():
    changes = {"model__num_loops": 3, "model__loop_injection": "linear", "train__min_loops": 1}
    sizes = {"model__num_layers": 1, "execution__chunk_steps": 8}
    two = members({"data_seed": 1}, {"data_seed": 2})
    mapped, vmapped = (
        trained(tiny.run("rope", execution__members=how, **changes, **sizes), two)[1]
        for how in ("map", "vmap")
    )
    np.testing.assert_allclose(mapped, vmapped, atol=1e-4)
    assert np.isfinite(mapped[:, :6]).all()


@pytest.mark.slow
def test_a_step_of_data_is_counted_from_the_first_step():
    """A run that starts where another ended draws what that one would have drawn next."""
    made, later = build_setup(RUN), members({"first_step": 3})
    _, losses = trained(RUN, members({}))
    before = jax.jit(functools.partial(initial_state, made))(members({}))
    before, _ = jax.jit(functools.partial(train_chunk, made))(before, members({}), jnp.asarray(3))
    _, after = jax.jit(functools.partial(train_chunk, made))(
        dataclasses.replace(before, step=jnp.asarray([0])), later, jnp.asarray(3)
    )
    np.testing.assert_array_equal(after[0, :3], losses[0, 3:6])


@pytest.mark.slow
def test_a_member_that_diverges_stops_there_and_its_group_goes_on():
    state, losses = trained(RUN, members({}, {"learning_rate": np.nan}, {}))
    assert state.diverged_at.tolist() == [
        -1,
        1,
        -1,
    ]  # the first step's update spoils the second's loss
    assert np.isfinite(np.asarray(losses[0])).all()
    sound, _ = trained(RUN, members({}, {}, {}))
    jax.tree.map(np.testing.assert_array_equal, of(sound, 0), of(state, 0))
    jax.tree.map(np.testing.assert_array_equal, of(sound, 2), of(state, 2))


@pytest.mark.slow
def test_the_loss_is_the_mean_cross_entropy_of_target_tokens():
    group = members({}, {"learning_rate": np.nan}, {})  # the programs of the test above
    _, losses = trained(RUN, group)
    setup, member = build_setup(RUN), of(group, 0)
    params = jax.tree.map(lambda leaf: leaf[0], programs(RUN)[0](group).params)
    batch = step.training_batch(setup, jax.random.key(member.data_seed), jnp.asarray(0))
    logits = np.asarray(setup.model(params)(batch.streams), np.float64)
    log_sums = np.log(np.exp(logits).sum(axis=-1))
    of_labels = np.take_along_axis(logits, np.asarray(batch.labels)[..., None], axis=-1)
    examples, _ = batch_of(RUN, member.data_seed, 0)
    cross_entropy = (log_sums - of_labels[..., 0])[np.asarray(examples.target)]
    np.testing.assert_allclose(losses[0, 0], cross_entropy.mean(), rtol=1e-5)
