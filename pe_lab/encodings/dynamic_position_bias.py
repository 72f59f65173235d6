"""Dynamic position bias: a small network reads the offset and gives each head a bias.

Equation: MLP(i − j).
Beyond training: defined, unseen.

Wang et al. 2021, "CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale Attention",
https://arxiv.org/abs/2108.00154, for two axes of an image. The signed logarithm of the offset is
SwinV2's (https://arxiv.org/abs/2111.09883).

For text this is DynamicPositionBias of x-transformers 2.31, whose weights can be copied. Its SiLU,
width D / 4 and depth 2 are the defaults. Its offset is query position - key position. Its layers
are PyTorch's nn.Linear: weights and biases are initialized uniformly within 1 / sqrt(fan_in).
"""

import itertools

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Shaped

from pe_lab.encodings.base import OffsetBias
from pe_lab.encodings.ops import uniform_linear
from pe_lab.encodings.requirements import Requirements


class DynamicPositionBias(OffsetBias):
    """Adds MLP(query position - key position) to the logits.

    Relative. Defined at any distance, but a network may not generalize to offsets beyond training.
    All layers share one network unless share=False.

    Args:
      hidden_width: width of the hidden layers; None for D / 4.
      depth: number of hidden layers.
      logarithmic: the network reads sign(offset) * log(1 + |offset|).
    """

    requirements = Requirements(only_bias=True, relative=True, cross=True)

    def __init__(
        self,
        *,
        hidden_width: int | None = None,
        depth: int = 2,
        logarithmic: bool = False,
        width: int,
        num_heads: int,
        rngs: nnx.Rngs,
    ):
        hidden = max(width // 4, 1) if hidden_width is None else hidden_width
        if hidden < 1 or depth < 1:
            raise ValueError(
                f"DynamicPositionBias needs a hidden layer: hidden_width and depth at least 1, "
                f"got {hidden} and {depth}."
            )
        sizes = [1, *[hidden] * depth, num_heads]
        layers = []
        for inputs, outputs in itertools.pairwise(sizes):
            layers.append(uniform_linear(inputs, outputs, rngs))
        self.layers = nnx.List(layers)
        self.logarithmic = logarithmic

    def of_offset(self, offset: Shaped[Array, "*o"]) -> Float[Array, "h *o"]:
        # Query position - key position, the opposite sign of an offset here.
        x = -offset.astype(jnp.float32)[..., None]
        if self.logarithmic:
            size = jnp.log1p(jnp.abs(x))
            x = jnp.sign(x) * size
        *hidden_layers, last_layer = self.layers
        for layer in hidden_layers:
            x = jax.nn.silu(layer(x))
        by_head = last_layer(x)  # [*O, H]
        return jnp.moveaxis(by_head, -1, 0)
