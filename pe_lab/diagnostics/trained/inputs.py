"""Where a code is added to the token: the four terms of the first layer with the two taken apart, and how far they share directions.

A norm before attention divides by the size of the sum; with that size as it is, it acts on token and code apart. Its own
offset counts as the token's.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array

from pe_lab.diagnostics.trained import terms
from pe_lab.diagnostics.trained.bench import Bench, draw
from pe_lab.diagnostics.trained.watch import watched
from pe_lab.training.step import Setup
from pe_lab.transformer.streams import Stream
from pe_lab.transformer.transformer import Stack

NONE = "No encoding is added to the tokens, so token and code cannot be taken apart at the input."
OTHERS = "What meets the tokens at the input is not added, so token and code cannot be taken apart there."


def why_not(made: Setup) -> str | None:
    """Why there are no token and code to be taken apart; None if there are."""
    encodings = made.abstract_model.answering.input_encodings
    if not encodings:
        return NONE
    return OTHERS if any(encoding.combine != "add" for encoding in encodings) else None


def numbers(bench: Bench, length: int) -> Callable[[Any], dict[str, Any]]:
    """What is asked of parameters: rms of token and code, how far they share directions, the four terms as means over the heads."""
    look = jax.jit(functools.partial(_look, bench.made, bench.bound, bench.size))
    return lambda params: _numbers(length, *jax.tree.map(np.asarray, look(params, np.int32(length), bench.data)))


def _numbers(length: int, table: np.ndarray, codes: np.ndarray, q: Any, k: Any, mask: np.ndarray) -> dict[str, Any]:
    codes = codes[mask[0].any(axis=(0, 1))]
    found = terms.shares(q, k, mask).shares
    return {
        "length": length,
        "rms of token": _rms(table),
        "rms of code": _rms(codes),
        **terms.orthogonality(table, codes),
        "four terms": dict(zip(terms.TERMS, found.mean(axis=1).tolist(), strict=True)),
    }


def _look(made: Setup, bound: int, size: int, params: Any, length: Array, data: Any) -> tuple[Any, ...]:
    drawn = draw(made, bound, size, length, jnp.int32(0), data)
    stack = made.model(params).answering
    token, code = token_and_code(stack, drawn.answering)
    q, k = (projected(stack, (token, code), which) for which in ("query", "key"))
    _, seen = watched(made.model(params), drawn.answering, drawn.source)
    sink = int(stack.sink is not None)
    mask = seen.attended[list(seen.hidden)[-1]][0].mask[:, :, sink:, sink:]
    table = stack.embedding.embedding[...] * stack.embedding_scale
    return table, code[0], q, k, jnp.broadcast_to(mask, (size, *mask.shape[1:]))


def token_and_code(stack: Stack, stream: Stream) -> tuple[Array, Array]:
    """Of every token of a stream [B, L, D] each, before the first layer."""
    token = stack.embedding(stream.tokens) * stack.embedding_scale
    pairs = zip(stack.input_encodings, stack.input_positions(stream.positions[0]), strict=True)
    code = sum((encoding.scaled_code(own) for encoding, own in pairs), jnp.zeros((1, *token.shape[1:])))
    return token, jnp.broadcast_to(code, token.shape)


def projected(stack: Stack, parts: tuple[Array, Array], which: str) -> tuple[Array, Array]:
    """Token's and code's part of the first layer's queries or keys, [B, L, H, Dh] each; they sum to what attention reads."""
    block = stack.blocks[0]
    if block.pre_norm:
        parts = _normed(block.norms[0], parts)
    heads = [getattr(block.attention, which)(x).reshape(*x.shape[:2], block.attention.num_heads, -1) for x in parts]
    norm = getattr(block.attention, f"{which}_norm")
    return (heads[0], heads[1]) if norm is None else _normed(norm, (heads[0], heads[1]))


def _normed(norm: Any, parts: tuple[Array, Array]) -> tuple[Array, Array]:
    """A layer or RMS norm of a sum, its parts apart."""
    if isinstance(norm, nnx.LayerNorm):
        token, code = (x - x.mean(axis=-1, keepdims=True) for x in parts)
    else:
        token, code = parts
    size = jax.lax.rsqrt(jnp.square(token + code).mean(axis=-1, keepdims=True) + norm.epsilon)
    row = (*(1,) * (token.ndim - 1), -1)
    scale = size * norm.scale[...].reshape(row)
    offset = norm.bias[...].reshape(row) if isinstance(norm, nnx.LayerNorm) else 0  # type: ignore[index]
    return token * scale + offset, code * scale


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.square(x).mean()))
