"""Muon: its update in NumPy, its parameters, and the runs that it trains."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from pe_lab.contrib.optimizers.training.optimizers.muon import Muon
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import RunGroup, from_record
from pe_lab.training.build import build_setup
from pe_lab.training.loop import Preempted, Training, train_run_group
from pe_lab.training.optimizer import optimizer
from pe_lab.training.optimizers.adamw import AdamW
from pe_lab.training.state import initial_state, members_of, of_member
from pe_lab.training.step import train_chunk
from tests import tiny
from tests.models import assert_equal

MUON = dict(name="muon")
RATE, STEPS = 0.1, 3
TRAIN = dataclasses.replace(
    tiny.run().train, schedule="constant", warmup_steps=0, clip_norm=1e9, steps=STEPS
)


def orthogonalized(x):
    """Newton-Schulz of https://github.com/KellerJordan/Muon in float64: five quintic steps."""
    a, b, c = 3.4445, -4.7750, 2.0315
    transposed = x.shape[0] > x.shape[1]
    x = x.T if transposed else x
    x = x / np.linalg.norm(x)
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if transposed else x


def reference(gradients, weight, scale, momentum=0.95, nesterov=True):
    """Steps of Muon on one matrix. Both means are corrected for their start, as in optax."""
    mean = np.zeros_like(weight)
    for step, gradient in enumerate(gradients, start=1):
        mean = momentum * mean + (1 - momentum) * gradient
        direction = mean / (1 - momentum**step)
        if nesterov:
            ahead = mean / (1 - momentum ** (step + 1))
            newest = gradient / (1 - momentum**step)
            direction = momentum * ahead + (1 - momentum) * newest
        weight = weight - RATE * scale * orthogonalized(direction)
    return weight


def trained(method, params, gradients, decay=0.0):
    chain = optimizer(method, TRAIN, jnp.asarray(RATE), jnp.asarray(decay), STEPS)
    state = chain.init(params)
    for gradient in gradients:
        updates, state = chain.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
    return params


@pytest.mark.parametrize(
    ("shape", "arguments", "scale"),
    [
        ((6, 4), dict(), 0.2 * 6**0.5),
        ((4, 6), dict(nesterov=False), 0.2 * 6**0.5),
        ((4, 6), dict(consistent_rms=None, momentum=0.8), 1.5**0.5),  # outputs / inputs
        ((6, 4), dict(consistent_rms=None), 1.0),
    ],
)
def test_updates_are_those_of_numpy_in_float64(shape, arguments, scale):
    random = np.random.default_rng(0)
    weight, *gradients = random.normal(size=(1 + STEPS, *shape))
    steps = [{"kernel": jnp.asarray(g, jnp.float32)} for g in gradients]
    result = trained(Muon(**arguments), {"kernel": jnp.asarray(weight, jnp.float32)}, steps)
    settings = {k: v for k, v in arguments.items() if k != "consistent_rms"}
    expected = reference(gradients, weight, scale, **settings)
    np.testing.assert_allclose(result["kernel"], expected, atol=2e-6)


def test_all_other_parameters_are_those_of_adamw():
    params = {
        "blocks": {"kernel": jnp.ones((3, 3)), "bias": jnp.ones(3)},
        "attention_encodings": {"kernel": jnp.ones((3, 3))},
        "embedding": {"embedding": jnp.ones((5, 3))},
        "output": {"kernel": jnp.ones((3, 5))},
    }
    leaves, structure = jax.tree.flatten(params)
    random = np.random.default_rng(1)
    steps = []
    for _ in range(STEPS):
        values = [jnp.asarray(random.normal(size=leaf.shape), jnp.float32) for leaf in leaves]
        steps.append(jax.tree.unflatten(structure, values))
    result, slow = (trained(Muon(adamw_rate_factor=f), params, steps) for f in (1.0, 0.5))
    adamw = trained(AdamW(), params, steps)
    kernels = [tree["blocks"].pop("kernel") for tree in (result, slow, adamw)]
    assert_equal(result, adamw)
    assert np.abs(kernels[0] - kernels[2]).max() > 0.01
    np.testing.assert_array_equal(kernels[0], kernels[1])
    np.testing.assert_allclose(
        1 - slow["output"]["kernel"], 0.5 * (1 - adamw["output"]["kernel"]), rtol=1e-5
    )


def test_the_rate_factor_of_adamw_scales_weight_decay_too():
    """With gradients of zero, as AdamW at that rate: 1 - rate * factor * decay a step."""
    params = {"blocks": {"kernel": jnp.ones((3, 3))}, "output": {"kernel": jnp.ones((3, 5))}}
    zeros = jax.tree.map(jnp.zeros_like, params)
    result = trained(Muon(adamw_rate_factor=0.02), params, [zeros], decay=0.1)
    lost = {name: np.unique(1 - part["kernel"]).tolist() for name, part in result.items()}
    assert lost["output"] == [pytest.approx(RATE * 0.02 * 0.1, rel=1e-3)]
    assert lost["blocks"] == [pytest.approx(RATE * 0.1, rel=1e-3)]


def muon_names(*encodings, **changes):
    """The last parts of the names of the parameters in the first block with a momentum of Muon."""
    setup = build_setup(tiny.run(*encodings, train__optimizer=MUON, **changes))
    shapes = jax.eval_shape(functools.partial(initial_state, setup), tiny.members({}))
    names = set()
    for path, _ in jax.tree_util.tree_leaves_with_path(shapes.optimizer):
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        if ".mu." in name and "inner_states.muon" in name:
            names.add(name.partition(".mu.")[2])
    return {name.partition("blocks.0.")[2] or name for name in names if "blocks.1." not in name}


@pytest.mark.parametrize(
    ("encodings", "changes", "expected"),
    [
        (["learned", "t5_bias", "cope"], {}, set()),
        (["rope"], dict(model__output_gate="head"), {"attention.gate.projection.kernel"}),
        (["rope"], dict(model__activation="swiglu"), {"feedforward.gate.kernel"}),
        (["rope"], dict(model__convolution_sites=("A", "D")), set()),
        (["rope"], dict(model__tied_output=True), set()),
        (
            ["rope"],
            dict(model__loop_injection="linear", model__num_loops=2),
            {"decoder.loop_inputs.linear.kernel"},
        ),
    ],
)
def test_it_takes_the_matrices_of_linear_maps_between_embedding_and_output(
    encodings, changes, expected
):
    attention = {f"attention.{name}.kernel" for name in ("query", "key", "value", "out")}
    feedforward = {f"feedforward.{name}.kernel" for name in ("into", "out")}
    assert muon_names(*encodings, **changes) == attention | feedforward | expected


def test_runs_of_adamw_keep_their_ids_and_those_of_muon_have_their_own():
    adamw, muon = tiny.run("rope"), tiny.run("rope", train__optimizer=MUON)
    other = tiny.run("rope", train__optimizer=dict(name="muon", momentum=0.9))
    assert "optimizer" not in adamw.identity()["train"]
    assert not [name for name in adamw.sources() if "optimizers" in name]
    assert len({adamw.run_id, muon.run_id, other.run_id}) == 3
    assert adamw.run_id == tiny.run("rope", train__optimizer=dict(name="adamw")).run_id
    assert muon.sources()["training.optimizers/muon"] is not None
    assert from_record(muon.to_dict()) == muon


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (dict(name="moun"), "has no 'moun'. Did you mean 'muon'"),
        (dict(name="muon", momentum=1.0), r"^muon's momentum must be in \[0, 1\), got 1.0\.$"),
        (dict(name="muon", iterations=0), "^muon's iterations must be at least 1, got 0"),
        (
            dict(name="muon", consistent_rms=0.0),
            r"consistent_rms must be None or above 0, got 0\.0",
        ),
        (
            dict(name="muon", consistent_rms=-0.2),
            "consistent_rms must be None or above 0, got -0.2",
        ),
        (dict(name="muon", adamw_rate_factor=-1.0), "adamw_rate_factor must be at least 0, got -1"),
        (dict(name="adamw", beta=0.5), "^adamw has no 'beta'"),
        ("muon", r"^One of the training\.optimizers is given as dict\(name="),
    ],
)
def test_other_specs_are_refused(spec, sentence):
    with pytest.raises(UserError, match=sentence):
        build_setup(tiny.run(train__optimizer=spec))


RATES = (2e-3, 1e-2)


def states(*rates, **changes):
    """The states of a run group with these rates after four steps."""
    run = tiny.run("rope", "learned", train__optimizer=MUON, model__num_layers=1, **changes)
    runs = []
    for rate in rates:
        train = dataclasses.replace(run.train, learning_rate=rate)
        runs.append(dataclasses.replace(run, train=train))
    setup, members = build_setup(run), members_of(RunGroup(tuple(runs)), [0] * len(runs))
    state = jax.jit(functools.partial(initial_state, setup))(members)
    chunk = jax.jit(functools.partial(train_chunk, setup))
    return chunk(state, members, jnp.asarray(4))[0]


@pytest.mark.slow
def test_members_with_other_rates_in_one_program_equal_single_runs():
    together = states(*RATES)
    vmapped = states(*RATES, execution__members="vmap")
    for index, rate in enumerate(RATES):
        alone = of_member(states(rate), 0)
        assert_equal(of_member(together, index), alone)
        jax.tree.map(
            functools.partial(np.testing.assert_allclose, atol=1e-4),
            of_member(vmapped, index).params,
            alone.params,
        )
    first = jax.tree.leaves(of_member(together, 0).params)
    second = jax.tree.leaves(of_member(together, 1).params)
    assert all((a != b).any() for a, b in zip(first, second, strict=True))


@pytest.mark.slow
def test_a_resumed_training_is_bit_equal_to_an_unbroken_one(tmp_path):
    group = tiny.group("rope", model__num_layers=1, train__optimizer=MUON)
    with pytest.raises(Preempted):
        train_run_group(group, tmp_path / "broken", should_leave=lambda: True)
    for name in ("broken", "unbroken"):
        train_run_group(group, tmp_path / name)
    broken, unbroken = (
        Training(group, tmp_path / name, lambda event: None).state
        for name in ("broken", "unbroken")
    )
    assert_equal(broken, unbroken)
