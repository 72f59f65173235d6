"""One layer: attention, cross-attention and feed-forward, each with norm, dropout and residual."""

import dataclasses
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Key

from pe_lab.kernels import Kernels
from pe_lab.model.attention import Attention
from pe_lab.model.convolution import Before, Convolutions, Neighbors, convolve, has_neighbors
from pe_lab.model.keys import Keys, LayerCache
from pe_lab.model.recurrent import Recurrence
from pe_lab.model.streams import View
from pe_lab.model.terms import AttentionTerms
from pe_lab.runs.settings.settings import Model

# Sublayers: indices of their norms and of their dropout streams. Other numbers would draw other
# dropout masks, and old runs could not be reproduced.
_ATTENTION, _FEEDFORWARD, _CROSS = range(3)

Norm = nnx.LayerNorm | nnx.RMSNorm
_NORMS: Mapping[str, type[Norm]] = {
    "layer": nnx.LayerNorm,
    "rms": nnx.RMSNorm,
}
_ACTIVATIONS: Mapping[str, Callable] = {
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
}
_GATES: Mapping[str, Callable] = {
    "swiglu": jax.nn.silu,
    "geglu": jax.nn.gelu,
}


class FeedForward(nnx.Module):
    """Two linear maps with an activation between them; swiglu and geglu gate the hidden layer."""

    def __init__(self, model: Model, *, kernels: Kernels, rngs: nnx.Rngs):
        width, hidden_width = model.width, model.feedforward_width

        def linear(inputs: int, outputs: int) -> nnx.Linear:
            return nnx.Linear(
                inputs,
                outputs,
                dtype=jnp.dtype(model.compute_dtype),
                dot_general=kernels.dot_general,
                rngs=rngs,
            )

        self.activation = model.activation
        self.into = linear(width, hidden_width)
        self.out = linear(hidden_width, width)
        is_gated = model.activation in _GATES
        self.gate = linear(width, hidden_width) if is_gated else None

    def __call__(
        self, x: Float[Array, "b l d"], neighbors: Neighbors | None = None
    ) -> Float[Array, "b l d"]:
        if self.gate is not None:
            activation = _GATES[self.activation]
            gate = activation(convolve(neighbors, "D_gate", self.gate(x)))
            hidden = gate * convolve(neighbors, "D", self.into(x))
        else:
            activation = _ACTIVATIONS[self.activation]
            hidden = activation(convolve(neighbors, "D", self.into(x)))
        return self.out(hidden)


class Block(nnx.Module):
    """Self-attention, cross-attention in a decoder with an encoder, feed-forward.

    The optional norm after attention, before the residual sum, is from Li et al. 2025, "On
    Vanishing Variance in Transformer Length Generalization", https://arxiv.org/abs/2504.02827.
    """

    def __init__(
        self,
        model: Model,
        cross: bool,
        layer: int,
        *,
        kernels: Kernels,
        rngs: nnx.Rngs,
    ):
        def norms(count: int) -> list[Norm]:
            return [make_norm(model, rngs) for _ in range(count)]

        num_attentions = 2 if cross else 1
        self.pre_norm = model.norm_position in ("pre", "both")
        self.post_norm = model.norm_position in ("post", "both")
        self.dropout = model.dropout
        self.attention: Attention | Recurrence
        if model.mixer == "attention":
            self.attention = Attention(model, kernels=kernels, rngs=rngs)
        else:
            self.attention = Recurrence(model, rngs=rngs)
        self.cross = Attention(model, kernels=kernels, rngs=rngs) if cross else None
        has_feedforward = model.feedforward_width > 0
        self.feedforward = (
            FeedForward(model, kernels=kernels, rngs=rngs) if has_feedforward else None
        )
        # nnx.List, because Flax does not look for parameters in plain lists.
        # Cross-attention has the last index, so with it the list has all three norms.
        num_norms = 3 if cross else 1 + has_feedforward
        self.norms = nnx.List(norms(num_norms))
        num_after = num_attentions if model.norm_after_attention else 0
        self.after_attention = nnx.List(norms(num_after))
        num_second = num_norms if self.pre_norm and self.post_norm else 0
        self.second_norms = nnx.List(norms(num_second))
        # A separate random stream, so that the other parameters start as in a model without these.
        more_rngs = nnx.Rngs(params=rngs.additions())
        reads_neighbors = has_neighbors(model, layer)
        self.convolutions = Convolutions(model, layer, rngs=more_rngs) if reads_neighbors else None

    def __call__(
        self,
        x: Float[Array, "b l d"],
        view: View,
        terms: AttentionTerms,
        cross: tuple[Keys, AttentionTerms] | None = None,
        cache: LayerCache | None = None,
        dropout_keys: Key[Array, "b"] | None = None,
    ) -> tuple[Float[Array, "b l d"], Keys]:
        """The block's output, and the keys that its self-attention used.

        Args:
          view: of the inputs.
          terms: of self-attention.
          cross: an encoder's keys, and the terms of cross-attention.
          cache: the keys of earlier tokens, while decoding.
        """
        valid = view.valid
        neighbors = self._neighbors(view, cache)
        y = self.norm_input(x, _ATTENTION)
        y = convolve(neighbors, "A", y)
        keys = self.attention.keys(y, valid, terms, neighbors=neighbors)
        if cache is not None:
            keys = cache.add(keys)
        y = self.attention(y, valid, keys, terms, neighbors)
        y = convolve(neighbors, "O", y)
        y = self.norm_attention(y, 0)
        x = self.add_residual(x, y, _ATTENTION, dropout_keys)
        if self.cross is not None and cross is not None:
            y = self.norm_input(x, _CROSS)
            y = self.cross(y, valid, *cross)
            y = self.norm_attention(y, 1)
            x = self.add_residual(x, y, _CROSS, dropout_keys)
        if self.feedforward is not None:
            y = self.norm_input(x, _FEEDFORWARD)
            y = convolve(neighbors, "C", y)
            y = self.feedforward(y, neighbors)
            y = convolve(neighbors, "F", y)
            x = self.add_residual(x, y, _FEEDFORWARD, dropout_keys)
        if neighbors is not None:
            keys = dataclasses.replace(keys, recent=neighbors.before.latest)
        return x, keys

    def _neighbors(self, view: View, cache: LayerCache | None) -> Neighbors | None:
        """The tokens before each one, if the block reads them."""
        if self.convolutions is None:
            return None
        if cache is None:
            return Neighbors(self.convolutions, Before(view))
        before = Before(view, cache.keys.recent, cache.counts)
        return Neighbors(self.convolutions, before)

    def norm_input(
        self,
        x: Float[Array, "b l d"],
        sublayer: int,
    ) -> Float[Array, "b l d"]:
        """The input of a sublayer: normalized before it, or not at all."""
        if not self.pre_norm:
            return x
        norm = self.norms[sublayer]
        return norm(x)

    def norm_attention(
        self,
        y: Float[Array, "b l d"],
        index: int,
    ) -> Float[Array, "b l d"]:
        """The output of self-attention (0) or cross-attention (1), normalized if the model does."""
        if not self.after_attention:
            return y
        norm = self.after_attention[index]
        return norm(y)

    def add_residual(
        self,
        x: Float[Array, "b l d"],
        y: Float[Array, "b l d"],
        sublayer: int,
        dropout_keys: Key[Array, "b"] | None,
    ) -> Float[Array, "b l d"]:
        """The sum of a sublayer's input and output, normalized if the model has such norms."""
        keys = fold_keys(dropout_keys, sublayer)
        y = dropout(y, self.dropout, keys)
        x = x + y
        if not self.post_norm:
            return x
        norms = self.second_norms or self.norms
        norm = norms[sublayer]
        return norm(x)


def make_norm(model: Model, rngs: nnx.Rngs) -> Norm:
    norm = _NORMS[model.norm]
    dtype = jnp.dtype(model.compute_dtype)
    return norm(model.width, dtype=dtype, rngs=rngs)


def dropout(
    x: Float[Array, "b l d"],
    rate: float,
    keys: Key[Array, "b"] | None,
) -> Float[Array, "b l d"]:
    """Dropout with one key for each example, so that it does not depend on the others."""
    if keys is None or rate == 0:
        return x

    def mask_of_example(key: Key[Array, ""]) -> Bool[Array, "l d"]:
        return jax.random.bernoulli(key, keep_rate, shape)

    keep_rate = 1 - rate
    shape = x.shape[1:]
    mask = jax.vmap(mask_of_example)(keys)  # [B, L, D]
    # Divided here, so that evaluation needs no factor.
    return jnp.where(mask, x / keep_rate, 0)


def fold_keys(
    keys: Key[Array, "b"] | None,
    index: int,
) -> Key[Array, "b"] | None:
    """`jax.random.fold_in` of every key."""
    if keys is None:
        return None
    fold_in = jax.vmap(jax.random.fold_in, in_axes=(0, None))
    return fold_in(keys, index)
