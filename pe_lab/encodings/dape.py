"""DAPE: a small network reads the logits and the bias of all heads and adds to their sum.

Equation: s + b + f(s, b), s = q·k / √Dh, b the inner encoding's bias.
Beyond training: as for the inner encoding.

Zheng et al. 2024, "DAPE: Data-Adaptive Positional Encoding for Length Extrapolation",
https://arxiv.org/abs/2405.14722. Layers and their initialization follow
chuanyang-Zheng/DAPE at 51cf9bd, DAPE.py.

With kernel_size > 1 the network also sees the neighboring keys: Zheng et al. 2024, "DAPE V2:
Process Attention Score as Feature Map for Length Extrapolation", https://arxiv.org/abs/2410.04798,
as dapev2_kernel in megatron/model/positional_embeddings.py at 5667d28.

Differs from DAPE V2's code, which sets future keys to zero before the first convolution. Here all
keys that a query may not see are zero before both layers. Padding, other segments and the end of
the array then have no effect.
"""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Num, PyTree

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import uniform_linear
from pe_lab.encodings.requirements import Requirements


class DAPE(AttentionEncoding):
    """logits = s + b + f(s, b), where b is the bias of an inner encoding.

    f has two layers and reads the 2H numbers of a pair of tokens. DAPE is relative if the inner
    encoding is, and defined at the same positions. Each layer has its own network and its own inner
    encoding.

    Args:
      inner: the encoding that gives the bias; it must have no other effect.
      hidden: channels between the layers of f, with a leaky ReLU; 32 in the authors' code.
      kernel_size: odd number of keys, its own in the middle, that a layer of f reads; 1 in DAPE, 3
        in DAPE V2.
    """

    requirements = Requirements(per_layer=True, replaces=("logits",))
    example: ClassVar[dict[str, Any]] = {"inner": {"name": "kerple"}}

    def __init__(
        self,
        *,
        inner: AttentionEncoding,
        hidden: int = 32,
        kernel_size: int = 1,
        num_heads: int,
        bidirectional: bool = False,
        rngs: nnx.Rngs,
    ):
        name = type(inner).__name__
        needs = inner.requirements
        if not needs.only_bias:
            raise ValueError(f"DAPE adapts an encoding that is only a bias, and {name} is not.")
        kind = "bidirectional" if bidirectional else "causal"
        is_defined = needs.bidirectional if bidirectional else needs.causal
        if not is_defined:
            raise ValueError(f"DAPE with {name} is not defined for {kind} attention.")
        if hidden < 1:
            raise ValueError(f"DAPE's hidden must be at least 1, got {hidden}.")
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise ValueError(f"DAPE's kernel_size must be odd, got {kernel_size}.")
        reads_neighbors = kernel_size > 1
        self.requirements = dataclasses.replace(
            needs,
            cross=False,
            per_layer=True,
            only_bias=False,
            reads_between=needs.reads_between or reads_neighbors,
            replaces=("logits",),
        )
        self.inner = inner
        # Each key that the kernel reads has the logit and the bias of every head.
        self.kernel_size = kernel_size
        self.into = uniform_linear(kernel_size * 2 * num_heads, hidden, rngs)
        self.out = uniform_linear(kernel_size * hidden, num_heads, rngs)

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[PyTree, PyTree]:
        return self.inner.features(x, positions)

    def transform_logits(
        self,
        s: Float[Array, "b h l s"],
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        Q: Tokens,
        K: Tokens,
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        bias = self.inner_bias(q, k, Q, K)
        return self.adapt(s, bias, mask)

    def adapt(
        self,
        s: Float[Array, "b h l s"],
        bias: Float[Array, "_ _ l s"],
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        """s + b + f(s, b)."""
        b = jnp.broadcast_to(bias, s.shape)
        both = jnp.concatenate([s, b], axis=1)
        both = jnp.moveaxis(both, 1, 3)  # [B, L, S, 2H]
        both = self.with_neighbors(both, mask)
        hidden = self.into(both)
        hidden = jax.nn.leaky_relu(hidden, 0.01)
        # Again: the bias of the first layer makes hidden numbers of masked keys that are not 0.
        hidden = self.with_neighbors(hidden, mask)
        f = self.out(hidden)  # [B, L, S, H]
        f = jnp.moveaxis(f, 3, 1)
        return s + b + f

    def inner_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "_ _ l s"]:
        """b, the bias of the inner encoding."""
        return added(self.inner.bias(Q, K), self.inner.content_bias(q, k, Q, K))

    def with_neighbors(
        self, x: Float[Array, "b l s c"], mask: Bool[Array, "_ _ l s"]
    ) -> Float[Array, "b l s d"]:
        """The numbers of each key and its neighbors; zeros for keys that no head may see."""
        if self.kernel_size == 1:
            return x
        reach = self.kernel_size // 2
        num_keys = x.shape[2]
        is_visible = mask.any(axis=1)[..., None]  # the network reads all heads at once
        visible_keys = jnp.where(is_visible, x, 0.0)
        # Zeros before the first and after the last key.
        widths = ((0, 0), (0, 0), (reach, reach), (0, 0))
        padded_keys = jnp.pad(visible_keys, widths)
        neighbors = []
        for start in range(self.kernel_size):
            neighbors.append(padded_keys[:, :, start : start + num_keys])
        return jnp.concatenate(neighbors, axis=3)


def added(
    bias: Float[Array, "_ _ l s"] | None, content_bias: Float[Array, "_ _ l s"] | None
) -> Float[Array, "_ _ l s"]:
    """The sum of the biases that an encoding has, at least one of the two."""
    if bias is None:
        assert content_bias is not None
        return content_bias
    return bias if content_bias is None else bias + content_bias
