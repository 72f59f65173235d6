"""DAPE: a small network reads the logits and the bias of all heads and adds to their sum.

Zheng et al. 2024, "DAPE: Data-Adaptive Positional Encoding for Length Extrapolation",
https://arxiv.org/abs/2405.14722. Layers and their initialization are those of
chuanyang-Zheng/DAPE at 51cf9bd, DAPE.py.

With kernel_size > 1 the network also sees the neighboring keys: Zheng et al. 2024, "DAPE V2:
Process Attention Score as Feature Map for Length Extrapolation", https://arxiv.org/abs/2410.04798,
as dapev2_kernel in megatron/model/positional_embeddings.py at 5667d28.

Differs from DAPE V2's code, which sets future keys to zero before the first convolution. Here all
keys that a query may not see are zero before both layers. Padding, other segments and the end of
the array then have no effect.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Num

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
        name, needs = type(inner).__name__, inner.requirements
        if not needs.only_bias:
            raise ValueError(f"DAPE adapts an encoding that is only a bias, and {name} is not.")
        if not (needs.bidirectional if bidirectional else needs.causal):
            kind = "bidirectional" if bidirectional else "causal"
            raise ValueError(f"DAPE with {name} is not defined for {kind} attention.")
        if hidden < 1:
            raise ValueError(f"DAPE's hidden must be at least 1, got {hidden}.")
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise ValueError(f"DAPE's kernel_size must be odd, got {kernel_size}.")
        self.requirements = dataclasses.replace(
            needs,
            cross=False,
            per_layer=True,
            only_bias=False,
            reads_between=needs.reads_between or kernel_size > 1,  # reads keys next to each key
            replaces=("logits",),
        )
        self.inner, self.kernel_size = inner, kernel_size
        self.into = uniform_linear(kernel_size * 2 * num_heads, hidden, rngs)
        self.out = uniform_linear(kernel_size * hidden, num_heads, rngs)

    def features(self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]) -> Any:
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
        return self.adapt(s, self.inner_bias(q, k, Q, K), mask)

    def adapt(
        self,
        s: Float[Array, "b h l s"],
        bias: Float[Array, "_ _ l s"],
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        """s + b + f(s, b)."""
        b = jnp.broadcast_to(bias, s.shape)
        both = jnp.moveaxis(jnp.concatenate([s, b], axis=1), 1, 3)  # [B, L, S, 2H]
        hidden = jax.nn.leaky_relu(self.into(self.around(both, mask)), 0.01)
        return s + b + jnp.moveaxis(self.out(self.around(hidden, mask)), 3, 1)

    def inner_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "_ _ l s"]:
        """b, the bias of the inner encoding."""
        terms = [self.inner.bias(Q, K), self.inner.content_bias(q, k, Q, K)]
        present = [term for term in terms if term is not None]
        return sum(present[1:], present[0])

    def around(
        self, x: Float[Array, "b l s c"], mask: Bool[Array, "_ _ l s"]
    ) -> Float[Array, "b l s d"]:
        """The numbers of each key and its neighbors; zeros for keys that no head may see."""
        if self.kernel_size == 1:
            return x
        reach, num_keys = self.kernel_size // 2, x.shape[2]
        visible = jnp.where(mask.any(axis=1)[..., None], x, 0.0)
        padded = jnp.pad(visible, ((0, 0), (0, 0), (reach, reach), (0, 0)))
        shifted = [padded[:, :, n : n + num_keys] for n in range(self.kernel_size)]
        return jnp.concatenate(shifted, axis=3)
