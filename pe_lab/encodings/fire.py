"""FIRE: a small network reads the distance relative to the query's position, both on a log scale.

Equation: MLP(log(1+c·d) / log(1+c·max(i, L))).
Beyond training: defined, the input is at most 1.

Li et al. 2023, "Functional Interpolation for Relative Positions Improves Long Context
Transformers", https://arxiv.org/abs/2310.04418.

Initialization and sizes follow the ports in mcleish7/arithmetic at 55af9d5 and
chuanyang-Zheng/DAPE at 5667d28, which agree except for a halved threshold in the latter. Both
layers are PyTorch's nn.Linear: weights and biases are initialized uniformly within 1 /
sqrt(fan_in). The random biases matter. The network reads values in 0..1, so without them the
initial bias is a straight line and half of the hidden units are never active.

Distances count on both sides, as in the former port. The paper is causal.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.ops import check_positive, uniform_linear
from pe_lab.encodings.requirements import Requirements

EPSILON = 1e-6  # added to the denominator, as in the ports


class FIRE(AttentionEncoding):
    """Adds MLP(psi(distance) / psi(max(i, threshold))) with psi(x) = log(1 + |c| x).

    i is the query's position, and the network has one output for each head. Not relative: beyond
    the threshold the network's input for a distance decreases with the query's position, which
    keeps it in 0..1 at any causal length. The threshold and c are learned.

    Args:
      hidden_width: width of the network's one hidden layer (ReLU).
      start_rate: initial value of c.
      start_threshold: initial value of the threshold, in positions; below it the bias depends on
        the distance alone.
    """

    requirements = Requirements(only_bias=True, per_layer=True)

    def __init__(
        self,
        *,
        hidden_width: int = 32,
        start_rate: float = 0.1,
        start_threshold: float = 512.0,
        num_heads: int,
        rngs: nnx.Rngs,
    ):
        if hidden_width < 1:
            raise ValueError(f"FIRE's hidden_width must be at least 1, got {hidden_width}.")
        check_positive("FIRE", start_rate=start_rate, start_threshold=start_threshold)
        self.into = uniform_linear(1, hidden_width, rngs)
        self.out = uniform_linear(hidden_width, num_heads, rngs)
        self.rate = nnx.Param(jnp.asarray(start_rate, jnp.float32))
        # The threshold is learned in units of its initial value, as in the ports.
        self.threshold_factor = nnx.Param(jnp.asarray(1.0, jnp.float32))
        self.start_threshold = start_threshold

    def psi(self, x: Float[Array, "*o"]) -> Float[Array, "*o"]:
        c = jnp.abs(self.rate[...])
        return jnp.log1p(c * x)

    @property
    def threshold(self) -> Float[Array, ""]:
        return jnp.abs(self.threshold_factor[...]) * self.start_threshold

    def normalized_distance(self, Q: Tokens, K: Tokens) -> Float[Array, "b l s"]:
        """psi(distance) / psi(max(i, threshold)), [B|1, L, S]."""
        i = Q.positions.astype(jnp.float32)
        largest = jnp.maximum(i, self.threshold)
        denominator = self.psi(largest) + EPSILON  # [B|1, L]
        distance = jnp.abs(relative(Q, K))
        numerator = self.psi(distance.astype(jnp.float32))  # [B|1, L, S]
        return numerator / denominator[..., None]

    def bias(self, Q: Tokens, K: Tokens) -> Float[Array, "_ h l s"]:
        x = self.normalized_distance(Q, K)
        return self.network(x[:, None])  # one input channel: [B|1, 1, L, S]

    def network(self, x: Float[Array, "b 1 l s"]) -> Float[Array, "b h l s"]:
        """The network at each number."""
        # Channels come before the long axes, so that a CPU's vectors run along tokens.
        column = (1, -1, 1, 1)
        into_bias = self.into.bias[...].reshape(column)  # type: ignore[index]
        out_bias = self.out.bias[...].reshape(column)  # type: ignore[index]
        into = self.into.kernel[...].reshape(column)
        hidden = into * x + into_bias  # [B|1, C, L, S]
        hidden = jax.nn.relu(hidden)
        out = jnp.einsum("bcls,ch->bhls", hidden, self.out.kernel[...])
        return out + out_bias
