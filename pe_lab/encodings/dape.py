"""DAPE: a small network reads logits and bias of all heads, and adds to both.

Zheng et al. 2024, "DAPE: Data-Adaptive Positional Encoding for Length Extrapolation", https://arxiv.org/abs/2405.14722;
layers and their starts as in chuanyang-Zheng/DAPE at 51cf9bd, DAPE.py. With kernel_size > 1 the network also sees the keys
beside each: Zheng et al. 2024, "DAPE V2: Process Attention Score as Feature Map for Length Extrapolation",
https://arxiv.org/abs/2410.04798, dapev2_kernel in megatron/model/positional_embeddings.py at 5667d28.

Differs from the second's code, which zeroes future keys before the first convolution: here all that a query may
not see is zero before both. Neither padding, nor other segments, nor the end of the array then matter.
"""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Num

from pe_lab.encodings.base import TRAITS, AttentionEncoding, Tokens, uniform_linear


class DAPE(AttentionEncoding):
    """logits = s + b + f(s, b), b another encoding's bias, f two layers over the 2H numbers of a pair of tokens.

    Relative, and defined as far, as the other encoding is. The network differs from layer to layer, and with it the
    other encoding.

    Args:
      inner: the encoding whose bias it is, itself of no other effect.
      hidden: numbers between the layers of f, which pass a leaky ReLU; 32 in the authors' code.
      kernel_size: keys that a layer of f sees around its own, odd; 1 in DAPE, 3 in DAPE V2.
    """

    shared = False

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
        if not (inner.acts_in("bias") or inner.acts_in("kernel")):
            raise ValueError(f"DAPE adapts a bias, and {name} has none.")
        if others := [hook for hook in ("qk", "mask", "scores", "weights", "mix") if inner.acts_in(hook)]:
            raise ValueError(f"DAPE adapts a bias alone, and {name} also acts in {' and '.join(others)}.")
        if not (inner.bidirectional if bidirectional else inner.causal):
            raise ValueError(f"DAPE with {name} is not defined for {'bidirectional' if bidirectional else 'causal'} attention.")
        if hidden < 1:
            raise ValueError(f"DAPE's hidden must be at least 1, got {hidden}.")
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise ValueError(f"DAPE's kernel_size must be odd, got {kernel_size}.")
        for trait in TRAITS:
            setattr(self, trait, getattr(inner, trait))
        self.cross = False  # a config asks the class, before there is an inner encoding
        self.sums_between = inner.sums_between or kernel_size > 1  # the key beside may be another example's
        self.inner, self.kernel_size = inner, kernel_size
        self.into = uniform_linear(kernel_size * 2 * num_heads, hidden, rngs)
        self.out = uniform_linear(kernel_size * hidden, num_heads, rngs)

    def features(self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]) -> Any:
        return self.inner.features(x, positions)

    def scores(
        self,
        s: Float[Array, "b h l s"],
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        Q: Tokens,
        K: Tokens,
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        bias = self.inner.bias(Q, K)
        assert bias is not None
        b = jnp.broadcast_to(bias, s.shape)
        both = jnp.moveaxis(jnp.concatenate([s, b], axis=1), 1, 3)  # [B, L, S, 2H]
        hidden = jax.nn.leaky_relu(self.into(self.around(both, mask)), 0.01)
        return s + b + jnp.moveaxis(self.out(self.around(hidden, mask)), 3, 1)

    def around(self, x: Float[Array, "b l s c"], mask: Bool[Array, "_ _ l s"]) -> Float[Array, "b l s d"]:
        """Each key's numbers and those of the keys beside it, zeros where there is none that a head may see."""
        if self.kernel_size == 1:
            return x
        reach, keys = self.kernel_size // 2, x.shape[2]
        seen = jnp.pad(jnp.where(mask.any(axis=1)[..., None], x, 0.0), ((0, 0), (0, 0), (reach, reach), (0, 0)))
        return jnp.concatenate([seen[:, :, n : n + keys] for n in range(self.kernel_size)], axis=3)
