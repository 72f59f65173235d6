"""Where a code is added to the token: the four terms of the first layer with the two taken apart,
and how far they share directions.

A norm before attention divides by the size of the sum; with that size as it is, it acts on token
and code apart. Its own offset counts as the token's.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array

from pe_lab.inspection.trained import four_terms
from pe_lab.inspection.trained.activations import recorded
from pe_lab.inspection.trained.loaded_model import LoadedModel, draw
from pe_lab.model.attention import Attention
from pe_lab.model.stack import Stack
from pe_lab.model.streams import Stream
from pe_lab.training.setup import Setup

NONE = "No encoding is added to the tokens, so token and code cannot be taken apart at the input."
OTHERS = (
    "What meets the tokens at the input is not added, so token and code cannot be taken apart "
    "there."
)


def why_not(setup: Setup) -> str | None:
    """Why there are no token and code to be taken apart; None if there are."""
    encodings = setup.abstract_model.answering.input_encodings
    if not encodings:
        return NONE
    return OTHERS if any(encoding.combine != "add" for encoding in encodings) else None


def numbers(bench: LoadedModel, length: int) -> Callable[[Any], dict[str, Any]]:
    """What is asked of parameters: rms of token and code, how far they share directions, the four
    terms as means over the heads.

    Of the tokens and the positions that the examples have, each once: rows of the table that no
    input holds keep their start.
    """
    look = jax.jit(functools.partial(_look, bench.setup, bench.bound, bench.size))

    def of(params: Any) -> dict[str, Any]:
        parts = [jax.tree.map(np.asarray, look(*args)) for args in bench.batches(length, params)]
        joined = jax.tree.map(
            lambda *leaves: np.concatenate(leaves)[: bench.num_examples],
            *(each for _, each in parts),
        )
        return {"length": length, **_numbers(parts[0][0], **joined)}

    return of


def _numbers(
    table: np.ndarray,
    tokens: Any,
    valid: Any,
    positions: Any,
    codes: Any,
    q: Any,
    k: Any,
    mask: Any,
) -> dict[str, Any]:
    _, once = np.unique(positions[valid], axis=0, return_index=True)
    tokens, codes = table[np.unique(tokens[valid])], codes[valid][once]
    found = four_terms.shares(q, k, mask).shares
    known = found[:, np.isfinite(found).all(axis=0)]  # of the heads where logits differ
    return {
        "rms of token": _rms(tokens),
        "rms of code": _rms(codes),
        **four_terms.orthogonality(tokens, codes),
        "four terms": dict(
            zip(
                four_terms.TERMS,
                known.mean(axis=1).tolist() if known.size else [None] * len(four_terms.TERMS),
                strict=True,
            )
        ),
    }


def _look(
    setup: Setup,
    bound: int,
    size: int,
    params: Any,
    length: Array,
    first: Array,
    _: Array,
    data: Any,
) -> tuple[Array, dict[str, Any]]:
    """The table of tokens, and of each example what `_numbers` takes."""
    drawn = draw(setup, bound, size, length, first, data)
    stream, stack = drawn.answering, setup.model(params).answering
    _, seen = recorded(setup.model(params), stream, drawn.source)
    sink = int(stack.sink is not None)
    mask = seen.attended[list(seen.hidden)[-1]][0].mask[:, :, sink:]
    parts = token_and_code(stack, stream)
    each = {
        "tokens": stream.tokens,
        "valid": stream.mask,
        "positions": _positions(stack, stream),
        "codes": parts[1],
        "q": tempered(stack.blocks[0].attention, projected(stack, parts, "query"), mask),
        "k": projected(stack, parts, "key"),
        "mask": jnp.broadcast_to(mask[..., sink:], (size, *mask.shape[1:3], mask.shape[3] - sink)),
    }
    return stack.embedding.embedding[...] * stack.embedding_scale, each


def _positions(stack: Stack, stream: Stream) -> Array:
    """Of every token what the input encodings read, [B, L, _]."""
    read = [
        stream.positions[scheme][0]
        for scheme in sorted({site.scheme for site in stack.input_sites})
    ]
    rows = [
        jnp.broadcast_to(p, (len(stream.tokens), *p.shape[1:])).reshape(*stream.tokens.shape, -1)
        for p in read
    ]
    return jnp.concatenate(rows, axis=-1)


def token_and_code(stack: Stack, stream: Stream) -> tuple[Array, Array]:
    """Of every token of a stream [B, L, D] each, before the first layer."""
    token = stack.embedding(stream.tokens) * stack.embedding_scale
    code = sum(stack.position_embeddings(stream.positions), jnp.zeros((1, *token.shape[1:])))
    return token, jnp.broadcast_to(code, token.shape)


def projected(stack: Stack, parts: tuple[Array, Array], which: str) -> tuple[Array, Array]:
    """Token's and code's part of the first layer's queries or keys, [B, L, H, Dh] each; without the
    temperature of queries.
    """
    block = stack.blocks[0]
    if block.pre_norm:
        parts = _normed(block.norms[0], parts)
    heads = [
        getattr(block.attention, which)(x).reshape(*x.shape[:2], block.attention.num_heads, -1)
        for x in parts
    ]
    norm = getattr(block.attention, f"{which}_norm")
    return (heads[0], heads[1]) if norm is None else _normed(norm, (heads[0], heads[1]))


def tempered(attention: Attention, parts: tuple[Array, Array], mask: Array) -> tuple[Array, Array]:
    """Parts of queries times their temperature, a factor of log n where n keys are in sight: they
    sum to what meets the keys.

    Args:
      mask: [B|1, H|1, L, S], True where a query sees a key.
    """
    if not attention.log_n and attention.log_n_factor is None:
        return parts
    factor = jnp.ones(1) if attention.log_n_factor is None else attention.log_n_factor[...]
    log_n = jnp.log(jnp.maximum(mask.sum(axis=-1), 1).astype(jnp.float32))  # [B|1, H|1, L]
    times = jnp.moveaxis(factor[None, :, None] * log_n, 1, 2)[..., None]
    return parts[0] * times, parts[1] * times


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
