"""The biases of a forward pass: each computed once, for all layers and, where examples have it alike, for all parts of a batch.

What is known of a bias before a part of a batch is read is laid out as attention on a CPU reads it, queries on the minor axis.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens, toeplitz

Place = tuple[tuple[int, ...], int]  # the encodings of a layer, and its row of positions
Known = dict[Place, Any]  # [H, 2N-1], the kernel of offsets 1-N..N-1; or a bias with its axes turned, [H|1, 1, S, L]

_TURNED = (1, 0, 3, 2)


class Biases:
    """Those of one forward pass.

    Args:
      known: what `whole` gave before, for as many tokens or more.
    """

    def __init__(self, known: Known | None = None):
        self.known, self.computed = known or {}, dict[Place, Any]()

    def at(self, place: Place, encoding: AttentionEncoding, Q: Tokens, K: Tokens) -> Any:
        """[B|1, H|1, L, S] or None."""
        if encoding.acts_in("features"):
            return None
        if place in self.known:
            return jnp.transpose(_part(self.known[place], Q.positions.shape[1], K.positions.shape[1]), _TURNED)
        if place not in self.computed:
            self.computed[place] = encoding.bias(Q, K)
        return self.computed[place]


def whole(encoding: AttentionEncoding, Q: Tokens, K: Tokens) -> Any:
    """What is known of a bias that all examples have alike; None where they have not, or where there is none."""
    if encoding.acts_in("features") or encoding.reads_length or not len(Q.positions) == len(K.positions) == 1:
        return None
    if encoding.is_kernel(Q, K):
        most = max(Q.positions.shape[1], K.positions.shape[1])
        return encoding.kernel(jnp.arange(1 - most, most))
    return None if (bias := encoding.bias(Q, K)) is None else jnp.transpose(bias, _TURNED)


def _part(known: Any, queries: int, keys: int) -> Float[Array, "_ _ s l"]:
    """The turned bias of the first tokens."""
    if known.ndim == 4:
        return known[:, :, :keys, :queries]
    zero = known.shape[1] // 2
    return toeplitz(known[:, zero + 1 - queries : zero + keys][:, ::-1], keys)[:, None]
