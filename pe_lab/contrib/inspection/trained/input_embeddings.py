"""Tokens and position embeddings at the input, where both are known exactly.

The first layer's queries and keys are split into the part of the token and the part of the position
embedding that is added to it. The norm before attention divides by the size of their sum. With this
size held fixed it is linear, so it acts on both parts separately. Its offset counts as the token's.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, PyTree

from pe_lab.contrib.inspection.trained import four_terms
from pe_lab.contrib.inspection.trained.activations import record_activations
from pe_lab.contrib.inspection.trained.examples import BatchSize, Scalar, draw
from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
from pe_lab.model.attention import Attention
from pe_lab.model.stack import Stack
from pe_lab.model.streams import Stream, answering_stack
from pe_lab.training.setup import Setup

NO_EMBEDDINGS = (
    "Token and position at the input: no position embedding is added to the tokens of the answer."
)
MAPPED = "Tokens and embeddings apart: a learned map injects the input into each loop."
MIXED = (
    "Token and position at the input: queries or keys read the tokens before them (short "
    "convolutions, shift or offset of keys, smear), so the logits cannot be split."
)
NOT_ADDED = (
    "Token and position at the input: this model's position embedding is not added to the tokens "
    "but combined in another way, so the logits cannot be split."
)
# Inputs of convolutions, shift and offset that the first layer's queries and keys depend on.
_MIXED_INPUTS = {"A", "B_query", "B_key", "shift_key", "offset"}
Parts = tuple[Array, Array]  # of the token, and of the position embedding


@dataclasses.dataclass(frozen=True)
class SharedDirections:
    """How far tokens and position embeddings use the same directions, and the same by chance.

    Attributes:
      rms_cosine: of every token with every embedding; by chance 1 / sqrt(D).
      mean_cosine: mean absolute value; by chance sqrt(2 / (pi D)) for large D.
      embedding_directions: number of directions that hold 90% of the embeddings' energy.
      overlap: share of these directions that lies in as many main directions of the tokens; by
        chance directions / D.
    """

    rms_cosine: float
    rms_cosine_by_chance: float
    mean_cosine: float
    mean_cosine_by_chance: float
    largest_cosine: float
    embedding_directions: int
    overlap: float
    overlap_by_chance: float


@dataclasses.dataclass(frozen=True)
class InputParts:
    """Sizes and directions of tokens and embeddings, and the first layer's four shares.

    Attributes:
      terms: share of each term, averaged over the heads whose logits differ; None without one.
    """

    token_rms: float
    embedding_rms: float
    directions: SharedDirections
    terms: dict[str, float | None]


def why_not(setup: Setup) -> str | None:
    """Reason why tokens and embeddings cannot be split; None if they can."""
    encodings = setup.abstract_model.answering.input_encodings
    if not encodings:
        return NO_EMBEDDINGS
    if any(encoding.combine != "add" for encoding in encodings):
        return NOT_ADDED
    if setup.run.model.loop_injection == "linear":
        return MAPPED
    stack = setup.abstract_model.answering
    first = stack.blocks[0].convolutions
    read = set() if first is None else set(dict(first.kept))
    if stack.smear is not None or not read.isdisjoint(_MIXED_INPUTS):
        return MIXED
    return None


def input_parts(model: LoadedModel, length: int) -> Callable[[PyTree], InputParts]:
    """A function of parameters that splits the input of all examples of a length.

    Tokens and positions count once each, and only if an example has them: other rows of the tables
    keep their initial values.
    """
    read = jax.jit(functools.partial(_read, model.setup, model.sizes))

    def parts_of(params: PyTree) -> InputParts:
        batches = []
        for arguments in model.batches(length, params):
            # The table of tokens is the same for all batches.
            table, of_examples = jax.tree.map(np.asarray, read(*arguments))
            batches.append(of_examples)
        examples = jax.tree.map(
            lambda *leaves: np.concatenate(leaves)[: model.num_examples], *batches
        )
        return _input_parts(table, **examples)

    return parts_of


def shared_directions(
    tokens: Float[np.ndarray, "v d"], embeddings: Float[np.ndarray, "l d"]
) -> SharedDirections:
    width = tokens.shape[1]
    cosines = _unit(tokens) @ _unit(embeddings).T
    _, _, token_directions = np.linalg.svd(tokens, full_matrices=False)
    _, sizes, embedding_directions = np.linalg.svd(embeddings, full_matrices=False)
    energy = np.square(sizes)
    cumulative = np.cumsum(energy) / max(energy.sum(), 1e-30)  # embeddings of zeros have no energy
    num_main = int((cumulative < 0.9).sum()) + 1
    # The subspaces must fit into both sets of vectors.
    count = min(num_main, len(tokens), len(embeddings))
    products = embedding_directions[:count] @ token_directions[:count].T
    return SharedDirections(
        rms_cosine=_rms(cosines),
        rms_cosine_by_chance=width**-0.5,
        mean_cosine=float(np.abs(cosines).mean()),
        mean_cosine_by_chance=math.sqrt(2 / (math.pi * width)),
        largest_cosine=float(np.abs(cosines).max()),
        embedding_directions=count,
        overlap=float(np.square(products).sum() / count),
        overlap_by_chance=count / width,
    )


def _input_parts(
    table: Float[np.ndarray, "v d"],
    tokens: Int[np.ndarray, "n l"],
    valid: Bool[np.ndarray, "n l"],
    positions: np.ndarray,
    embeddings: Float[np.ndarray, "n l d"],
    q: tuple[np.ndarray, np.ndarray],
    k: tuple[np.ndarray, np.ndarray],
    mask: Bool[np.ndarray, "n _ l s"],
) -> InputParts:
    _, first_uses = np.unique(positions[valid], axis=0, return_index=True)
    used_tokens = table[np.unique(tokens[valid])]
    used_embeddings = embeddings[valid][first_uses]
    shares = four_terms.shares(q, k, mask).shares
    # Heads whose logits do not differ have no shares.
    has_shares = np.isfinite(shares).all(axis=0)
    means = [None] * len(four_terms.TERMS)
    if has_shares.any():
        means = shares[:, has_shares].mean(axis=1).tolist()
    return InputParts(
        token_rms=_rms(used_tokens),
        embedding_rms=_rms(used_embeddings),
        directions=shared_directions(used_tokens, used_embeddings),
        terms=dict(zip(four_terms.TERMS, means, strict=True)),
    )


def _read(
    setup: Setup,
    sizes: BatchSize,
    params: PyTree,
    length: Scalar,
    first: Scalar,
    data: PyTree,
) -> tuple[Array, dict[str, PyTree]]:
    """The table of tokens, and the other arguments of `_input_parts` for each example."""
    examples = draw(setup, sizes, length, first, data)
    stream = examples.answering
    stack = setup.model(params).answering
    # A model of its own, because the recording replaces blocks.
    _, activations = record_activations(setup.model(params), examples.streams)
    first_layer = activations.attention[answering_stack(examples.streams)][0]
    mask = first_layer.mask
    parts = token_and_embedding(stack, stream)
    attention = stack.blocks[0].attention
    assert isinstance(attention, Attention)  # a loaded model has no other mixer
    queries = project(stack, parts, "query")
    table = stack.embedding.embedding[...] * stack.embedding_scale
    return table, {
        "tokens": stream.tokens,
        "valid": stream.mask,
        "positions": _positions(stack, stream),
        "embeddings": parts[1],
        "q": scale_by_temperature(attention, queries, mask),
        "k": project(stack, parts, "key"),
        "mask": jnp.broadcast_to(mask, (sizes.size, *mask.shape[1:])),
    }


def _positions(stack: Stack, stream: Stream) -> Array:
    """What the input encodings read of every token, [B, L, _]."""
    schemes = sorted({site.scheme for site in stack.input_sites})
    shape = stream.tokens.shape
    rows = []
    for scheme in schemes:
        positions = stream.positions[scheme][0]
        positions = jnp.broadcast_to(positions, (shape[0], *positions.shape[1:]))
        rows.append(positions.reshape(*shape, -1))
    return jnp.concatenate(rows, axis=-1)


def token_and_embedding(stack: Stack, stream: Stream) -> Parts:
    """Both parts of the first layer's input, [B, L, D]."""
    token = stack.embedding(stream.tokens) * stack.embedding_scale
    zero = jnp.zeros((1, *token.shape[1:]))
    embedding = sum(stack.position_embeddings(stream.positions), zero)
    return token, jnp.broadcast_to(embedding, token.shape)


def project(stack: Stack, parts: Parts, which: Literal["query", "key"]) -> Parts:
    """Both parts of the first layer's queries or keys, [B, L, H, Dh], before a temperature."""
    block = stack.blocks[0]
    assert isinstance(block.attention, Attention)
    if block.pre_norm:
        parts = _normalize(block.norms[0], parts)
    projection = block.attention.projection(which)
    token, embedding = parts
    shape = (*token.shape[:2], block.attention.num_heads, -1)
    of_heads = (
        projection(token).reshape(shape),
        projection(embedding).reshape(shape),
    )
    norm = getattr(block.attention, f"{which}_norm")
    if norm is None:
        return of_heads
    return _normalize(norm, of_heads)


def scale_by_temperature(attention: Attention, parts: Parts, mask: Bool[Array, "_ _ l s"]) -> Parts:
    """Both parts of queries times their scale and temperature, log n for n visible keys."""
    token, embedding = parts
    token, embedding = token * attention.query_scale, embedding * attention.query_scale
    if not attention.log_n and attention.log_n_factor is None:
        return token, embedding
    factor = jnp.ones(1)
    if attention.log_n_factor is not None:
        factor = attention.log_n_factor[...]
    num_visible = jnp.maximum(mask.sum(axis=-1), 1)  # [B|1, H|1, L]
    log_n = jnp.log(num_visible.astype(jnp.float32))
    scale = jnp.moveaxis(factor[None, :, None] * log_n, 1, 2)[..., None]  # [B, L, H, 1]
    return token * scale, embedding * scale


def _normalize(norm: nnx.LayerNorm | nnx.RMSNorm, parts: Parts) -> Parts:
    """Both parts of a normalized sum."""
    token, embedding = parts
    if isinstance(norm, nnx.LayerNorm):
        # LayerNorm centers, which is linear; RMSNorm does not.
        token = token - token.mean(axis=-1, keepdims=True)
        embedding = embedding - embedding.mean(axis=-1, keepdims=True)
    square = jnp.square(token + embedding).mean(axis=-1, keepdims=True)
    row = (*[1] * (token.ndim - 1), -1)
    learned_scale = norm.scale[...].reshape(row)  # type: ignore[index]
    scale = jax.lax.rsqrt(square + norm.epsilon) * learned_scale
    token, embedding = token * scale, embedding * scale
    if isinstance(norm, nnx.LayerNorm):
        token = token + norm.bias[...].reshape(row)  # type: ignore[index]
    return token, embedding


def _unit(rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(norms, 1e-30)  # a row of zeros stays one


def _rms(x: np.ndarray) -> float:
    return float(np.sqrt(np.square(x).mean()))
