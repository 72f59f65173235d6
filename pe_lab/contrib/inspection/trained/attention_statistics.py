"""Statistics of attention weights: their spread, their distance, and their mass on one key.

The key is the token of the prompt that the task aligns with a token of the answer. In a model with
learned sinks, the mass on the sink is a statistic of its own, and the others read the rest of the
weights.
"""

import dataclasses
from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class AttentionSums:
    """For each head the sum over queries, and the number of queries that count.

    Attributes:
      entropy: divided by log n, where n keys (two or more) are visible; 0 for attention to one
        key, 1 for uniform attention.
      distance: in tokens, between a query and the keys; meaningless between two streams.
      aligned: weight of the aligned key, if it is visible.
      by_chance: the same for uniform attention, 1 / n.
      sink_share: weight of the learned sink; no query counts in a model without it.
    """

    entropy: Float[Array | np.ndarray, "2 h"]
    distance: Float[Array | np.ndarray, "2 h"]
    aligned: Float[Array | np.ndarray, "2 h"]
    by_chance: Float[Array | np.ndarray, "2 h"]
    sink_share: Float[Array | np.ndarray, "2 h"]


@dataclasses.dataclass(frozen=True)
class AttentionMeans:
    """The means of `AttentionSums`, one per head; None where no query counts."""

    entropy: list[float | None]
    distance: list[float | None]
    aligned: list[float | None]
    by_chance: list[float | None]
    sink_share: list[float | None]


def sums(
    w: Float[Array, "b h l s"],
    mask: Bool[Array, "_ _ l s"],
    counted: Bool[Array, "b l"],
    aligned: Bool[Array, "b l s"],
    *,
    learned_sinks: bool = False,
) -> AttentionSums:
    """Sums over queries; rows of weights are normalized to 1 and empty rows do not count.

    Args:
      counted: the queries that count.
      aligned: at most one key of each query.
      learned_sinks: what is missing in a sum of weights, up to 1, is the weight of the sink.
    """
    mask = jnp.broadcast_to(mask, w.shape)
    total = w.sum(axis=-1, keepdims=True)
    # An encoding may give weights that do not sum to 1, or none at all.
    has_weight = total > 0
    p = jnp.where(has_weight, w / jnp.where(has_weight, total, 1), 0)
    n = mask.sum(axis=-1)  # [B, H, L]
    attends = counted[:, None] & has_weight[..., 0]
    aligned_of_heads = aligned[:, None]
    has_aligned = attends & (aligned_of_heads & mask).any(axis=-1)
    # 0 log 0 counts as 0: the logarithm there is that of 1.
    log_p = jnp.log(jnp.where(p > 0, p, 1))
    # One visible key is no choice; it does not count, so any divisor serves.
    largest_entropy = jnp.log(jnp.maximum(n, 2))
    entropy = -(p * log_p).sum(axis=-1) / largest_entropy
    queries = jnp.arange(w.shape[2])
    keys = jnp.arange(w.shape[3])
    distance = jnp.abs(queries[:, None] - keys[None])  # [L, S]

    def sum_and_count(
        value: Float[Array, "b h l"], where: Bool[Array, "b h l"]
    ) -> Float[Array, "2 h"]:
        counted_values = jnp.where(where, value, 0)
        return jnp.stack([counted_values.sum((0, 2)), where.sum((0, 2))])

    mean_distance = (p * distance[None, None]).sum(axis=-1)
    weight_of_aligned = (p * aligned_of_heads).sum(axis=-1)
    # A sum of rounded weights may be above 1.
    weight_of_sink = jnp.maximum(1 - total[..., 0], 0)
    # The sink may have all of the weight, so queries that give a token none count too.
    has_sink = counted[:, None] & (n > 0) & learned_sinks
    return AttentionSums(
        entropy=sum_and_count(entropy, attends & (n > 1)),
        distance=sum_and_count(mean_distance, attends),
        aligned=sum_and_count(weight_of_aligned, has_aligned),
        by_chance=sum_and_count(1 / jnp.maximum(n, 1), has_aligned),
        sink_share=sum_and_count(weight_of_sink, has_sink),
    )


def means(sums: AttentionSums) -> AttentionMeans:
    return AttentionMeans(
        entropy=_mean(sums.entropy),
        distance=_mean(sums.distance),
        aligned=_mean(sums.aligned),
        by_chance=_mean(sums.by_chance),
        sink_share=_mean(sums.sink_share),
    )


def _mean(sum_and_count: Float[Array | np.ndarray, "2 h"]) -> list[float | None]:
    means: list[float | None] = []
    for total, count in zip(*sum_and_count, strict=True):
        means.append(float(total) / float(count) if count else None)
    return means
