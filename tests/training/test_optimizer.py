import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from pe_lab.training.optimizer import optimizer, schedule
from pe_lab.training.optimizers.adamw import AdamW
from tests import tiny


def train(**changes):
    return dataclasses.replace(tiny.run().train, **changes)


PARAMS = {
    "blocks": {"kernel": jnp.ones((2, 3)), "bias": jnp.ones(3)},
    "input_encodings": {"table": jnp.ones((2, 3))},
    "attention_encodings": {"table": jnp.ones((2, 3))},
}
GRADIENTS = jax.tree.map(
    lambda p: 0.01 * (1 + jnp.arange(p.size, dtype=jnp.float32)).reshape(p.shape), PARAMS
)


def update(knobs, rate=0.1, decay=0.0, steps=1):
    chain = optimizer(AdamW(), knobs, jnp.asarray(rate), jnp.asarray(decay), knobs.steps)
    state, params = chain.init(PARAMS), PARAMS
    for _ in range(steps):
        updates, state = chain.update(GRADIENTS, state, params)
        params = optax.apply_updates(params, updates)
    return params


@pytest.mark.slow
def test_schedule_by_hand():
    rate = schedule(train(steps=110, warmup_steps=10, final_rate_fraction=0.2), stop_at=110)
    assert float(rate(0)) == pytest.approx(1 / 11)
    assert float(rate(10)) == pytest.approx(1)
    assert float(rate(60)) == pytest.approx(0.6)  # halfway down the cosine from 1 to 0.2
    assert float(rate(110)) == pytest.approx(0.2)


def test_a_constant_rate_stays_after_its_warm_up():
    rate = schedule(train(schedule="constant", steps=50, warmup_steps=4), stop_at=50)
    assert [round(float(rate(s)), 3) for s in (0, 2, 4, 49)] == [0.2, 0.6, 1, 1]
    assert float(schedule(train(schedule="constant", warmup_steps=0), stop_at=50)(0)) == 1


def test_a_linear_rate_falls_by_equal_steps():
    linear = train(schedule="linear", steps=110, warmup_steps=10, final_rate_fraction=0.2)
    rate = schedule(linear, stop_at=110)
    assert [float(rate(s)) for s in (10, 35, 60, 110)] == pytest.approx([1, 0.8, 0.6, 0.2])


UNTIL_SOLVED = train(
    criterion="solved", extra_steps=10, steps=110, warmup_steps=10, final_rate_fraction=0.2
)


@pytest.mark.parametrize("stop_at", [50, 110])
def test_with_a_criterion_the_decay_takes_the_last_extra_steps(stop_at):
    rate = schedule(UNTIL_SOLVED, stop_at)
    assert float(rate(0)) == pytest.approx(1 / 11)
    steps = (10, stop_at - 11, stop_at - 10, stop_at - 5, stop_at)
    assert [float(rate(s)) for s in steps] == pytest.approx([1, 1, 1, 0.6, 0.2])


def test_a_run_that_is_solved_goes_on_from_its_rate():
    """At step 40 it turns out that it stops at step 50, and not at step 110."""
    before, after = schedule(UNTIL_SOLVED, stop_at=110), schedule(UNTIL_SOLVED, stop_at=50)
    assert float(before(40)) == float(after(40)) == 1


@pytest.mark.parametrize("extra_steps", [0, 100, 1000])
def test_without_extra_steps_or_with_only_such_the_decay_takes_all_steps(extra_steps):
    fixed = schedule(dataclasses.replace(UNTIL_SOLVED, criterion=None), stop_at=110)
    rate = schedule(dataclasses.replace(UNTIL_SOLVED, extra_steps=extra_steps), stop_at=110)
    assert [float(rate(s)) for s in range(111)] == [float(fixed(s)) for s in range(111)]


@pytest.mark.slow
def test_without_clipping_and_groups_it_is_adamw():
    knobs = train(schedule="constant", warmup_steps=0, clip_norm=1e9, encoding_weight_decay=0.0)
    mine = update(knobs, 0.1, 0.05, steps=3)
    reference = optax.adamw(0.1, knobs.beta1, knobs.beta2, knobs.epsilon, weight_decay=0.05)
    params = {"kernel": PARAMS["blocks"]["kernel"]}
    state = reference.init(params)
    for _ in range(3):
        updates, state = reference.update({"kernel": GRADIENTS["blocks"]["kernel"]}, state, params)
        params = optax.apply_updates(params, updates)
    np.testing.assert_allclose(mine["blocks"]["kernel"], params["kernel"], rtol=1e-6)


@pytest.mark.slow
def test_weight_decay_reaches_the_backbones_matrices_alone():
    knobs = train(schedule="constant", warmup_steps=0)
    plain, decayed = update(knobs, decay=0.0), update(knobs, decay=0.5)
    moved = jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()) > 1e-6, plain, decayed)
    still = {"table": False}
    assert moved == {
        "blocks": {"kernel": True, "bias": False},
        "input_encodings": still,
        "attention_encodings": still,
    }


@pytest.mark.slow
def test_encodings_have_a_decay_and_a_rate_of_their_own():
    knobs = train(schedule="constant", warmup_steps=0)
    plain = update(knobs)
    decayed = update(dataclasses.replace(knobs, encoding_weight_decay=0.5))
    frozen = update(dataclasses.replace(knobs, encoding_rate_factor=0.0))
    for group in ("input_encodings", "attention_encodings"):
        np.testing.assert_allclose(
            decayed[group]["table"], plain[group]["table"] - 0.1 * 0.5, rtol=1e-5
        )
        np.testing.assert_array_equal(frozen[group]["table"], PARAMS[group]["table"])
    np.testing.assert_array_equal(decayed["blocks"]["kernel"], plain["blocks"]["kernel"])
    np.testing.assert_array_equal(frozen["blocks"]["kernel"], plain["blocks"]["kernel"])


def test_gradients_are_clipped_by_their_global_norm():
    """Adam's first step does not see the scale, its second does: clip one of two unequal steps."""
    knobs = train(schedule="constant", warmup_steps=0, epsilon=1.0)
    norm = float(optax.tree.norm(GRADIENTS))
    clipped = update(dataclasses.replace(knobs, clip_norm=norm / 2))
    scaled = jax.tree.map(lambda g: g / 2, GRADIENTS)
    unclipped = dataclasses.replace(knobs, clip_norm=1e9)
    chain = optimizer(AdamW(), unclipped, jnp.asarray(0.1), jnp.asarray(0.0), knobs.steps)
    updates, _ = chain.update(scaled, chain.init(PARAMS), PARAMS)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5),
        clipped,
        optax.apply_updates(PARAMS, updates),
    )
