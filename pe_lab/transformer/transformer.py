"""The decoder: token embedding, blocks of attention and feed-forward, output logits.

Vaswani et al. 2017, "Attention Is All You Need", https://arxiv.org/abs/1706.03762, with today's usual
choices as fields: where the norm stands, which norm, which activation.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Key, Num

from pe_lab import config, plugins
from pe_lab.encodings.base import AttentionEncoding, Chain, InputEncoding, Tokens, overrides
from pe_lab.errors import UserError
from pe_lab.transformer.attention import Attention, visible

_BACKBONE, _ENCODINGS = 0, 1  # streams of the init key: an encoding's draws never move the backbone's
_NORMS: dict[str, Any] = {"layer": nnx.LayerNorm, "rms": nnx.RMSNorm}
_ACTIVATIONS: dict[str, Callable] = {"relu": jax.nn.relu, "gelu": jax.nn.gelu}


class FeedForward(nnx.Module):
    """Two linear maps with an activation between, the same for every token; swiglu gates the hidden one."""

    def __init__(self, model: config.Model, *, rngs: nnx.Rngs):
        self.activation = model.activation
        self.into = nnx.Linear(model.width, model.feedforward_width, rngs=rngs)
        self.out = nnx.Linear(model.feedforward_width, model.width, rngs=rngs)
        gated = model.activation == "swiglu"
        self.gate = nnx.Linear(model.width, model.feedforward_width, rngs=rngs) if gated else None

    def __call__(self, x: Float[Array, "b l d"]) -> Float[Array, "b l d"]:
        if self.gate is not None:
            return self.out(jax.nn.silu(self.gate(x)) * self.into(x))
        return self.out(_ACTIVATIONS[self.activation](self.into(x)))


class Block(nnx.Module):
    """Attention, then feed-forward, each with its norm, dropout and residual connection."""

    def __init__(self, model: config.Model, *, rngs: nnx.Rngs):
        norm = _NORMS[model.norm]
        self.pre_norm = model.norm_position == "pre"
        self.attention = Attention(model.width, model.num_heads, rngs=rngs)
        self.feedforward = FeedForward(model, rngs=rngs)
        self.norms = nnx.List([norm(model.width, rngs=rngs) for _ in range(2)])
        self.dropout = nnx.Dropout(model.dropout)

    def __call__(self, x, attend_to: dict[str, Any], dropout_key):
        def attention(y):
            return self.attention(y, **attend_to)

        sublayers: tuple[Callable, ...] = (attention, self.feedforward)
        for i, sublayer in enumerate(sublayers):
            key = None if dropout_key is None else jax.random.fold_in(dropout_key, i)
            y = sublayer(self.norms[i](x) if self.pre_norm else x)
            x = x + self.dropout(y, deterministic=key is None, rngs=key)
            x = x if self.pre_norm else self.norms[i](x)
        return x


class Transformer(nnx.Module):
    """A decoder over token ids whose encodings come from its config.

    It holds each encoding once, and a static map from layers to encodings: T5's table for all layers,
    Shaw's one for each, a NoPE layer among RoPE layers are the same mechanism.

    Args:
      model: the sizes, choices and encodings.
      vocabulary_size: V.
      key: of the start. One key gives one backbone, whatever the encodings.

    Raises:
      UserError: an encoding refuses the sizes or the architecture.
    """

    def __init__(self, model: config.Model, vocabulary_size: int, *, key: Key[Array, ""]):
        rngs = nnx.Rngs(params=jax.random.fold_in(key, _BACKBONE))
        start = nnx.initializers.normal(model.width**-0.5)  # unit rms once scaled by sqrt(D)
        self.embedding = nnx.Embed(vocabulary_size, model.width, embedding_init=start, rngs=rngs)
        self.embedding_scale = model.width**0.5 if model.scale_embeddings else 1.0
        self.blocks = nnx.List([Block(model, rngs=rngs) for _ in range(model.num_layers)])
        self.norm = _NORMS[model.norm](model.width, rngs=rngs) if model.norm_position == "pre" else None
        self.output = None if model.tied_output else nnx.Linear(model.width, vocabulary_size, use_bias=False, rngs=rngs)
        self.dropout = nnx.Dropout(model.dropout)
        at_input, in_attention, self.layer_encodings = _encodings(model, jax.random.fold_in(key, _ENCODINGS))
        self.input_encodings, self.attention_encodings = nnx.List(at_input), nnx.List(in_attention)

    def __call__(
        self,
        tokens: Int[Array, "b l"],
        positions: Num[Array, "n _ l"],
        mask: Bool[Array, "b l"],
        *,
        segments: Int[Array, "b l"] | None = None,
        arange: bool = False,
        dropout_key: Key[Array, ""] | None = None,
        fused: bool = False,
    ) -> Float[Array, "b l v"]:
        """Logits of the next token at every place.

        Args:
          tokens: ids.
          positions: [N, B|1, L] of a position scheme; N is 1 or the number of layers.
          mask: True at tokens, False at padding.
          segments: [B, L]; tokens of different segments do not see each other.
          arange: static; the positions are consecutive, one row for the whole batch.
          dropout_key: None turns dropout off.
          fused: use fused attention where the encoding allows it.
        """
        slots, lengths = jnp.arange(tokens.shape[1]), mask.sum(axis=1)
        rows = [Tokens(p, slots, lengths, None, arange) for p in positions]
        keys = [None if dropout_key is None else jax.random.fold_in(dropout_key, i) for i in range(len(self.blocks) + 1)]
        x = self.embed(tokens, positions[0])
        x = self.dropout(x, deterministic=keys[-1] is None, rngs=keys[-1])
        seen = visible(rows[0], mask, segments, causal=True)
        biases: dict[tuple, Any] = {}
        for layer, block in enumerate(self.blocks):
            row = layer if len(rows) > 1 else 0
            encoding, which = self.encoding_of(layer), (self.layer_encodings[layer], row)
            if which not in biases:  # what layers share is computed once
                biases[which] = None if overrides(encoding, "features") else encoding.bias(rows[row], rows[row])
            attend_to = dict(tokens=rows[row], encoding=encoding, valid=mask, mask=seen, bias=biases[which], fused=fused)
            x = block(x, attend_to, keys[layer])
        return self.logits(x if self.norm is None else self.norm(x))

    def embed(self, tokens: Int[Array, "b l"], positions: Num[Array, "#b l"]) -> Float[Array, "b l d"]:
        """Token embeddings, scaled, with every input encoding applied."""
        x = self.embedding(tokens) * self.embedding_scale
        for encoding in self.input_encodings:
            x = encoding(x, positions)
        return x

    def logits(self, x: Float[Array, "b l d"]) -> Float[Array, "b l v"]:
        return self.embedding.attend(x) if self.output is None else self.output(x)

    def encoding_of(self, layer: int) -> AttentionEncoding:
        """What acts inside attention on a layer: nothing, one encoding, or a chain."""
        parts = [self.attention_encodings[i] for i in self.layer_encodings[layer]]
        return parts[0] if len(parts) == 1 else Chain(parts) if parts else AttentionEncoding()


def is_encoding(path: tuple[Any, ...]) -> bool:
    """Whether a path into the parameters belongs to an encoding."""
    return str(getattr(path[0], "key", path[0])) in ("input_encodings", "attention_encodings")


def _encodings(model: config.Model, key: Key[Array, ""]):
    """The modules at the input, those in attention, and layer -> indices of the latter."""
    at_input: list[InputEncoding] = []
    in_attention: list[AttentionEncoding] = []
    layers: list[list[int]] = [[] for _ in range(model.num_layers)]
    for i, spec in enumerate(model.encodings):
        context = dict(
            width=model.width, num_heads=model.num_heads, head_dim=model.width // model.num_heads,
            num_layers=model.num_layers, bidirectional=False,
        )  # fmt: skip

        def build(copy: int, i=i, spec=spec, context=context):
            own = jax.random.fold_in(jax.random.fold_in(key, i), copy)
            encoding = plugins.build("encodings", spec, **context, rngs=nnx.Rngs(params=own))
            if not encoding.causal:
                raise UserError(f"{spec.name} is not defined for causal attention, which the decoder uses.")
            return encoding

        if spec.share is None:
            at_input.append(build(0))
            continue
        groups = range(model.num_layers) if spec.layers is None else spec.layers
        for copy, group in enumerate([groups] if spec.share else [[layer] for layer in groups]):
            for layer in group:
                layers[layer].append(len(in_attention))
            in_attention.append(build(copy))
    for indices in set(map(tuple, layers)):
        _check_chain([in_attention[i] for i in indices])
    return at_input, in_attention, tuple(map(tuple, layers))


def _check_chain(parts: list[AttentionEncoding]) -> None:
    try:
        Chain(parts)
    except ValueError as e:
        raise UserError(str(e)) from e


def forward_flops(model: config.Model, vocabulary_size: int, length: int) -> int:
    """Multiply-adds times two of one example of `length` tokens without padding: matrix products only."""
    matrices = 3 if model.activation == "swiglu" else 2
    per_token = model.num_layers * (4 * model.width**2 + matrices * model.width * model.feedforward_width) + model.width * vocabulary_size
    attention = model.num_layers * 2 * length * model.width
    return 2 * length * (per_token + attention)
