"""One stack: token embedding, input encodings, blocks, and the encodings that act in attention."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Int, Key

from pe_lab.encodings.base import AttentionEncoding, InputEncoding
from pe_lab.kernels import Kernels
from pe_lab.model.attention import Keys
from pe_lab.model.block import Block, dropout, fold_keys, make_norm
from pe_lab.model.terms import (
    AttentionTerms,
    Biases,
    BiasKey,
    LayerEncoding,
    Site,
    StackTerms,
    Stream,
    View,
    attention_terms,
    total_bias,
    view_of,
    visible,
)
from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import Encoding, Model

# Streams of the initialization key, then of a stack's own key: an encoding's draws never change
# the parameters of the backbone.
_STREAM_OF = {"decoder": 0, "encoder": 1, "cross": 3}
_BACKBONE, _ENCODINGS = 0, 1

_TURNED = (1, 0, 3, 2)  # the axes of a shared bias, [H|1, 1, S, L], as attention on a CPU reads it


class Stack(nnx.Module):
    """Token embedding, input encodings and blocks of one stream.

    Each encoding is held once, and a static map tells which act on which layer: one table for all
    layers, one for each, or a NoPE layer among RoPE layers.
    """

    def __init__(
        self,
        model: Model,
        name: str,
        vocabulary_size: int,
        cross: bool,
        *,
        kernels: Kernels,
        key: Key[Array, ""],
    ):
        own_key = jax.random.fold_in(key, _STREAM_OF[name])
        rngs = nnx.Rngs(params=jax.random.fold_in(own_key, _BACKBONE))
        start = nnx.initializers.normal(model.width**-0.5)  # unit rms once scaled by sqrt(D)
        self.causal = name == "decoder"
        self.window = model.sliding_window
        self.num_loops = model.num_loops
        self.kernels = kernels
        self.dtype = model.compute_dtype
        self.dropout = model.dropout
        self.embedding = nnx.Embed(vocabulary_size, model.width, embedding_init=start, rngs=rngs)
        self.embedding_scale = model.width**0.5 if model.scale_embeddings else 1.0
        self.blocks = nnx.List(
            [Block(model, cross, kernels=kernels, rngs=rngs) for _ in range(model.num_layers)]
        )
        self.norm = make_norm(model, rngs) if model.norm_position == "pre" else None
        sink = jax.random.normal(rngs.params(), (model.width,)) if model.sink_token else None
        self.sink = None if sink is None else nnx.Param(sink)

        encodings = _build(model, name, jax.random.fold_in(own_key, _ENCODINGS))
        self.input_encodings = nnx.List(encodings.at_input)
        self.input_sites = encodings.input_sites
        self.layer_sites = encodings.layer_sites
        modules = list(encodings.in_attention)
        self.cross_sites: tuple[tuple[Site, ...], ...] = ()
        if cross:
            across = _build(model, "cross", jax.random.fold_in(key, _STREAM_OF["cross"]))
            self.cross_sites = _shifted(across.layer_sites, by=len(modules))
            modules += across.in_attention
        self.attention_encodings = nnx.List(modules)

    def attention_axes(self) -> list[tuple[AttentionEncoding, int | None]]:
        """Each encoding in attention, with the axis of positions that it reads."""
        sites = {
            site.index: site
            for of_layer in self.layer_sites + self.cross_sites
            for site in of_layer
        }
        return [(self.attention_encodings[i], sites[i].axis) for i in sorted(sites)]

    # The first half of the forward pass: positions, no tokens.

    def view(self, stream: Stream) -> View:
        """The stream as the layers see it."""
        return view_of(stream, sink=self.sink is not None)

    def position_terms(
        self, stream: Stream, memory: View | None = None, biases: Biases | None = None
    ) -> StackTerms:
        """All that depends on positions alone.

        Args:
          memory: the view of the encoder's stream, for cross-attention.
          biases: of `shared_biases`, computed before for as many tokens or more.
        """
        view = self.view(stream)
        attention = self.self_attention_terms(view, view, biases)
        cross = self.cross_attention_terms(view, memory, biases)
        return StackTerms(self.position_embeddings(stream.positions), attention, cross, view)

    def position_embeddings(self, positions: tuple[Any, ...]) -> tuple[Any, ...]:
        """Of each input encoding, [B|1, L, C]; the sink token has none."""
        return tuple(
            encoding.scaled_embedding(_of_axis(positions[site.scheme][0], site.axis))
            for encoding, site in zip(self.input_encodings, self.input_sites, strict=True)
        )

    def self_attention_terms(
        self, queries: View, keys: View, biases: Biases | None = None
    ) -> tuple[AttentionTerms, ...]:
        """Of each layer."""
        sink = self.sink is not None
        mask = visible(queries, keys, causal=self.causal, window=self.window, sink=sink)
        return self._terms(self.layer_sites, queries, keys, mask, biases)

    def cross_attention_terms(
        self, queries: View, memory: View | None, biases: Biases | None = None
    ) -> tuple[AttentionTerms, ...]:
        """Of each layer; empty without an encoder."""
        if memory is None:
            return ()
        mask = visible(queries, memory, causal=False, sink=self.sink is not None)
        queries, memory = queries.without_slots(), memory.without_slots()
        return self._terms(self.cross_sites, queries, memory, mask, biases)

    def _terms(
        self, sites: tuple[tuple[Site, ...], ...], queries: View, keys: View, mask, biases
    ) -> tuple[AttentionTerms, ...]:
        """Terms of each layer; layers with the same encodings and positions share them."""
        by_key: dict[BiasKey, AttentionTerms] = {}
        keys_of_layers = [_bias_key(s, i, queries, keys) for i, s in enumerate(sites)]
        for layer, key in enumerate(keys_of_layers):
            if key in by_key:
                continue
            encodings = self._on_layer(sites[layer], layer, queries, keys)
            bias = None
            if biases is not None and key in biases:
                bias = _cut(biases[key], queries.valid.shape[1], keys.valid.shape[1])
            by_key[key] = attention_terms(encodings, mask, bias=bias, hook=self.kernels.hook)
        return tuple(by_key[key] for key in keys_of_layers)

    def _on_layer(
        self, sites: tuple[Site, ...], layer: int, queries: View, keys: View
    ) -> tuple[LayerEncoding, ...]:
        encodings = []
        for site in sites:
            Q, K = queries.tokens(site, layer), keys.tokens(site, layer)
            encoding = self.attention_encodings[site.index]
            encodings.append(LayerEncoding(encoding, self._heads(site), Q, K))
        return tuple(encodings)

    def _heads(self, site: Site) -> Any:
        """[H], True at a site's heads; None for all."""
        if site.heads is None:
            return None
        num_heads = self.blocks[0].attention.num_heads
        return jnp.isin(jnp.arange(num_heads), jnp.asarray(site.heads, jnp.int32))

    def shared_biases(
        self, view: View, memory: View | None, *, learned: bool
    ) -> dict[BiasKey, Any]:
        """Biases that all examples share, because their positions are one row for the batch.

        Args:
          learned: those with parameters, or those without.
        """
        sides = [(self.layer_sites, view, view)]
        if memory is not None:
            sides.append((self.cross_sites, view.without_slots(), memory.without_slots()))
        shared: dict[BiasKey, Any] = {}
        for sites, queries, keys in sides:
            for layer, of_layer in enumerate(sites):
                key = _bias_key(of_layer, layer, queries, keys)
                encodings = self._on_layer(of_layer, layer, queries, keys)
                if key not in shared and _is_shared(encodings) and _learned(encodings) == learned:
                    shared[key] = total_bias(encodings, self.kernels.hook)
        present = {key: bias for key, bias in shared.items() if bias is not None}
        return {key: jnp.transpose(bias, _TURNED) for key, bias in present.items()}

    # The second half: tokens.

    def embed(
        self, tokens: Int[Array, "b l"], embeddings: tuple[Any, ...]
    ) -> Float[Array, "b l d"]:
        """Scaled token embeddings combined with the embeddings of positions, in float32."""
        x = self.embedding(tokens) * self.embedding_scale
        for encoding, embedding in zip(self.input_encodings, embeddings, strict=True):
            x = encoding.combine_with(x, embedding)
        return x

    def __call__(
        self,
        tokens: Int[Array, "b l"],
        terms: StackTerms,
        memory: tuple[Keys, ...] | None = None,
        *,
        dropout_keys: Key[Array, "b"] | None = None,
        remat: bool = False,
    ) -> Float[Array, "b n d"]:
        """The output of every token, the sink token first if there is one.

        Args:
          memory: the encoder's keys for each layer.
          remat: recompute inner values in the backward pass instead of keeping them.
        """
        x = self.embed(tokens, terms.embeddings)
        if self.sink is not None:
            x = jnp.concatenate([self.sink_inputs(len(x)), x], axis=1)
        return self.run(x, terms, memory, dropout_keys=dropout_keys, remat=remat)[0]

    def sink_inputs(self, batch: int) -> Float[Array, "b 1 d"]:
        """The sink token's embedding for every example, without an embedding of a position."""
        assert self.sink is not None
        return jnp.broadcast_to(self.sink[...], (batch, 1, len(self.sink[...])))

    def run(
        self,
        x: Float[Array, "b l d"],
        terms: StackTerms,
        memory: tuple[Keys, ...] | None,
        keepers: Any = None,
        *,
        dropout_keys: Key[Array, "b"] | None = None,
        remat: bool = False,
    ) -> tuple[Float[Array, "b l d"], tuple[Keys, ...]]:
        """All layers, `num_loops` times, and the keys that each has used.

        Args:
          keepers: of each applied layer, the function from its new keys to all keys so far.
        """
        x = x.astype(self.dtype)
        x = dropout(x, self.dropout, fold_keys(dropout_keys, self.depth))
        used: list[Keys] = []
        for applied in range(self.depth):
            layer = applied % len(self.blocks)
            keys_of = (lambda keys: keys) if keepers is None else keepers[applied]
            cross = None if memory is None else (memory[layer], terms.cross[layer])
            keys_of_dropout = fold_keys(dropout_keys, applied)

            def block(x, layer=layer, keys_of=keys_of, cross=cross, keys=keys_of_dropout):
                own_terms = terms.attention[layer]
                return self.blocks[layer](x, terms.view.valid, keys_of, own_terms, cross, keys)

            x, keys = (jax.checkpoint(block) if remat else block)(x)
            used.append(keys)
        return (x if self.norm is None else self.norm(x)), tuple(used)

    @property
    def depth(self) -> int:
        """Layers applied to a token."""
        return self.num_loops * len(self.blocks)

    def memory(
        self, x: Float[Array, "b s d"], valid: Any, cross: tuple[AttentionTerms, ...]
    ) -> tuple[Keys, ...]:
        """An encoder's output as the keys of each layer's cross-attention."""
        keys = []
        for block, terms in zip(self.blocks, cross, strict=True):
            assert block.cross is not None
            keys.append(block.cross.keys(x, valid, terms, cross=True))
        return tuple(keys)


@dataclasses.dataclass
class _Modules:
    """The encodings of a stack, and where they act."""

    at_input: list[InputEncoding]
    input_sites: tuple[Site, ...]
    in_attention: list[AttentionEncoding]
    layer_sites: tuple[tuple[Site, ...], ...]


def _build(model: Model, stack: str, key: Key[Array, ""]) -> _Modules:
    """The encodings that the config gives to a stack ("encoder", "decoder" or "cross")."""
    at_input: list[InputEncoding] = []
    input_sites: list[Site] = []
    in_attention: list[AttentionEncoding] = []
    layers: list[list[Site]] = [[] for _ in range(model.num_layers)]
    for i, spec in enumerate(model.encodings):
        if not spec.acts_in(stack):
            continue
        spec_key = jax.random.fold_in(key, i)
        if spec.share is None:  # at the input
            input_sites.append(Site(len(at_input), axis=spec.axis))
            at_input.append(_module(model, spec, stack, jax.random.fold_in(spec_key, 0)))
            continue
        on_layers = range(model.num_layers) if spec.layers is None else spec.layers
        groups = [on_layers] if spec.share else [[layer] for layer in on_layers]
        for copy, group in enumerate(groups):
            for layer in group:
                layers[layer].append(Site(len(in_attention), axis=spec.axis))
            module_key = jax.random.fold_in(spec_key, copy)
            in_attention.append(_module(model, spec, stack, module_key))
    for sites in layers:
        _check_replaced_once([in_attention[site.index] for site in sites])
    return _Modules(at_input, tuple(input_sites), in_attention, tuple(map(tuple, layers)))


def _module(model: Model, spec: Encoding, stack: str, key: Key[Array, ""]) -> Any:
    needs = plugins.find("encodings", spec.name).requirements  # type: ignore[attr-defined]
    if stack == "cross" and not needs.cross:
        why = "is not defined between two streams, so it cannot act in cross-attention"
        raise UserError(f"{spec.name} {why}.")
    if stack == "encoder" and not needs.bidirectional:
        why = "is not defined for bidirectional attention, which the encoder uses"
        raise UserError(f"{spec.name} {why}.")
    if stack == "decoder" and not needs.causal:
        why = "is not defined for causal attention, which the decoder uses"
        raise UserError(f"{spec.name} {why}.")
    return plugins.build(
        "encodings",
        spec,
        width=model.width,
        num_heads=model.num_heads,
        head_dim=model.width // model.num_heads,
        num_layers=model.num_layers,
        bidirectional=stack != "decoder",
        rngs=nnx.Rngs(params=key),
    )


def _check_replaced_once(encodings: list[AttentionEncoding]) -> None:
    """At most one encoding of a layer may replace the normalization, and one the weighted sum."""
    for part in ("normalize", "combine"):
        names = [type(e).__name__ for e in encodings if part in e.requirements.replaces]
        if len(names) > 1:
            raise UserError(
                f"{' and '.join(names)} cannot act on one layer: each has its own {part}."
            )


def _shifted(layers: tuple[tuple[Site, ...], ...], by: int) -> tuple[tuple[Site, ...], ...]:
    """Sites whose modules come after `by` others."""
    return tuple(
        tuple(dataclasses.replace(site, index=site.index + by) for site in sites)
        for sites in layers
    )


def _of_axis(positions: Any, axis: int | None) -> Any:
    return positions if axis is None else positions[..., axis]


def _bias_key(sites: tuple[Site, ...], layer: int, queries: View, keys: View) -> BiasKey:
    """What a layer's bias depends on: its encodings, and its row of positions."""
    indices = tuple(site.index for site in sites)
    return indices, layer if max(queries.num_rows, keys.num_rows) > 1 else 0


def _is_shared(encodings: tuple[LayerEncoding, ...]) -> bool:
    """Whether all examples have the same bias."""
    return all(
        len(e.Q.positions) == len(e.K.positions) == 1 and not e.encoding.requirements.reads_length
        for e in encodings
    )


def _learned(encodings: tuple[LayerEncoding, ...]) -> bool:
    """Whether an encoding has parameters."""
    return any(jax.tree.leaves(nnx.state(e.encoding, nnx.Param)) for e in encodings)


def _cut(turned: Any, num_queries: int, num_keys: int) -> Float[Array, "_ _ l s"]:
    """A shared bias of the first tokens, with its axes turned back."""
    return jnp.transpose(turned[:, :, :num_keys, :num_queries], _TURNED)


def is_encoding(path: tuple[Any, ...]) -> bool:
    """Whether a path into the parameters belongs to an encoding."""
    names = (str(getattr(part, "key", part)) for part in path)
    return any(name in ("input_encodings", "attention_encodings") for name in names)
