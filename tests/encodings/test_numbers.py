"""Numbers as arguments: what makes NaN or an infinite value is refused, by every constructor."""

import math
import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.runs.plugins import plugins
from tests.encodings import laws
from tests.encodings.codes import rngs
from tests.marks import full_except

UNUSUAL = (0.0, -1.0, math.nan, math.inf, -math.inf, 1e-300, 1e300)
LENGTH, WIDTH, HEADS, HEAD_DIM = 4, 32, 4, 8
SIZES = dict(width=WIDTH, num_heads=HEADS, head_dim=HEAD_DIM, num_layers=2, bidirectional=False)

# DAPE is built from another encoding.
ALONE = [name for name in laws.names() if laws.is_attention(name) and name != "dape"]
QUICK = ("fox", "pope", "position_temperature", "relative_logits", "selective_rope", "xpos")


def has_float(annotation):
    inner = typing.get_args(annotation)
    return annotation is float or any(has_float(each) for each in inner)


def cases():
    """Each argument that takes a number or several, and what stands beside it where it matters."""
    for name in plugins.names("encodings"):
        cls = plugins.find("encodings", name)
        for argument, parameter in plugins.parameters(cls).items():
            if has_float(parameter.annotation):
                stated = laws.sensitive(name).get(argument, ({argument: parameter.default},))
                yield pytest.param(name, argument, stated[-1], id=f"{name}-{argument}")


CASES = list(cases())


def build(name, arguments):
    """By the class, as a user's program does: a config refuses NaN before."""
    cls = plugins.find("encodings", name)
    declared = laws.spec(name, **arguments)
    context = {k: v for k, v in SIZES.items() if k in plugins.parameters(cls)}
    return cls(**{k: v for k, v in declared.items() if k != "name"}, **context, rngs=rngs())


def build_or_refuse(name, arguments):
    """The encoding and no message, or none and the message of its refusal."""
    try:
        return build(name, arguments), None
    except ValueError as e:
        return None, str(e)


def terms(encoding, dtype=jnp.float32, first=0):
    """What an encoding computes at ordinary positions, as arrays; queries and keys are first."""
    needs = encoding.requirements
    positions = np.asarray([[0, 1, 2, 3]]) + first + (0 if needs.whole_positions else 0.25)
    if needs.num_axes > 1:
        positions = np.stack([positions] * needs.num_axes, axis=-1)
    positions = jnp.asarray(positions)
    if not isinstance(encoding, AttentionEncoding):
        return [encoding.scaled_embedding(positions)]
    drawn = (jax.random.normal(jax.random.key(i), (1, LENGTH, WIDTH)) for i in range(3))
    x, q, k = (each.astype(jnp.bfloat16).astype(dtype) for each in drawn)
    q, k = (each.reshape(1, LENGTH, HEADS, HEAD_DIM) for each in (q, k))
    slots = jnp.arange(LENGTH)[None]
    of_queries, of_keys = encoding.features(x, positions)
    Q = Tokens(positions, slots, jnp.asarray([LENGTH]), of_queries)
    K = Tokens(positions, slots, jnp.asarray([LENGTH]), of_keys)
    biases = (encoding.bias(Q, K), encoding.content_bias(q, k, Q, K))
    return [*encoding.transform_qk(q, k, Q, K), *jax.tree.leaves((of_queries, of_keys, biases))]


@pytest.mark.parametrize(("name", "argument", "stated"), CASES)
def test_an_unusual_number_is_refused_by_name_or_makes_finite_terms(name, argument, stated):
    assert all(np.isfinite(term).all() for term in terms(build(name, stated)))
    for value in UNUSUAL:
        several = isinstance(stated[argument], tuple)
        given = (value,) * len(stated[argument]) if several else value
        encoding, refusal = build_or_refuse(name, {**stated, argument: given})
        if encoding is None:
            assert argument in refusal
            continue
        assert math.isfinite(value), f"{argument}={value} is accepted"
        for term in terms(encoding):
            assert np.isfinite(term).all(), f"{argument}={value} makes a term that is not finite"


@pytest.mark.parametrize("name", full_except(QUICK, ALONE))
def test_half_precision_inputs_are_read_as_float32_and_queries_stay_half(name):
    """Positions, angles and biases are float32: only the result of `transform_qk` is rounded."""
    encoding = build(name, {})
    half, exact = (terms(encoding, dtype, first=300) for dtype in (jnp.bfloat16, jnp.float32))
    for index, (found, expected) in enumerate(zip(half, exact, strict=True)):
        dtype = jnp.bfloat16 if index < 2 else jnp.float32
        assert found.dtype == dtype
        is_product = index == len(half) - 1 and "content_bias" in laws.hooks(encoding)
        # Products of half-precision queries or keys, and queries that are only scaled, are rounded.
        rounding = dict(atol=0.01) if is_product else dict(rtol=2**-7 if name == "deberta" else 0)
        np.testing.assert_allclose(found, expected.astype(dtype), **rounding)


def test_all_bases_of_wavelengths_are_among_them():
    arguments = {case.values[:2] for case in CASES}
    assert {("rope", "base"), ("sinusoidal", "base"), ("xpos", "scale_base")} <= arguments
    assert {("fox", "decay_times"), ("rope", "long_factors"), ("binary", "scale")} <= arguments
