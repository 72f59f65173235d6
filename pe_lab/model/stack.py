"""One stack: token embedding, input encodings, blocks, and the encodings that act in attention."""

import functools
from collections.abc import Callable, Iterator, Sequence

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Key

from pe_lab.kernels import Kernels
from pe_lab.model import sites
from pe_lab.model.block import Block, dropout, fold_keys, make_norm
from pe_lab.model.convolution import Before, Recent, Smear
from pe_lab.model.keys import Keys, LayerCache
from pe_lab.model.loops import LoopInputs
from pe_lab.model.streams import Positions, Stream, View, view_of
from pe_lab.model.terms import (
    AttentionTerms,
    Biases,
    BiasKey,
    Embeddings,
    LayerEncoding,
    StackTerms,
    attention_terms,
    bias_key,
    shared_biases,
    visible,
)
from pe_lab.runs.settings.settings import Model

# Streams of the initialization key, then of a stack's own key: an encoding's draws never change
# the parameters of the backbone.
_STREAM_OF = {"decoder": 0, "encoder": 1, "cross": 3}
_BACKBONE, _ENCODINGS, _ADDITIONS = 0, 1, 2


class Stack(nnx.Module):
    """Token embedding, input encodings and blocks of one stream.

    Each encoding is held once, and sites tell which act on which layer.
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
        stack_key = jax.random.fold_in(key, _STREAM_OF[name])
        key_of = functools.partial(jax.random.fold_in, stack_key)
        rngs = nnx.Rngs(params=key_of(_BACKBONE), additions=key_of(_ADDITIONS))
        std = model.width**-0.5  # unit rms once scaled by sqrt(D)
        normal = nnx.initializers.normal(model.embedding_std or std)
        self.causal = name == "decoder"
        self.window = model.sliding_window
        self.num_loops = model.num_loops
        self.kernels = kernels
        self.dtype = model.compute_dtype
        self.dropout = model.dropout
        self.embedding = nnx.Embed(vocabulary_size, model.width, embedding_init=normal, rngs=rngs)
        self.embedding_scale = model.width**0.5 if model.scale_embeddings else 1.0
        self.smear = Smear(model) if model.embedding_smear else None
        block = functools.partial(Block, model, cross, kernels=kernels, rngs=rngs)
        self.blocks = nnx.List([block(layer) for layer in range(model.num_layers)])
        self.norm = make_norm(model, rngs) if model.norm_position != "post" else None
        # Drawn last, so that models without injection keep their parameters.
        injects = model.loop_injection != "none"
        self.loop_inputs = LoopInputs(model, kernels=kernels, rngs=rngs) if injects else None

        encodings = sites.build(model, name, key_of(_ENCODINGS))
        in_attention = list(encodings.in_attention)
        self.cross_sites: sites.LayerSites = ()
        if cross:
            across = sites.build(model, "cross", jax.random.fold_in(key, _STREAM_OF["cross"]))
            self.cross_sites = sites.shifted(across.layer_sites, by=len(in_attention))
            in_attention += across.in_attention
        self.input_encodings = nnx.List(encodings.at_input)
        self.input_sites = encodings.input_sites
        self.layer_sites = encodings.layer_sites
        self.attention_encodings = nnx.List(in_attention)

    @property
    def depth(self) -> int:
        """Layers applied to a token."""
        return self.num_loops * len(self.blocks)

    def attention_sites(self) -> list[sites.Site]:
        """One site of each encoding in attention, in the order of the modules."""
        layers = self.layer_sites + self.cross_sites
        by_index = {site.index: site for layer in layers for site in layer}
        return [by_index[index] for index in sorted(by_index)]

    @property
    def all_sites(self) -> tuple[sites.Site, ...]:
        """A site of every module, at the input and in attention."""
        return (*self.input_sites, *self.attention_sites())

    # The first half of the forward pass: positions, no tokens.

    def view(self, stream: Stream) -> View:
        """The stream as the layers see it."""
        return view_of(stream)

    def position_terms(
        self,
        stream: Stream,
        memory: View | None = None,
        biases: Biases | None = None,
    ) -> StackTerms:
        """All that depends on positions alone.

        Args:
          memory: the view of the encoder's stream, for cross-attention.
          biases: of `shared_biases`, computed before for as many tokens or more.
        """
        view = self.view(stream)
        attention = self.self_attention_terms(view, view, biases)
        cross = self.cross_attention_terms(view, memory, biases)
        embeddings = self.position_embeddings(stream.positions)
        return StackTerms(embeddings, attention, cross, view)

    def position_embeddings(self, positions: tuple[Positions, ...]) -> Embeddings:
        """Embeddings of each input encoding, [B|1, L, C]."""
        embeddings = []
        for encoding, site in zip(self.input_encodings, self.input_sites, strict=True):
            rows = positions[site.scheme][0]  # at the input all layers have one row
            if site.axis is not None:
                rows = rows[..., site.axis]
            embeddings.append(encoding.scaled_embedding(rows))
        return tuple(embeddings)

    def self_attention_terms(
        self, queries: View, keys: View, biases: Biases | None = None
    ) -> tuple[AttentionTerms, ...]:
        """Terms of each layer's self-attention."""
        mask = visible(queries, keys, causal=self.causal, window=self.window)
        # In decoding, queries are some of the keys' tokens.
        causal = self.causal and queries is keys
        return self._terms(self.layer_sites, queries, keys, mask, biases, causal=causal)

    def cross_attention_terms(
        self, queries: View, memory: View | None, biases: Biases | None = None
    ) -> tuple[AttentionTerms, ...]:
        """Terms of each layer's cross-attention; empty without an encoder."""
        if memory is None:
            return ()
        mask = visible(queries, memory, causal=False)  # a decoder sees all of the source
        queries = queries.without_slots()
        memory = memory.without_slots()
        return self._terms(self.cross_sites, queries, memory, mask, biases)

    def _terms(
        self,
        layer_sites: sites.LayerSites,
        queries: View,
        keys: View,
        mask: Bool[Array, "b 1 l s"],
        biases: Biases | None,
        *,
        causal: bool = False,
    ) -> tuple[AttentionTerms, ...]:
        """Terms of each layer; layers with the same encodings and positions share them."""
        *_, num_queries, num_keys = mask.shape
        terms: dict[BiasKey, AttentionTerms] = {}
        for key, encodings in self._layers(layer_sites, queries, keys):
            bias = None
            if biases is not None and key in biases:
                bias = self.kernels.cut_bias(biases[key], num_queries, num_keys)
            terms[key] = attention_terms(
                encodings, mask, bias=bias, hook=self.kernels.hook, causal=causal
            )
        layer_terms = []
        for layer, on_layer in enumerate(layer_sites):
            key = bias_key(on_layer, layer, queries, keys)
            layer_terms.append(terms[key])
        return tuple(layer_terms)

    def _layers(
        self, layer_sites: sites.LayerSites, queries: View, keys: View
    ) -> Iterator[tuple[BiasKey, tuple[LayerEncoding, ...]]]:
        """The encodings of layers, once for all layers with one key."""
        num_heads = self.blocks[0].attention.num_heads
        seen: set[BiasKey] = set()
        for layer, on_layer in enumerate(layer_sites):
            key = bias_key(on_layer, layer, queries, keys)
            if key in seen:
                continue
            seen.add(key)
            encodings = []
            for site in on_layer:
                if site.heads == ():  # it acts nowhere
                    continue
                encoding = self.attention_encodings[site.index]
                heads = site.head_mask(num_heads)
                Q = queries.tokens(site, layer)
                K = keys.tokens(site, layer)
                encodings.append(LayerEncoding(encoding, heads, Q, K))
            yield key, tuple(encodings)

    def shared_biases(self, view: View, memory: View | None) -> tuple[Biases, Biases]:
        """Biases that all examples share, because their positions are one row for the batch.

        Those with parameters are first, those without second.
        """
        layers = list(self._layers(self.layer_sites, view, view))
        if memory is not None:
            queries = view.without_slots()
            keys = memory.without_slots()
            layers += self._layers(self.cross_sites, queries, keys)
        return shared_biases(layers, self.kernels)

    # The second half: tokens.

    def before(
        self, view: View, recent: Recent | None = None, counts: Int[Array, "b"] | None = None
    ) -> Before | None:
        """The tokens before each one, if their embeddings are read."""
        return None if self.smear is None else Before(view, recent, counts)

    def embed(
        self, tokens: Int[Array, "b l"], embeddings: Embeddings, before: Before | None = None
    ) -> Float[Array, "b l d"]:
        """Scaled token embeddings combined with the embeddings of positions, in float32."""
        x = self.embedding(tokens) * self.embedding_scale
        if self.smear is not None:
            assert before is not None
            x = self.smear(x, before)
        for encoding, embedding in zip(self.input_encodings, embeddings, strict=True):
            x = encoding.combine_with(x, embedding)
        return x

    def __call__(
        self,
        x: Float[Array, "b l d"],
        terms: StackTerms,
        memory: tuple[Keys, ...] | None = None,
        caches: Sequence[LayerCache] | None = None,
        *,
        dropout_keys: Key[Array, "b"] | None = None,
        num_loops: Int[Array, ""] | None = None,
        remat: bool = False,
    ) -> tuple[Float[Array, "b l d"], tuple[Keys, ...]]:
        """The outputs of all layers, applied `num_loops` times, and the keys that each has used.

        Args:
          memory: the encoder's keys for each layer.
          caches: of each applied layer, while decoding.
          num_loops: traced; later loops change nothing. None: all loops.
          remat: recompute inner values in the backward pass instead of keeping them.
        """
        x = x.astype(self.dtype)  # embeddings are float32 in every model
        input_keys = fold_keys(dropout_keys, self.depth)  # the layers' streams are 0..depth-1
        x = dropout(x, self.dropout, input_keys)
        embedding = x
        used: list[Keys] = []
        for loop in range(self.num_loops):
            before = x
            x = x if self.loop_inputs is None else self.loop_inputs(x, embedding, loop)
            for layer, module in enumerate(self.blocks):
                step = len(used)
                block: Callable[..., tuple[Array, Keys]] = functools.partial(
                    module,
                    view=terms.view,
                    terms=terms.attention[layer],
                    cross=None if memory is None else (memory[layer], terms.cross[layer]),
                    cache=None if caches is None else caches[step],
                    dropout_keys=fold_keys(dropout_keys, step),
                )
                if remat:
                    block = jax.checkpoint(block)
                x, keys = block(x)
                used.append(keys)
            if num_loops is not None:
                # Every loop is computed, so that one program serves all numbers of loops.
                x = jnp.where(loop < num_loops, x, before)
        if self.norm is not None:
            x = self.norm(x)
        return x, tuple(used)

    def memory(
        self,
        x: Float[Array, "b s d"],
        valid: Bool[Array, "b s"],
        cross: tuple[AttentionTerms, ...],
    ) -> tuple[Keys, ...]:
        """An encoder's output as the keys of each layer's cross-attention."""
        keys = []
        for block, terms in zip(self.blocks, cross, strict=True):
            assert block.cross is not None
            cross_keys = block.cross.keys(x, valid, terms, cross=True)
            keys.append(cross_keys)
        return tuple(keys)
