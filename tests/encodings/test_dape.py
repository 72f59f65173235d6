import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.alibi import ALiBi
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.dape import DAPE
from pe_lab.encodings.fox import FoX
from pe_lab.encodings.requirements import Requirements
from pe_lab.encodings.rope import RoPE
from pe_lab.encodings.stick_breaking import StickBreaking
from pe_lab.encodings.t5_bias import T5Bias
from tests import reference
from tests.encodings import codes, laws
from tests.encodings.codes import attend
from tests.marks import full

ARGUMENTS = {"inner": {"name": "alibi"}}
SENSITIVE = {
    "inner": tuple({"inner": {"name": name}} for name in ("alibi", "t5_bias")),
    "hidden": (32, 4),
    "kernel_size": (1, 3),
}


class Given(AttentionEncoding):
    """A bias that a test has set."""

    requirements = Requirements(only_bias=True)

    def __init__(self, value):
        self.value = tuple(map(tuple, np.asarray(value).reshape(-1, np.shape(value)[-1]).tolist()))
        self.shape = np.shape(value)

    def bias(self, Q, K):
        return jnp.asarray(self.value).reshape(self.shape)


def build(inner=None, num_heads=2, **arguments):
    return DAPE(
        inner=inner or ALiBi(num_heads=num_heads),
        num_heads=num_heads,
        rngs=codes.rngs(),
        **arguments,
    )


def scored(encoding, s, mask=None, length=None):
    s = jnp.asarray(s, jnp.float32)
    queries, keys = s.shape[2:]
    Q, K = codes.tokens(range(keys - queries, keys)), codes.tokens(range(keys))
    nothing = jnp.zeros((len(s), queries, s.shape[1], 4))
    mask = jnp.ones((1, 1, queries, keys), bool) if mask is None else jnp.asarray(mask)
    return np.asarray(
        encoding.transform_logits(s, nothing, jnp.zeros((len(s), keys, s.shape[1], 4)), Q, K, mask)
    )


def equation(encoding, s, b, mask):
    """Pair by pair from the parameters, in float64; unseen pairs are zero before both layers."""
    into, into_bias, out, out_bias = (
        np.asarray(p[...], float) for e in (encoding.into, encoding.out) for p in (e.kernel, e.bias)
    )
    kernel, keys = encoding.kernel_size, s.shape[-1]
    into, out = (w.reshape(kernel, -1, w.shape[-1]) for w in (into, out))
    reach = kernel // 2
    hide = (lambda x: np.where(mask, x, 0)) if kernel > 1 else (lambda x: x)

    def layer(x, weight, bias):
        y = np.zeros((x.shape[0], weight.shape[2], *x.shape[2:]))
        for batch, l, j in np.ndindex(x.shape[0], *x.shape[2:]):
            y[batch, :, l, j] = bias
            for n in range(kernel):
                if 0 <= j + n - reach < keys:
                    y[batch, :, l, j] += x[batch, :, l, j + n - reach] @ weight[n]
        return y

    b = np.broadcast_to(b, s.shape)
    hidden = layer(hide(np.concatenate([s, b], axis=1)), into, into_bias)
    return s + b + layer(hide(np.where(hidden > 0, hidden, 0.01 * hidden)), out, out_bias)


@pytest.mark.slow
def test_agrees_with_reference():
    given, expected = (reference.entry("dape_h2_L3")[k] for k in ("inputs", "value"))
    encoding = build(Given(np.asarray(given["bias"])[None]), hidden=3)
    encoding.into.kernel[...], encoding.into.bias[...] = (
        jnp.asarray(given["w1"]).T,
        jnp.asarray(given["b1"]),
    )
    encoding.out.kernel[...], encoding.out.bias[...] = (
        jnp.asarray(given["w2"]).T,
        jnp.asarray(given["b2"]),
    )
    reference.assert_agrees(
        scored(encoding, np.asarray(given["logits"])[None])[0], "dape_h2_L3", expected
    )


@pytest.mark.parametrize(
    "shape", [(1, 2, 3, 5), full((2, 2, 3, 5)), full((1, 1, 3, 5)), (2, 1, 3, 5)], ids=str
)
@pytest.mark.parametrize("kernel_size", [1, 3, full(5)])
def test_logits_are_the_equation_for_a_bias_of_any_shape(kernel_size, shape):
    random = np.random.default_rng(0)
    s, b = random.normal(size=(2, 2, 3, 5)), random.normal(size=shape)
    mask = random.random((2, 1, 3, 5)) < 0.6
    encoding = build(Given(b), kernel_size=kernel_size)
    np.testing.assert_allclose(scored(encoding, s, mask), equation(encoding, s, b, mask), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kernel_size", [1, 3])
def test_what_a_query_may_not_see_changes_nothing_of_what_it_sees(kernel_size):
    """Logits of the future, of padding and of another segment may be anything."""
    random = np.random.default_rng(1)
    encoding, s = build(kernel_size=kernel_size), random.normal(size=(1, 2, 5, 9))
    seen = (np.arange(9) <= np.arange(4, 9)[:, None]) & (np.arange(9) >= 2) & (np.arange(9) != 5)
    base, other = (
        scored(encoding, s, seen[None, None]),
        scored(encoding, np.where(seen, s, np.nan), seen[None, None]),
    )
    np.testing.assert_allclose(np.where(seen, base, 0), np.where(seen, other, 0), atol=1e-6)


def test_the_network_starts_as_pytorchs_does():
    """Uniform up to reads**-0.5: 12 are 3 keys of 2 logits and 2 biases, 96 are 3 keys of 32."""
    encoding = build(kernel_size=3)
    for layer, reads in ((encoding.into, 12), (encoding.out, 96)):
        assert layer.kernel.shape[0] == reads
        for p in (layer.kernel[...], layer.bias[...]):
            assert np.abs(p).max() <= reads**-0.5
        assert np.std(layer.kernel[...]) == pytest.approx((3 * reads) ** -0.5, rel=0.15)


@pytest.mark.slow
def test_a_bias_from_features_gets_them():
    """FoX inside: its gates are cached under DAPE's name, and a network of zeros leaves FoX."""
    inner = FoX(width=8, num_heads=2, rngs=codes.rngs())
    encoding = build(inner)
    encoding.out.kernel[...] = jnp.zeros((32, 2))
    encoding.out.bias[...] = jnp.zeros(2)
    x = np.random.default_rng(4).normal(size=(2, 5, 8)).astype(np.float32)
    q, k, v = jnp.asarray(np.random.default_rng(5).normal(size=(3, 2, 5, 2, 4)), jnp.float32)
    mask = jnp.tril(jnp.ones((5, 5), bool))[None, None]

    def out(e):
        t = dataclasses.replace(
            codes.tokens(range(5)), features=e.features(jnp.asarray(x), jnp.arange(5)[None])[1]
        )
        return attend(e, q, k, v, t, t, mask)

    np.testing.assert_allclose(out(encoding), out(inner), atol=1e-6)


def test_it_is_what_its_inner_encoding_is():
    inner = T5Bias(width=16, num_heads=2, rngs=codes.rngs())
    encoding = build(inner)
    needs = encoding.requirements
    assert (needs.relative, needs.whole_positions, needs.max_positions) == (True, True, None)
    assert build(FoX(width=8, num_heads=2, rngs=codes.rngs())).requirements.reads_positions is False
    inner.require(max_positions=7, num_axes=2, reads_length=True, relative=False)
    needs = build(inner).requirements
    assert (needs.max_positions, needs.num_axes, needs.reads_length, needs.relative) == (
        7,
        2,
        True,
        False,
    )


def test_each_layer_has_a_network_and_a_bias_of_its_own():
    model = Subject(laws.spec("dape", inner={"name": "t5_bias"})).build()
    assert [[site.index for site in sites] for sites in model.decoder.layer_sites] == [[0], [1]]
    first, second = model.attention_encodings
    assert np.abs(first.into.kernel[...] - second.into.kernel[...]).max() > 0.01
    assert np.abs(first.inner.table[...] - second.inner.table[...]).max() > 0.01


@pytest.mark.parametrize(
    ("inner", "arguments", "message"),
    [
        (RoPE(head_dim=4), {}, "DAPE adapts an encoding that is only a bias, and RoPE is not"),
        (
            AttentionEncoding(),
            {},
            "DAPE adapts an encoding that is only a bias, and AttentionEncoding is not",
        ),
        (
            StickBreaking(num_heads=2, head_dim=4),
            {},
            "DAPE adapts an encoding that is only a bias, and StickBreaking is not",
        ),
        (
            FoX(width=8, num_heads=2, rngs=codes.rngs()),
            dict(bidirectional=True),
            "DAPE with FoX is not defined for bidirectional attention",
        ),
        (None, dict(hidden=0), "hidden must be at least 1, got 0"),
        (None, dict(kernel_size=2), "kernel_size must be odd, got 2"),
        (None, dict(kernel_size=-1), "kernel_size must be odd, got -1"),
    ],
)
def test_what_makes_no_sense_is_refused(inner, arguments, message):
    with pytest.raises(ValueError, match=message):
        build(inner, **arguments)
