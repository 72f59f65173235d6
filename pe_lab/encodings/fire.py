"""FIRE: a small network of the distance, as a share of the query's position, both on a log scale.

Li et al. 2023, "Functional Interpolation for Relative Positions Improves Long Context Transformers",
https://arxiv.org/abs/2310.04418.

Initialization and sizes are those of the ports in mcleish7/arithmetic at 55af9d5 and
chuanyang-Zheng/DAPE at 5667d28, which agree except for a halved threshold in the latter. Both
layers are PyTorch's nn.Linear: weights and biases start uniform within 1 / sqrt(fan_in). The
random biases matter. The network reads values in 0..1, so without them the initial bias is a
straight line and half of the hidden units are never active. Distances count on both sides, as in
the former port; the paper is causal.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative, toeplitz, uniform_linear

_EPSILON = 1e-6  # on the denominator, as in the ports


class FIRE(AttentionEncoding):
    """Adds MLP(psi(distance) / psi(max(i, threshold))), psi(x) = log(1 + |c| x), i the query's position; one output a head.

    Not relative: beyond the threshold the same distance shrinks as the query moves on, which keeps the
    network's input in 0..1 at any causal length. The threshold and c are learned with it.

    Args:
      hidden_width: of the network's one hidden layer (ReLU).
      start_rate: c at the start.
      start_threshold: in positions, at the start; below it the bias depends on the distance alone.
    """

    shared = False

    def __init__(self, *, hidden_width: int = 32, start_rate: float = 0.1, start_threshold: float = 512.0, num_heads: int, rngs: nnx.Rngs):
        if hidden_width < 1 or start_rate <= 0 or start_threshold <= 0:
            got = f"{hidden_width}, {start_rate:g} and {start_threshold:g}"
            raise ValueError(f"FIRE's hidden_width, start_rate and start_threshold must be more than 0, got {got}.")
        self.into = uniform_linear(1, hidden_width, rngs)
        self.out = uniform_linear(hidden_width, num_heads, rngs)
        self.rate = nnx.Param(jnp.asarray(start_rate))
        self.threshold_factor = nnx.Param(jnp.asarray(1.0))  # learned in units of its start, as in the ports
        self.start_threshold = start_threshold

    def psi(self, x: Float[Array, "*o"]) -> Float[Array, "*o"]:
        return jnp.log1p(jnp.abs(self.rate[...]) * x)

    @property
    def threshold(self) -> Float[Array, ""]:
        return jnp.abs(self.threshold_factor[...]) * self.start_threshold

    def normalized_distance(self, Q: Tokens, K: Tokens) -> Float[Array, "b l s"]:
        """psi(distance) / psi(max(i, threshold)), [B|1, L, S]."""
        scale = self.psi(jnp.maximum(Q.positions.astype(jnp.float32), self.threshold))
        return self.psi(jnp.abs(relative(Q, K)).astype(jnp.float32)) / (scale + _EPSILON)[..., None]

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "_ _ l s"]:
        """Where positions are one arange below the threshold, the network sees L+S-1 distances instead of L * S."""

        def of_pairs() -> Float[Array, "_ h l s"]:
            return self.network(self.normalized_distance(Q, K)[:, None])

        def of_distances() -> Float[Array, "1 h l s"]:
            queries, keys = Q.positions.shape[1], K.positions.shape[1]
            distances = self.psi(jnp.abs(jnp.arange(1 - queries, keys)).astype(jnp.float32))
            by_head = self.network((distances / (self.psi(self.threshold) + _EPSILON)).reshape(1, 1, 1, -1))
            return toeplitz(by_head[0, :, 0], queries)[None]

        if not (Q.arange and K.arange):
            return of_pairs()
        remembering_nothing = jax.checkpoint(of_pairs)  # a cond sets room aside for what either side remembers
        return jax.lax.cond(Q.positions.max() <= self.threshold, of_distances, remembering_nothing)

    def network(self, x: Float[Array, "b 1 l s"]) -> Float[Array, "b h l s"]:
        """One hidden layer over each number; channels stand in front of the long axes."""
        column = (1, -1, 1, 1)
        hidden = jax.nn.relu(self.into.kernel[...].reshape(column) * x + self.into.bias[...].reshape(column))  # type: ignore[index]
        return jnp.einsum("bcls,ch->bhls", hidden, self.out.kernel[...]) + self.out.bias[...].reshape(column)  # type: ignore[index]
