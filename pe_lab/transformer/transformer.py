"""The transformer: token embedding, blocks of attention and feed-forward, output logits; three architectures.

Vaswani et al. 2017, "Attention Is All You Need", https://arxiv.org/abs/1706.03762, with today's usual
choices as fields. A decoder is one causal stack, an encoder one bidirectional stack, an encoder–decoder
one of each, the decoder's blocks with a second attention to the encoder's output. docs/models.md has
the equations.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Key

from pe_lab import config, plugins
from pe_lab.encodings.base import AttentionEncoding, Chain, InputEncoding, OnAxis, Tokens
from pe_lab.errors import UserError
from pe_lab.transformer import biases, products
from pe_lab.transformer.attention import Attention, Keys, visible
from pe_lab.transformer.biases import Biases, Known, Place
from pe_lab.transformer.streams import Cache, Memory, Stream, View, all_slots, apart, at, keeper, with_sink

# Streams of the init key, then of a stack's: an encoding's draws never move the backbone's.
_STREAM_OF, _OUTPUT = {"decoder": 0, "encoder": 1, "cross": 3}, 2
_BACKBONE, _ENCODINGS = 0, 1
_NORMS: dict[str, Any] = {"layer": nnx.LayerNorm, "rms": nnx.RMSNorm}
_ACTIVATIONS: dict[str, Callable] = {"relu": jax.nn.relu, "gelu": jax.nn.gelu}


class FeedForward(nnx.Module):
    """Two linear maps with an activation between, the same for every token; swiglu gates the hidden one."""

    def __init__(self, model: config.Model, *, rngs: nnx.Rngs):
        dtype = jnp.dtype(model.compute_dtype)

        def linear(width_in: int, width_out: int) -> nnx.Linear:
            return nnx.Linear(width_in, width_out, dtype=dtype, dot_general=products.dot_general, rngs=rngs)

        self.activation = model.activation
        self.into = linear(model.width, model.feedforward_width)
        self.out = linear(model.feedforward_width, model.width)
        self.gate = linear(model.width, model.feedforward_width) if model.activation == "swiglu" else None

    def __call__(self, x: Float[Array, "b l d"]) -> Float[Array, "b l d"]:
        if self.gate is not None:
            return self.out(jax.nn.silu(self.gate(x)) * self.into(x))
        return self.out(_ACTIVATIONS[self.activation](self.into(x)))


class Block(nnx.Module):
    """Self-attention, in a decoder with an encoder cross-attention, feed-forward; each with norm, dropout, residual.

    A norm after attention, before it is added, is that of Li et al. 2025, "On Vanishing Variance in
    Transformer Length Generalization", https://arxiv.org/abs/2504.02827.
    """

    def __init__(self, model: config.Model, cross: bool, *, rngs: nnx.Rngs):
        self.pre_norm = model.norm_position == "pre"
        self.attention = Attention(model, rngs=rngs)
        self.cross = Attention(model, rngs=rngs) if cross else None
        self.feedforward = FeedForward(model, rngs=rngs)
        self.norms = nnx.List([_norm(model, rngs) for _ in range(2 + cross)])
        self.after_attention = nnx.List([_norm(model, rngs) for _ in range((1 + cross) * model.norm_after_attention)])
        self.dropout = model.dropout

    def __call__(self, x, own: dict[str, Any], keep: Callable[[Keys], Keys], cross: dict[str, Any] | None, dropout_keys):
        """The block's output and the keys that its self-attention has used.

        Args:
          own, cross: what the attentions are told beside their inputs; cross has the memory's keys.
          keep: turns the keys of these inputs into those to attend to; with a cache, all so far.
        """
        used: list[Keys] = []

        def attention(y):
            used.append(keep(self.attention.keys(y, own["tokens"], own["encoding"], own["valid"])))
            return self._after(0, self.attention(y, keys=used[0], **own))

        def cross_attention(y):
            assert self.cross is not None
            assert cross is not None
            return self._after(1, self.cross(y, **cross))

        sublayers: dict[int, Callable] = (
            {0: attention, 2: cross_attention, 1: self.feedforward} if cross else {0: attention, 1: self.feedforward}
        )
        for stream, sublayer in sublayers.items():
            y = sublayer(self.norms[stream](x) if self.pre_norm else x)
            x = x + _dropout(y, self.dropout, _folded(dropout_keys, stream))
            x = x if self.pre_norm else self.norms[stream](x)
        return x, used[0]

    def _after(self, which: int, y: Float[Array, "b l d"]) -> Float[Array, "b l d"]:
        return self.after_attention[which](y) if self.after_attention else y


class Stack(nnx.Module):
    """Token embedding, input encodings and blocks of one stream.

    It holds each encoding once, and a static map from layers to encodings: T5's table for all layers,
    Shaw's one for each, a NoPE layer among RoPE layers are the same mechanism.
    """

    def __init__(self, model: config.Model, name: str, vocabulary_size: int, cross: bool, *, key: Key[Array, ""]):
        own = jax.random.fold_in(key, _STREAM_OF[name])
        rngs = nnx.Rngs(params=jax.random.fold_in(own, _BACKBONE))
        start = nnx.initializers.normal(model.width**-0.5)  # unit rms once scaled by sqrt(D)
        self.causal, self.window, self.num_loops = name == "decoder", model.sliding_window, model.num_loops
        self.dtype = model.compute_dtype
        self.embedding = nnx.Embed(vocabulary_size, model.width, embedding_init=start, rngs=rngs)
        self.embedding_scale = model.width**0.5 if model.scale_embeddings else 1.0
        self.blocks = nnx.List([Block(model, cross, rngs=rngs) for _ in range(model.num_layers)])
        self.norm = _norm(model, rngs) if model.norm_position == "pre" else None
        self.sink = nnx.Param(jax.random.normal(rngs.params(), (model.width,))) if model.sink_token else None
        self.dropout = model.dropout
        modules = jax.random.fold_in(own, _ENCODINGS)
        at_input, in_attention, self.layer_encodings = _encodings(model, name, modules)
        across = _encodings(model, "cross", jax.random.fold_in(key, _STREAM_OF["cross"])) if cross else ([], [], ())
        self.cross_encodings = tuple(tuple(i + len(in_attention) for i in layer) for layer in across[2])
        self.input_axes = tuple(spec.axis for spec in model.encodings if spec.share is None and spec.acts_in(name))
        self.input_encodings, self.attention_encodings = nnx.List(at_input), nnx.List([*in_attention, *across[1]])

    def __call__(self, stream: Stream, memory: Memory | None = None, **how: Any) -> tuple[Float[Array, "b l d"], View]:
        """The output of every token, the sink token first if there is one, and what the layers were told of them; `how` as in `run`."""
        x, view = self.embed(stream.tokens, stream.positions[0]), self.view(stream)
        if self.sink is not None:
            x = jnp.concatenate([self.sink_inputs(len(x)), x], axis=1)
        return self.run(x, view, memory, **how)[0], view

    def embed(self, tokens: Int[Array, "b l"], positions: Any) -> Float[Array, "b l d"]:
        """Token embeddings, scaled, with every input encoding applied; float32."""
        x = self.embedding(tokens) * self.embedding_scale
        for encoding, own in zip(self.input_encodings, self.input_positions(positions), strict=True):
            x = encoding(x, own)
        return x

    def input_positions(self, positions: Any) -> list[Any]:
        """Of each input encoding: all axes, or the one that it acts on."""
        return [positions if axis is None else positions[..., axis] for axis in self.input_axes]

    def sink_inputs(self, batch: int) -> Float[Array, "b 1 d"]:
        """The sink token's embedding for every example. It has no code: encodings at the input speak of tokens."""
        assert self.sink is not None
        return jnp.broadcast_to(self.sink[...], (batch, 1, len(self.sink[...])))

    def view(self, stream: Stream) -> View:
        """What the layers are told of a stream; the sink token stands one position before the first."""
        positions, valid, segments = stream.positions, stream.mask, stream.segments
        if self.sink is not None:
            positions = with_sink(positions)
            valid = jnp.pad(valid, ((0, 0), (1, 0)), constant_values=True)
            segments = None if segments is None else jnp.pad(segments, ((0, 0), (1, 0)))
        slots, lengths = jnp.arange(valid.shape[1])[None], valid.sum(axis=1)  # the sink token counts, as in a cache
        return View(tuple(Tokens(p, slots, lengths, None, stream.arange) for p in positions), valid, segments)

    def shared_biases(self, view: View, source: View | None, *, learned: bool) -> Known:
        """Those that are the same for every example, whose positions are one row for the batch.

        Args:
          learned: of encodings with parameters, or without.
        """
        pairs = [(self.layer_encodings, view, view)]
        pairs += [] if source is None else [(self.cross_encodings, apart(view), apart(source))]
        found: dict[Any, Any] = {}
        for which, queries, keys in pairs:
            for layer, indices in enumerate(which):
                place, encoding = _place(indices, layer, queries, keys), self._chain(indices)
                if place not in found and learned == bool(jax.tree.leaves(nnx.state(encoding, nnx.Param))):
                    found[place] = biases.whole(encoding, queries.row_of(layer), keys.row_of(layer))
        return {place: known for place, known in found.items() if known is not None}

    def run(
        self, x, view: View, memory: Memory | None, cache: Cache | None = None, *, dropout_keys=None, fused=False, remat=False,
        known: Known | None = None,
    ) -> tuple[Float[Array, "b l d"], tuple[Keys, ...]]:  # fmt: skip
        """All layers, `num_loops` times; the keys that each has used, for a cache.

        Args:
          known: biases of `shared_biases`, computed once for many parts of a batch.
        """
        seen = view if cache is None else all_slots(cache)
        segments = None if view.segments is None else (view.segments, view.segments)
        sights: dict[str, Any] = dict(causal=self.causal, window=self.window, segments=segments, sink=self.sink is not None)
        mask = visible(view.rows[0], seen.rows[0], seen.valid, **sights) & view.valid[:, None, :, None]
        keys = [_folded(dropout_keys, i) for i in range(self.depth + 1)]
        x = _dropout(x.astype(self.dtype), self.dropout, keys[-1])
        memo = Biases(known)
        used: list[Keys] = []
        for applied in range(self.depth):
            layer = applied % len(self.blocks)
            own = self._told(layer, view, seen, mask, memo, fused, self.layer_encodings)
            cross = None if memory is None else self._across(layer, view, memory, memo, fused)
            keep = (lambda new: new) if cache is None else keeper(cache.keys[applied], seen.row_of(layer), view.rows[0].slots)

            def block(x, layer=layer, own=own, keep=keep, cross=cross, keys=keys[applied]):
                return self.blocks[layer](x, own, keep, cross, keys)

            x, kept = (jax.checkpoint(block) if remat else block)(x)
            used.append(dataclasses.replace(kept, tokens=Tokens(None, features=kept.tokens.features)))
        return (x if self.norm is None else self.norm(x)), tuple(used)

    @property
    def depth(self) -> int:
        """Layers applied to a token."""
        return self.num_loops * len(self.blocks)

    def remember(self, x: Float[Array, "b s d"], view: View) -> Memory:
        """An encoder's output as this stack's cross-attention reads it."""
        alone = apart(view)
        keys = [
            block.cross.keys(x, alone.row_of(layer), self._chain(self.cross_encodings[layer]), view.valid)  # type: ignore[union-attr]
            for layer, block in enumerate(self.blocks)
        ]
        return Memory(view, tuple(keys))

    def _told(self, layer: int, view: View, seen: View, mask, memo: Biases, fused: bool, which) -> dict[str, Any]:
        """What attention on a layer is told."""
        encoding, Q, K = self._chain(which[layer]), view.row_of(layer), seen.row_of(layer)
        bias = memo.at(_place(which[layer], layer, view, seen), encoding, Q, K)
        return dict(tokens=Q, encoding=encoding, valid=view.valid, mask=mask, bias=bias, fused=fused)

    def _across(self, layer: int, view: View, memory: Memory, memo: Biases, fused: bool) -> dict[str, Any]:
        """What cross-attention on a layer is told: two streams of positions, and no common slots."""
        segments = None if view.segments is None else (view.segments, memory.view.segments)
        mask = visible(view.rows[0], memory.view.rows[0], memory.view.valid, causal=False, segments=segments, sink=self.sink is not None)
        told = self._told(layer, apart(view), apart(memory.view), mask, memo, fused, self.cross_encodings)
        return told | {"keys": memory.keys[layer]}

    def _chain(self, indices: tuple[int, ...]) -> AttentionEncoding:
        parts = [self.attention_encodings[i] for i in indices]
        return parts[0] if len(parts) == 1 else Chain(parts) if parts else AttentionEncoding()

    def encoding_of(self, layer: int) -> AttentionEncoding:
        """What acts inside self-attention on a layer: nothing, one encoding, or a chain."""
        return self._chain(self.layer_encodings[layer])


def _place(indices: tuple[int, ...], layer: int, queries: View, keys: View) -> Place:
    """What a bias of a layer depends on."""
    return indices, layer if max(len(queries.rows), len(keys.rows)) > 1 else 0


class Transformer(nnx.Module):
    """A decoder, an encoder or an encoder–decoder over token ids, whose encodings come from its config.

    Args:
      model: the sizes, choices and encodings.
      vocabularies: stack -> V, for "decoder", "encoder" or both: which stacks there are is the architecture.
      key: of the start. One key gives one backbone, whatever the encodings.

    Raises:
      UserError: an encoding refuses the sizes or the architecture.
    """

    def __init__(self, model: config.Model, vocabularies: Mapping[str, int], *, key: Key[Array, ""]):
        both = len(vocabularies) == 2
        self.encoder = Stack(model, "encoder", vocabularies["encoder"], False, key=key) if "encoder" in vocabularies else None
        self.decoder = Stack(model, "decoder", vocabularies["decoder"], both, key=key) if "decoder" in vocabularies else None
        words = vocabularies["decoder" if "decoder" in vocabularies else "encoder"]
        rngs = nnx.Rngs(params=jax.random.fold_in(key, _OUTPUT))
        dtype = jnp.dtype(model.compute_dtype)
        self.output = (
            None
            if model.tied_output
            else nnx.Linear(model.width, words, use_bias=False, dtype=dtype, dot_general=products.dot_general, rngs=rngs)
        )

    @property
    def stacks(self) -> dict[str, Stack]:
        """Those that there are, the one that answers last."""
        found = {"encoder": self.encoder, "decoder": self.decoder}
        return {name: stack for name, stack in found.items() if stack is not None}

    @property
    def answering(self) -> Stack:
        """The stack whose outputs become logits."""
        return list(self.stacks.values())[-1]

    @property
    def input_encodings(self) -> list[InputEncoding]:
        return [e for stack in self.stacks.values() for e in stack.input_encodings]

    @property
    def attention_encodings(self) -> list[AttentionEncoding]:
        return [e for stack in self.stacks.values() for e in stack.attention_encodings]

    def shared_biases(self, stream: Stream, source: Stream | None = None, *, learned: bool) -> dict[str, Known]:
        """Of each stack, those that every example has alike: of these streams, or of as many of their first tokens as a part has.

        Args:
          learned: of encodings with parameters, or without.
        """
        *encoders, (answers, answering) = self.stacks.items()
        views = {name: stack.view(source) for name, stack in encoders if source is not None}
        found = {name: stack.shared_biases(views[name], None, learned=learned) for name, stack in encoders}
        return found | {answers: answering.shared_biases(answering.view(stream), views.get("encoder"), learned=learned)}

    def __call__(
        self,
        stream: Stream,
        source: Stream | None = None,
        *,
        dropout_keys: Key[Array, "b"] | None = None,
        fused: bool = False,
        remat: bool = False,
        known: Mapping[str, Known] | None = None,
    ) -> Float[Array, "b l v"]:
        """Logits at every place of the stream, in float32: of the next token (decoder), of this one (encoder).

        Args:
          stream: what the answering stack reads.
          source: what the encoder of an encoder–decoder reads.
          dropout_keys: one a context; None turns dropout off.
          fused: use fused attention where the encoding allows it.
          remat: compute inner values again in the backward pass instead of keeping them.
          known: of the biases, from `shared_biases`.
        """
        keys = [_folded(dropout_keys, i) for i in range(2)]
        how: Any = {name: dict(fused=fused, remat=remat, known=(known or {}).get(name)) for name in self.stacks}
        memory = None if source is None else self._remember(source, dropout_keys=keys[1], **how["encoder"])
        x, _ = self.answering(stream, memory, dropout_keys=keys[0], **how[list(self.stacks)[-1]])
        return self.logits(x if self.answering.sink is None else x[:, 1:])

    def logits(self, x: Float[Array, "b l d"]) -> Float[Array, "b l v"]:
        if self.output is not None:
            return self.output(x).astype(jnp.float32)
        table = self.answering.embedding.embedding[...].astype(x.dtype)
        return jnp.einsum("bld,vd->blv", x, table, preferred_element_type=jnp.float32)

    def start(self, positions: Any, batch: int, source: Stream | None = None) -> Cache:
        """An empty cache for contexts whose slots have these positions, [N, B|1, S].

        Raises:
          UserError: an encoder fills its blanks in one pass and has nothing to cache.
        """
        stack = self.decoder
        if stack is None:
            raise UserError("An encoder fills all its blanks in one pass: there is nothing to decode.")
        memory = None if source is None else self._remember(source)
        positions = positions if stack.sink is None else with_sink(positions)
        empty = Cache(positions, jnp.zeros(batch, jnp.int32), _buffers(stack, batch, positions), memory)
        if stack.sink is None:
            return empty
        return self._extend(empty, stack.sink_inputs(batch), jnp.ones((batch, 1), bool), fused=False)[1]

    def extend(
        self, cache: Cache, tokens: Int[Array, "b l"], mask: Bool[Array, "b l"], *, fused: bool = False
    ) -> tuple[Float[Array, "b l v"], Cache]:
        """Logits after each of the next tokens, and the cache with them: a whole prompt (prefill), or one token.

        Args:
          tokens: the next of each example, its padding behind them.
          mask: True at tokens. Each example's own go into its own next slots.
        """
        assert self.decoder is not None
        slots = cache.filled[:, None] + jnp.arange(tokens.shape[1])[None]
        x = self.decoder.embed(tokens, at(cache.positions, slots)[0])
        return self._extend(cache, x, mask, fused=fused)

    def _extend(self, cache: Cache, x, mask, *, fused: bool):
        assert self.decoder is not None
        room = cache.positions.shape[2]
        slots = jnp.where(mask, cache.filled[:, None] + jnp.arange(mask.shape[1])[None], room)  # beyond the room nothing is written
        filled = cache.filled + mask.sum(axis=1)
        rows = tuple(Tokens(p, slots, filled) for p in at(cache.positions, slots))
        cache = dataclasses.replace(cache, filled=filled)
        x, keys = self.decoder.run(x, View(rows, mask, None), cache.memory, cache, fused=fused)
        return self.logits(x), dataclasses.replace(cache, keys=keys)

    def _remember(self, source: Stream, **how: Any) -> Memory:
        assert self.encoder is not None
        assert self.decoder is not None
        return self.decoder.remember(*self.encoder(source, **how))


def _buffers(stack: Stack, batch: int, positions: Any) -> tuple[Keys, ...]:
    """Empty keys of every applied layer."""
    room, valid = positions.shape[2], jnp.ones((batch, positions.shape[2]), bool)

    def empty(layer: int) -> Keys:
        nothing = jnp.zeros((batch, room, stack.embedding.features), stack.dtype)
        tokens = Tokens(positions[layer if len(positions) > 1 else 0], jnp.arange(room)[None])
        keys = stack.blocks[layer].attention.keys(nothing, tokens, stack.encoding_of(layer), valid)
        return dataclasses.replace(keys, tokens=Tokens(None, features=keys.tokens.features))

    shapes = jax.eval_shape(lambda: tuple(empty(i % len(stack.blocks)) for i in range(stack.depth)))
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)


def is_encoding(path: tuple[Any, ...]) -> bool:
    """Whether a path into the parameters belongs to an encoding."""
    return any(str(getattr(part, "key", part)) in ("input_encodings", "attention_encodings") for part in path)


def _folded(keys: Key[Array, "b"] | None, index: int) -> Key[Array, "b"] | None:
    return None if keys is None else jax.vmap(lambda key: jax.random.fold_in(key, index))(keys)


def _dropout(x: Float[Array, "b l d"], rate: float, keys: Key[Array, "b"] | None) -> Float[Array, "b l d"]:
    """What is dropped of a context depends on its key alone, whatever stands beside it and however long it is padded."""
    if keys is None or rate == 0:
        return x
    kept = jax.vmap(lambda key: jax.random.bernoulli(key, 1 - rate, x.shape[1:]))(keys)
    return jnp.where(kept, x / (1 - rate), 0)


def _norm(model: config.Model, rngs: nnx.Rngs) -> Any:
    return _NORMS[model.norm](model.width, dtype=jnp.dtype(model.compute_dtype), rngs=rngs)


def _encodings(model: config.Model, stack: str, key: Key[Array, ""]):
    """A stack's modules at the input, those in attention, and layer -> indices of the latter."""
    at_input: list[InputEncoding] = []
    in_attention: list[AttentionEncoding] = []
    layers: list[list[int]] = [[] for _ in range(model.num_layers)]
    for i, spec in enumerate(model.encodings):
        if not spec.acts_in(stack):
            continue
        if spec.share is None:
            at_input.append(_encoding(model, spec, stack, jax.random.fold_in(jax.random.fold_in(key, i), 0)))
            continue
        groups = range(model.num_layers) if spec.layers is None else spec.layers
        for copy, group in enumerate([groups] if spec.share else [[layer] for layer in groups]):
            for layer in group:
                layers[layer].append(len(in_attention))
            in_attention.append(_encoding(model, spec, stack, jax.random.fold_in(jax.random.fold_in(key, i), copy)))
    for indices in set(map(tuple, layers)):
        _check_chain([in_attention[i] for i in indices])
    return at_input, in_attention, tuple(map(tuple, layers))


def _encoding(model: config.Model, spec: config.Encoding, stack: str, key: Key[Array, ""]) -> Any:
    cls: Any = plugins.find("encodings", spec.name)
    if stack == "cross" and not cls.cross:
        raise UserError(f"{spec.name} is not defined between two streams, so it cannot act in cross-attention.")
    if stack == "encoder" and not cls.bidirectional:
        raise UserError(f"{spec.name} is not defined for bidirectional attention, which the encoder uses.")
    if stack == "decoder" and not cls.causal:
        raise UserError(f"{spec.name} is not defined for causal attention, which the decoder uses.")
    context = dict(
        width=model.width, num_heads=model.num_heads, head_dim=model.width // model.num_heads,
        num_layers=model.num_layers, bidirectional=stack != "decoder", rngs=nnx.Rngs(params=key),
    )  # fmt: skip
    built = plugins.build("encodings", spec, **context)
    return built if spec.axis is None or cls.at_input else OnAxis(built, spec.axis)


def _check_chain(parts: list[AttentionEncoding]) -> None:
    try:
        Chain(parts)
    except ValueError as e:
        raise UserError(str(e)) from e


def forward_flops(model: config.Model, vocabularies: Mapping[str, int], lengths: Mapping[str, int]) -> int:
    """Multiply-adds times two of one example without padding: matrix products only.

    Args:
      vocabularies, lengths: of each stack, the one that answers last.
    """
    width, depth = model.width, model.num_layers * model.num_loops
    matrices = 3 if model.activation == "swiglu" else 2
    per_token = depth * (4 * width**2 + matrices * width * model.feedforward_width)
    products = sum(n * (per_token + depth * 2 * n * width) for n in lengths.values())
    answering = list(lengths)[-1]
    if len(lengths) == 2:  # cross-attention: queries and outputs, products; keys and values, made once for all loops
        source, target = lengths["encoder"], lengths["decoder"]
        products += 2 * width * (depth * target * (width + source) + model.num_layers * width * source)
    return 2 * (products + lengths[answering] * width * vocabularies[answering])
