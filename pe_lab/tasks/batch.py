"""Batches of token sequences, and packing of several examples into one context.

Shape letters: L tokens of a sequence, S tokens of a source sequence, A axes of a structure.
"""

import dataclasses
from collections.abc import Mapping
from typing import no_type_check

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Shaped

Structure = Mapping[str, Shaped[Array, "..."]]  # [..., L] or [..., L, A] each


@dataclasses.dataclass(frozen=True)
class Side:
    """The tokens that one stack reads."""

    tokens: Int[Array, "*b l"]
    mask: Bool[Array, "*b l"]
    structure: Structure
    segments: Int[Array, "*b l"] | None


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Batch:
    """Inputs and labels of a model; [L] for one example, [B, L] for a batch.

    Attributes:
      tokens: ids of the input tokens.
      mask: True at tokens, False at padding.
      labels: the id that the model predicts at each index.
      target: True at labels that count for the loss and exact match, the end token included.
      answer: True at labels that count for token accuracy: the scored answer without the end token.
      structure: name -> a label for each token, [..., L] or [..., L, A], for position schemes:
        "symbols" (True at symbols of the prompt and the target, and at blanks for the target),
        "coupled" (tokens with the same number from 1 belong together; 0 for none), "parts" (0
        before the target, 1 from its first token on), and the structures of the task.
      source_tokens: [S] or [B, S], ids of the encoder's tokens in encoder–decoders; else None.
      source_mask: True at tokens of the source.
      source_structure: the structure of the source's tokens.
      segments: the number of the example that each token belongs to, from 1, and 0 at padding;
        None unless examples share a context.
      source_segments: the same for the source.
    """

    tokens: Int[Array, "*b l"]
    mask: Bool[Array, "*b l"]
    labels: Int[Array, "*b l"]
    target: Bool[Array, "*b l"]
    answer: Bool[Array, "*b l"]
    structure: Structure
    source_tokens: Int[Array, "*b s"] | None = None
    source_mask: Bool[Array, "*b s"] | None = None
    source_structure: Structure | None = None
    segments: Int[Array, "*b l"] | None = None
    source_segments: Int[Array, "*b s"] | None = None

    @property
    def side(self) -> Side:
        """The side of the stack that answers."""
        return Side(self.tokens, self.mask, self.structure, self.segments)

    @property
    def source(self) -> Side | None:
        """The side of the encoder of an encoder–decoder; None elsewhere."""
        if self.source_tokens is None:
            return None
        assert self.source_mask is not None
        structure = self.source_structure or {}
        return Side(self.source_tokens, self.source_mask, structure, self.source_segments)


def pack(batch: Batch, k: int) -> Batch:
    """Pack [B * k, L] examples into [B, k * L] contexts of k examples, padding at the end."""
    mask = batch.mask
    result = Batch(
        tokens=packed(batch.tokens, mask, k),
        mask=packed(mask, mask, k),
        labels=packed(batch.labels, mask, k),
        target=packed(batch.target, mask, k),
        answer=packed(batch.answer, mask, k),
        structure=_packed_structure(batch.structure, mask, k),
        segments=packed(_segments(mask, k), mask, k),
    )
    if batch.source_tokens is None or batch.source_mask is None:
        return result
    source_mask = batch.source_mask
    return dataclasses.replace(
        result,
        source_tokens=packed(batch.source_tokens, source_mask, k),
        source_mask=packed(source_mask, source_mask, k),
        source_structure=_packed_structure(batch.source_structure, source_mask, k),
        source_segments=packed(_segments(source_mask, k), source_mask, k),
    )


def packed(
    values: Shaped[Array, "n l *a"], mask: Bool[Array, "n l"], k: int
) -> Shaped[Array, "b m *a"]:
    """Concatenate the tokens of k examples each: [N, L, ...] -> [N / k, k * L, ...]."""
    num_contexts = len(values) // k
    is_padding = ~mask.reshape(num_contexts, -1)  # [B, k * L]
    # A stable sort moves padding to the end and keeps the order of the tokens.
    order = jnp.argsort(is_padding, axis=1, stable=True)
    more_axes = values.shape[2:]  # the values of a structure may have an axis more than the mask
    rows = values.reshape(num_contexts, -1, *more_axes)
    order = order.reshape(*order.shape, *[1] * len(more_axes))
    return jnp.take_along_axis(rows, order, axis=1)


def _packed_structure(
    structure: Structure | None, mask: Bool[Array, "n l"], k: int
) -> dict[str, Array]:
    if structure is None:
        return {}
    result = {}
    for name, values in structure.items():
        result[name] = packed(values, mask, k)
    return result


def _segments(mask: Bool[Array, "n l"], k: int) -> Int[Array, "n l"]:
    """The number 1..k of each row inside its context, 0 at padding."""
    index_in_context = jnp.arange(len(mask)) % k
    number = index_in_context + 1
    return jnp.where(mask, number[:, None], 0)
