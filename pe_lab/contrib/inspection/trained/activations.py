"""Activations of a model on one batch: hidden states, queries, keys and attention weights."""

import dataclasses
from collections.abc import Callable
from typing import no_type_check

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, PyTree

from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.requirements import Requirements
from pe_lab.model.block import Block
from pe_lab.model.sites import Site
from pe_lab.model.streams import Streams, View
from pe_lab.model.terms import AttentionTerms, LayerEncoding, StackTerms
from pe_lab.model.transformer import Terms, Transformer


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class AttentionActivations:
    """One application of attention.

    Attributes:
      q, k: queries and keys before an encoding changes them.
      mask: True where a query may attend to a key.
      weights: attention weights that multiply the values; None before they are computed.
    """

    q: Float[Array, "b l h e"]
    k: Float[Array, "b s h e"]
    mask: Bool[Array, "b _ l s"]
    weights: Float[Array, "b h l s"] | None


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Activations:
    """The activations of one batch.

    Attributes:
      hidden: stack -> the input of its first layer, then the output of each layer.
      attention: "encoder", "decoder" or "cross" -> each application of attention, in order.
    """

    hidden: dict[str, list[Float[Array, "b l d"]]]
    attention: dict[str, list[AttentionActivations]]


class _Recorder(AttentionEncoding):
    """An encoding that changes nothing and records the arguments of its hooks.

    As the first encoding of a layer it receives the raw queries and keys, and the weights that the
    layer uses. Another encoding that replaces the weighted sum still does.
    """

    requirements = Requirements(
        relative=True, reads_positions=False, cross=True, replaces=("logits", "combine")
    )

    def __init__(
        self, record_inputs: Callable[..., None], record_weights: Callable[[Array], None]
    ) -> None:
        self.record_inputs = record_inputs
        self.record_weights = record_weights

    def transform_logits(self, s, q, k, Q, K, mask):
        self.record_inputs(q, k, mask)
        return s

    def combine(self, w, v, Q, K):
        self.record_weights(w.astype(jnp.float32))
        return super().combine(w, v, Q, K)


def _recorder(activations: list[AttentionActivations]) -> _Recorder:
    """A recorder that appends each application of attention to a list."""

    def record_inputs(
        q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], mask: Bool[Array, "b _ l s"]
    ) -> None:
        activations.append(AttentionActivations(q, k, mask, None))

    def record_weights(weights: Float[Array, "b h l s"]) -> None:
        activations[-1] = dataclasses.replace(activations[-1], weights=weights)

    return _Recorder(record_inputs, record_weights)


class _RecordedBlock(nnx.Module):
    """A block that records its input and its output."""

    def __init__(self, block: Block, record: Callable[[Array, Array], None]) -> None:
        self.block = block
        self.cross = block.cross  # the stack reads it
        self.record = record

    def __call__(self, x: Array, **arguments: PyTree) -> tuple[Array, PyTree]:
        out, keys = self.block(x, **arguments)
        self.record(x, out)
        return out, keys


def record_activations(
    model: Transformer, streams: Streams
) -> tuple[Float[Array, "b l v"], Activations]:
    """Logits and activations. The blocks of the model are replaced, so pass a merged copy."""
    hidden: dict[str, list[Array]] = {}
    attention: dict[str, list[AttentionActivations]] = {}
    terms = _with_recorders(model, model.position_terms(streams), attention)
    for name, stack in model.stacks.items():

        def record(x: Array, out: Array, name: str = name) -> None:
            hidden.setdefault(name, [x]).append(out)

        recorded = [_RecordedBlock(block, record) for block in stack.blocks]
        stack.blocks = nnx.List(recorded)  # type: ignore[arg-type]
    logits = model(streams, terms=terms)
    return logits, Activations(hidden, attention)


def _with_recorders(
    model: Transformer, terms: Terms, attention: dict[str, list[AttentionActivations]]
) -> Terms:
    """The terms with a recorder on every layer of attention."""

    def layers(
        name: str, layer_terms: tuple[AttentionTerms, ...], queries: View, keys: View
    ) -> tuple[AttentionTerms, ...]:
        site = Site(index=0)  # any site: a recorder does not read its tokens
        Q = queries.tokens(site, 0)
        K = keys.tokens(site, 0)
        recorder = LayerEncoding(_recorder(attention.setdefault(name, [])), None, Q, K)
        recorded = []
        for layer in layer_terms:
            encodings = (recorder, *layer.encodings)
            recorded.append(dataclasses.replace(layer, encodings=encodings))
        return tuple(recorded)

    def stack(name: str, stack_terms: StackTerms, memory: StackTerms | None) -> StackTerms:
        view = stack_terms.view
        self_attention = layers(name, stack_terms.attention, view, view)
        recorded = dataclasses.replace(stack_terms, attention=self_attention)
        if memory is None:
            return recorded
        cross = layers("cross", stack_terms.cross, view, memory.view)
        return dataclasses.replace(recorded, cross=cross)

    recorded = {}
    memory = None
    for name in model.stacks:
        recorded[name] = stack(name, terms[name], memory)
        memory = terms[name]
    return recorded
