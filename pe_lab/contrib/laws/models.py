"""Tiny transformers of every architecture, the tokens that they read, and comparisons of arrays."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from pe_lab.model.cache import Cache
from pe_lab.model.decode import extend
from pe_lab.model.streams import Stream, answering_stack
from pe_lab.model.transformer import Transformer
from pe_lab.runs.settings.declarations import declared_settings
from pe_lab.runs.settings.settings import Model
from pe_lab.runs.specs import plugin_specs

VOCABULARIES = {
    "decoder": {"decoder": 11},
    "encoder": {"encoder": 11},
    "encoder_decoder": {"encoder": 9, "decoder": 11},
}
ARCHITECTURES = tuple(VOCABULARIES)


def settings(*encodings: str | dict[str, Any], **changes: Any) -> Model:
    """A tiny model's, with fields changed; without encodings where none are named."""
    specs = tuple({"name": e} if isinstance(e, str) else e for e in encodings)
    defaults = {name: declared.default for name, declared in declared_settings(Model).items()}
    sizes = {"width": 16, "num_layers": 2, "num_heads": 2, "feedforward_width": 16}
    return Model(**{**defaults, **sizes, "encodings": plugin_specs.encodings(specs), **changes})


def params(model: nnx.Module) -> dict[str, Any]:
    return nnx.to_pure_dict(nnx.state(model, nnx.Param))


def moved(start: dict[str, object]) -> dict[str, Any]:
    """Parameters away from their start, so that all matter: scales from 1, biases from 0."""
    leaves = [
        jnp.asarray(np.asarray(p) + noise(i, p.shape)) for i, p in enumerate(jax.tree.leaves(start))
    ]
    return jax.tree.unflatten(jax.tree.structure(start), leaves)


@functools.cache
def noise(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    # NumPy adds and multiplies: JAX would compile a program for each shape.
    values = np.float32(0.3) * np.asarray(jax.random.normal(jax.random.key(seed), shape))
    return np.asarray(values)  # NumPy's product of scalars is no array


@functools.cache
def random_tokens(batch: int, length: int, size: int = 11, seed: int = 7) -> jax.Array:
    with jax.ensure_compile_time_eval():  # a cached value must not belong to the trace of a caller
        return jax.random.randint(jax.random.key(seed), (batch, length), 0, size)


def stream(
    tokens: Any, positions: Any = None, mask: Any = None, segments: Any = None, arange: bool = False
) -> Stream:
    """What a stack reads: at positions 0, 1, 2, … and without padding unless it says otherwise."""
    positions = (
        jnp.asarray(np.arange(tokens.shape[1], dtype=np.int32)[None, None])
        if positions is None
        else jnp.asarray(positions)
    )
    mask = jnp.asarray(np.ones(tokens.shape, bool)) if mask is None else mask
    return Stream(tokens, (positions,), mask, segments, (arange,))


def by_stack(model: Transformer, stream: Stream, source: Stream | None = None) -> dict[str, Stream]:
    """The streams of a model by the stacks that read them."""
    streams = {answering_stack(model.stacks): stream}
    return streams if source is None else {**streams, "encoder": source}


def prefix(lengths: object, length: int) -> jax.Array:
    """[B, L], True at the first tokens of each row."""
    lengths = lengths if isinstance(lengths, jax.Array) else np.asarray(lengths)
    return jnp.asarray(np.arange(length)[None] < lengths[:, None])


def decode(
    model: Transformer,
    cache: Cache,
    tokens: Int[Array, "b l"],
    mask: Bool[Array, "b l"],
) -> Float[Array, "b l v"]:
    """Logits after given tokens, computed one token at a time as generation does."""

    def step(
        cache: Cache,
        token_and_mask: tuple[Int[Array, "b"], Bool[Array, "b"]],
    ) -> tuple[Cache, Float[Array, "b v"]]:
        token, is_token = token_and_mask
        tokens = token[:, None]  # L = 1
        mask = is_token[:, None]
        logits, cache = extend(model, cache, tokens, mask)
        return cache, logits[:, 0]

    _, logits = jax.lax.scan(step, cache, (tokens.T, mask.T))
    return jnp.moveaxis(logits, 0, 1)


class DifferenceError(AssertionError):
    """Two arrays that should agree up to a limit, or that should differ by more than it."""

    def __init__(self, a: np.ndarray, b: np.ndarray, limit: float | int, *, should_agree: bool):
        self.a, self.b, self.limit, self.should_agree = a, b, limit, should_agree
        self.largest = np.abs(a - b).max()
        super().__init__(f"differ by {self.largest}" + ("" if should_agree else " only"))


def assert_close(a: object, b: object, tolerance: float | int = 2e-5) -> None:
    a, b = _comparable(a, b)
    assert a.shape == b.shape, f"shapes {a.shape} and {b.shape}"
    if np.abs(a - b).max() > tolerance:
        raise DifferenceError(a, b, tolerance, should_agree=True)


def assert_differs(a: object, b: object, least: float | int = 1e-3) -> None:
    a, b = _comparable(a, b)
    if np.abs(a - b).max() <= least:
        raise DifferenceError(a, b, least, should_agree=False)


def _comparable(*arrays: object) -> list[np.ndarray]:
    """The arrays, whose values must be finite."""
    converted = [np.asarray(array) for array in arrays]
    for array in converted:
        assert np.isfinite(array).all(), "a value is not finite"
    return converted
