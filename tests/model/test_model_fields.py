"""Optional fields of a model keep the laws, and loops and recomputation keep its numbers."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.laws.subjects import Subject
from tests import models
from tests.encodings import laws
from tests.marks import full, full_except
from tests.model.small_inputs import everywhere, keys, logits, reads, source
from tests.models import ARCHITECTURES, build, params

FIELDS = dict(
    qk_norm=True,
    shared_projections="qk",
    scale_logits=False,
    logit_temperature="log_n",
    norm_after_attention=True,
    sliding_window=3,
    num_loops=2,
    loop_injection="linear",
    num_layers=1,
)
COMPOSITION = (laws.spec("sinusoidal"), laws.spec("rope"), laws.spec("t5_bias"))


@functools.cache
def with_all_fields(architecture):
    return Subject(COMPOSITION, architecture, tuple(FIELDS.items()))


@pytest.mark.parametrize(
    "law",
    [
        full("packed_segments_equal_separate_ones"),
        "padding_does_not_reach_valid_tokens",
        full("accelerator_kernels_equal_the_reference"),
        "cpu_kernels_equal_the_reference",
        full("decoding_equals_the_full_forward"),
    ],
)
@pytest.mark.parametrize("architecture", full_except(["decoder"], ARCHITECTURES))
def test_a_law_holds_with_every_optional_field(architecture, law):
    if law in laws.laws_of(architecture):
        laws.LAWS[law](with_all_fields(architecture))


@pytest.mark.slow
@pytest.mark.parametrize("injection", ["add", full("none"), full("linear")])
def test_a_traced_number_of_loops_equals_a_model_with_that_number(injection):
    """One program of three loops gives the loss and gradients of fewer loops."""

    def model_of(num_loops):
        fields = {"num_layers": 1, "loop_injection": injection, "num_loops": num_loops}
        return build("sinusoidal", "rope", **fields)

    def loss(model, p, num_loops=None):
        inputs = models.by_stack(model, reads())
        out = nnx.merge(nnx.graphdef(model), p)(inputs, num_loops=num_loops)
        return (out**2).mean()

    longest = model_of(3)
    p = models.moved(params(longest))
    traced = jax.jit(lambda n: jax.value_and_grad(functools.partial(loss, longest, num_loops=n))(p))
    for n in (1, 2):
        shorter = jax.jit(jax.value_and_grad(functools.partial(loss, model_of(n))))(p)
        jax.tree.map(models.assert_close, traced(jnp.asarray(n)), shorter)


@pytest.mark.full
def test_loops_apply_the_same_blocks_again():
    """One block twice is two blocks with equal parameters."""
    model = {"architecture": "encoder_decoder"}
    encodings = ("sinusoidal", everywhere("t5_bias"))  # tables that layers share
    looped, layered = (
        build(*encodings, num_layers=1, num_loops=2, **model),
        build(*encodings, num_layers=2, **model),
    )
    p = models.moved(params(looped))
    twice = {
        k: {**v, "blocks": {0: v["blocks"][0], 1: v["blocks"][0]}} if "blocks" in v else v
        for k, v in p.items()
    }
    out = [logits(nnx.merge(nnx.graphdef(m), q)) for m, q in ((looped, p), (layered, twice))]
    models.assert_close(*out, 1e-6)
    assert (
        np.abs(
            out[0] - logits(nnx.merge(nnx.graphdef(build(*encodings, num_layers=1, **model)), p))
        ).max()
        > 1e-2
    )


@pytest.mark.full
@pytest.mark.parametrize(("architecture", "dropout"), [("decoder", 0.5), ("encoder_decoder", 0.0)])
def test_remat_changes_neither_loss_nor_gradients(architecture, dropout):
    model = build(
        "sinusoidal",
        everywhere("t5_bias", architecture),
        architecture=architecture,
        dropout=dropout,
    )
    graph, p = nnx.split(model)

    def loss(p, remat):
        return jnp.square(nnx.merge(graph, p)(streams, dropout_keys=keys(0), remat=remat)).sum()

    encoder = [source()] if architecture == "encoder_decoder" else []
    streams = models.by_stack(model, reads(), *encoder)
    compiled = [
        jax.jit(jax.value_and_grad(functools.partial(loss, remat=r))) for r in (False, True)
    ]
    (plain, gradients), (again, same) = (f(p) for f in compiled)
    assert float(plain) == pytest.approx(float(again), rel=1e-6)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5 * float(jnp.abs(a).max()) + 1e-6),
        gradients,
        same,
    )
    steps = [
        [e.primitive.name for e in jax.make_jaxpr(functools.partial(loss, remat=r))(p).eqns]
        for r in (False, True)
    ]
    assert [sum(name.startswith(("remat", "checkpoint")) for name in names) for names in steps] == [
        0,
        2 * len(model.stacks),
    ]  # blocks


@pytest.mark.parametrize("sharing", ["qk", "qkv"])
@pytest.mark.parametrize(
    "law",
    [
        "future_does_not_leak",
        "padding_does_not_reach_valid_tokens",
        "one_token_is_enough",
        "decoding_equals_the_full_forward",
        "gradients_are_finite_and_reach_every_parameter",
        "cpu_kernels_equal_the_reference",
    ],
)
def test_a_law_holds_with_shared_projections(sharing, law):
    laws.LAWS[law](with_shared(sharing))


@functools.cache
def with_shared(sharing):
    return Subject(COMPOSITION, "decoder", (("shared_projections", sharing),))


def test_sharing_keeps_the_draws_of_the_other_matrices():
    each, shared = (
        params(build(shared_projections=s))["decoder"]["blocks"][0]["attention"]
        for s in ("none", "qkv")
    )
    assert shared.keys() == {"query", "out"}
    jax.tree.map(np.testing.assert_array_equal, shared, {name: each[name] for name in shared})
