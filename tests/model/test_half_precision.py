"""A model computes in bfloat16, except for what must stay in float32."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.t5_bias import T5Bias
from pe_lab.kernels import REFERENCE, choose
from pe_lab.model import gates
from pe_lab.model.decode import start
from tests import models
from tests.model.small_inputs import everywhere, logits, reads, shape_of, source
from tests.models import ARCHITECTURES, build, params


@pytest.mark.full
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_bfloat16_is_near_float32_at_positions_that_it_cannot_count(architecture):
    """Its neighbours of 1000 are 996 and 1004: what reads positions in bfloat16 would be lost."""
    encodings = (
        "sinusoidal",
        *(everywhere(name, architecture) for name in ("rope", "t5_bias", "shaw")),
    )
    exact = build(*encodings, architecture=architecture)
    streams = [reads(1000 + jnp.arange(6)[None, None]), source(1000 + jnp.arange(4)[None, None])][
        : len(exact.stacks)
    ]
    expected = models.run(exact, *streams)
    for form in (REFERENCE, choose("auto", "cpu"), choose("auto", "cuda")):
        rounded = build(
            *encodings, architecture=architecture, compute_dtype="bfloat16", kernels=form
        )
        out = models.run(rounded, *streams)
        assert out.dtype == np.float32
        assert 1e-4 < np.abs(out - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.slow
def test_bfloat16_leaves_parameters_positions_bias_and_softmax_in_float32(monkeypatch):
    """Queries, keys and values are what is rounded, and what a cache holds."""
    found, of_offset, softmax = {}, T5Bias.of_offset, gates.masked_softmax

    def note(name, value):
        found.setdefault(name, set()).add(str(value.dtype))
        return value

    def noted_bias(self, offsets):
        return note("bias", of_offset(self, note("offsets", offsets)))

    def noted_softmax(s, mask):
        return note("weights", softmax(note("logits", s), mask))

    monkeypatch.setattr(T5Bias, "of_offset", noted_bias)
    monkeypatch.setattr(gates, "masked_softmax", noted_softmax)
    t5, rope = {**everywhere("t5_bias"), "layers": (0,)}, {**everywhere("rope"), "layers": (1,)}
    model = build(
        "sinusoidal",
        t5,
        rope,
        architecture="encoder_decoder",
        compute_dtype="bfloat16",
        tied_output=True,
    )
    assert shape_of(model, reads(), source()).dtype == np.float32
    assert found == {
        "offsets": {"int32"},
        "bias": {"float32"},
        "logits": {"float32"},
        "weights": {"float32"},
    }
    assert {str(p.dtype) for p in jax.tree.leaves(params(model))} == {"float32"}
    cache = start(model, (jnp.arange(9)[None, None],), 2, source())
    assert {
        str(leaf.dtype) for keys in (*cache.keys, *cache.memory.keys) for leaf in (keys.k, keys.v)
    } == {"bfloat16"}


def test_fractions_of_positions_stay_float32_in_bfloat16(monkeypatch):
    seen, of_offset = set(), ALiBi.of_offset
    monkeypatch.setattr(
        ALiBi,
        "of_offset",
        lambda self, offset: (seen.add(str(offset.dtype)), of_offset(self, offset))[1],
    )
    shape_of(build("alibi", compute_dtype="bfloat16"), reads(jnp.linspace(0, 1, 6)[None, None]))
    assert seen == {"float32"}


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_logits_are_not_rounded_to_bfloat16(platform, tied):
    kernels = choose("auto", platform)
    model = build("rope", compute_dtype="bfloat16", tied_output=tied, kernels=kernels)
    x = jax.random.normal(jax.random.key(0), (2, 3, 16), jnp.bfloat16)
    out = model.logits(x)
    assert out.dtype == jnp.float32
    assert (out != out.astype(jnp.bfloat16)).any()


@pytest.mark.slow
def test_decoding_in_bfloat16_is_the_full_forward_in_bfloat16():
    model = build("sinusoidal", "rope", "t5_bias", compute_dtype="bfloat16")
    read = reads()
    stepped = jax.jit(
        lambda: models.decode(model, start(model, read.positions, 2), read.tokens, read.mask)
    )()
    full = logits(model)
    assert stepped.dtype == jnp.float32
    assert np.abs(stepped - full)[np.asarray(read.mask)].max() < 0.02 * np.abs(full).max()
