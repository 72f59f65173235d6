"""One layer: attention, cross-attention and feed-forward, each with norm, dropout and residual."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Key

from pe_lab.kernels import Kernels
from pe_lab.model.attention import Attention, Keys
from pe_lab.model.terms import AttentionTerms
from pe_lab.runs.run import Model

# Dropout streams of a block's sublayers. Another number is another experiment.
_ATTENTION, _FEEDFORWARD, _CROSS = range(3)
_NORMS: dict[str, Any] = {"layer": nnx.LayerNorm, "rms": nnx.RMSNorm}
_ACTIVATIONS: dict[str, Callable] = {"relu": jax.nn.relu, "gelu": jax.nn.gelu}


class FeedForward(nnx.Module):
    """Two linear maps with an activation between them; swiglu gates the hidden layer."""

    def __init__(self, model: Model, *, kernels: Kernels, rngs: nnx.Rngs):
        dtype = jnp.dtype(model.compute_dtype)

        def linear(inputs: int, outputs: int) -> nnx.Linear:
            product = kernels.dot_general
            return nnx.Linear(inputs, outputs, dtype=dtype, dot_general=product, rngs=rngs)

        self.activation = model.activation
        self.into = linear(model.width, model.feedforward_width)
        self.out = linear(model.feedforward_width, model.width)
        is_gated = model.activation == "swiglu"
        self.gate = linear(model.width, model.feedforward_width) if is_gated else None

    def __call__(self, x: Float[Array, "b l d"]) -> Float[Array, "b l d"]:
        if self.gate is not None:
            return self.out(jax.nn.silu(self.gate(x)) * self.into(x))
        return self.out(_ACTIVATIONS[self.activation](self.into(x)))


class Block(nnx.Module):
    """Self-attention, cross-attention in a decoder with an encoder, feed-forward.

    The optional norm after attention, before the residual sum, is that of Li et al. 2025, "On
    Vanishing Variance in Transformer Length Generalization", https://arxiv.org/abs/2504.02827.
    """

    def __init__(self, model: Model, cross: bool, *, kernels: Kernels, rngs: nnx.Rngs):
        self.pre_norm = model.norm_position == "pre"
        self.dropout = model.dropout
        self.attention = Attention(model, kernels=kernels, rngs=rngs)
        self.cross = Attention(model, kernels=kernels, rngs=rngs) if cross else None
        self.feedforward = FeedForward(model, kernels=kernels, rngs=rngs)
        self.norms = nnx.List([make_norm(model, rngs) for _ in range(2 + cross)])
        num_after = (1 + cross) * model.norm_after_attention
        self.after_attention = nnx.List([make_norm(model, rngs) for _ in range(num_after)])

    def __call__(
        self,
        x: Float[Array, "b l d"],
        valid: Any,
        keys_of: Callable[[Keys], Keys],
        terms: AttentionTerms,
        cross: tuple[Keys, AttentionTerms] | None,
        dropout_keys: Key[Array, "b"] | None,
    ) -> tuple[Float[Array, "b l d"], Keys]:
        """The block's output, and the keys that its self-attention used.

        Args:
          valid: [B, L], False at padding.
          keys_of: the keys to attend to, from those of these inputs; a cache adds earlier ones.
          terms: of self-attention.
          cross: an encoder's keys, and the terms of cross-attention.
        """
        y = self.normed(x, _ATTENTION)
        keys = keys_of(self.attention.keys(y, valid, terms))
        y = self.attention(y, valid, keys, terms)
        x = self.residual(x, self.normed_after(y, 0), _ATTENTION, dropout_keys)
        if self.cross is not None and cross is not None:
            y = self.cross(self.normed(x, _CROSS), valid, *cross)
            x = self.residual(x, self.normed_after(y, 1), _CROSS, dropout_keys)
        y = self.feedforward(self.normed(x, _FEEDFORWARD))
        return self.residual(x, y, _FEEDFORWARD, dropout_keys), keys

    def normed(self, x: Float[Array, "b l d"], sublayer: int) -> Float[Array, "b l d"]:
        """The input of a sublayer."""
        return self.norms[sublayer](x) if self.pre_norm else x

    def normed_after(self, y: Float[Array, "b l d"], which: int) -> Float[Array, "b l d"]:
        """The output of self-attention (0) or cross-attention (1)."""
        return self.after_attention[which](y) if self.after_attention else y

    def residual(
        self, x: Float[Array, "b l d"], y: Float[Array, "b l d"], sublayer: int, dropout_keys: Any
    ) -> Float[Array, "b l d"]:
        """The sum of a sublayer's input and output."""
        x = x + dropout(y, self.dropout, fold_keys(dropout_keys, sublayer))
        return x if self.pre_norm else self.norms[sublayer](x)


def make_norm(model: Model, rngs: nnx.Rngs) -> Any:
    return _NORMS[model.norm](model.width, dtype=jnp.dtype(model.compute_dtype), rngs=rngs)


def dropout(
    x: Float[Array, "b l d"], rate: float, keys: Key[Array, "b"] | None
) -> Float[Array, "b l d"]:
    """Dropout with one key for each example, so that it does not depend on the others."""
    if keys is None or rate == 0:
        return x
    kept = jax.vmap(lambda key: jax.random.bernoulli(key, 1 - rate, x.shape[1:]))(keys)
    return jnp.where(kept, x / (1 - rate), 0)


def fold_keys(keys: Key[Array, "b"] | None, index: int) -> Key[Array, "b"] | None:
    """`jax.random.fold_in` of every key."""
    return None if keys is None else jax.vmap(lambda key: jax.random.fold_in(key, index))(keys)
