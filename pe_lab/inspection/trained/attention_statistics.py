"""What attention weights say: how spread they are, how far they look, how much falls on the token
that the task names.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def sums(
    w: Float[Array, "b h l s"],
    mask: Bool[Array, "_ _ l s"],
    counted: Bool[Array, "b l"],
    aligned: Bool[Array, "b l s"],
) -> dict[str, Array]:
    """Sums over queries and how many there were, for each head, [H]; of the rows of weights as they
    sum to 1.

    Args:
      counted: the queries that count.
      aligned: at most one key of each query, the one that the task names.

    Returns:
      entropy: over log n, where n keys, two or more, are in sight: 0 looks at one, 1 at all alike.
      distance: in tokens, between a query and what it attends to; meaningless between two streams.
      aligned: of the weight, where the named key is in sight; and by_chance, 1 / n.
    """
    mask = jnp.broadcast_to(mask, w.shape)
    total = w.sum(axis=-1, keepdims=True)
    p = jnp.where(total > 0, w / jnp.where(total > 0, total, 1), 0)
    n = mask.sum(axis=-1)  # [B, H, L]
    looks = counted[:, None] & (total[..., 0] > 0)
    spread, named = looks & (n > 1), looks & (aligned[:, None] & mask).any(axis=-1)
    entropy = -(p * jnp.log(jnp.where(p > 0, p, 1))).sum(axis=-1) / jnp.log(jnp.maximum(n, 2))
    place = jnp.arange(max(w.shape[2:]))
    apart = jnp.abs(place[: w.shape[2], None] - place[None, : w.shape[3]])
    values = {
        "entropy": (entropy, spread),
        "distance": ((p * apart[None, None]).sum(axis=-1), looks),
        "aligned": ((p * aligned[:, None]).sum(axis=-1), named),
        "by_chance": (1 / jnp.maximum(n, 1), named),
    }
    return {
        name: jnp.stack([jnp.where(of, value, 0).sum((0, 2)), of.sum((0, 2))])
        for name, (value, of) in values.items()
    }


def means(found: dict[str, Any]) -> dict[str, list[float | None]]:
    """The means of `sums`, one a head; None where nothing was counted."""
    return {
        name: [float(t) / float(c) if c else None for t, c in zip(*both, strict=True)]
        for name, both in found.items()
    }
