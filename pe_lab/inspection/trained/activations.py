"""What a model computes inside while it reads a batch: hidden states, queries, keys and attention
weights.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.requirements import Requirements
from pe_lab.model.block import Block
from pe_lab.model.sites import Site
from pe_lab.model.streams import Stream, View
from pe_lab.model.terms import AttentionTerms, LayerEncoding, StackTerms
from pe_lab.model.transformer import Terms, Transformer


@dataclasses.dataclass(frozen=True)
class AttentionActivations:
    """One application of attention.

    Attributes:
      q, k: [B, L, H, Dh] and [B, S, H, Dh], before an encoding changes them.
      mask: [B, H|1, L, S], True where a query may attend to a key.
      weights: [B, H, L, S], as the values are summed with.
    """

    q: Any
    k: Any
    mask: Any
    weights: Any


jax.tree_util.register_dataclass(AttentionActivations, ["q", "k", "mask", "weights"], [])


@dataclasses.dataclass(frozen=True)
class Activations:
    """What a model computed for one batch; a sink token is the first token.

    Attributes:
      hidden: stack -> the input of its first layer, then the output of each, [B, L, D].
      attended: "encoder", "decoder" or "cross" -> each application of attention, in order.
    """

    hidden: dict[str, list[Any]]
    attended: dict[str, list[AttentionActivations]]


jax.tree_util.register_dataclass(Activations, ["hidden", "attended"], [])


class _Recorder(AttentionEncoding):
    """An encoding that changes nothing and records what its hooks receive.

    As the first encoding of a layer it gets the raw queries and keys, and the weights that the
    layer uses. Another encoding that replaces the weighted sum still does.
    """

    requirements = Requirements(
        relative=True, reads_positions=False, cross=True, replaces=("logits", "combine")
    )

    def __init__(self, inputs: Callable[..., None], weights: Callable[[Any], None]):
        self.record_inputs, self.record_weights = inputs, weights

    def transform_logits(self, s, q, k, Q, K, mask):
        self.record_inputs(q, k, mask)
        return s

    def combine(self, w, v, Q, K):
        self.record_weights(w.astype(jnp.float32))
        return super().combine(w, v, Q, K)


def _recorder(attended: list[AttentionActivations]) -> _Recorder:
    """A recorder that adds each application of attention to a list."""

    def inputs(q: Any, k: Any, mask: Any) -> None:
        attended.append(AttentionActivations(q, k, mask, None))

    def weights(w: Any) -> None:
        attended[-1] = dataclasses.replace(attended[-1], weights=w)

    return _Recorder(inputs, weights)


class _RecordedBlock(nnx.Module):
    """A block that records its input and its output."""

    def __init__(self, block: Block, record: Callable[[Any, Any], None]):
        self.block, self.cross, self.record = block, block.cross, record

    def __call__(self, x, *rest):
        out, keys = self.block(x, *rest)
        self.record(x, out)
        return out, keys


def recorded(
    model: Transformer, stream: Stream, source: Stream | None = None
) -> tuple[jax.Array, Activations]:
    """Logits, and what the model computed on the way. The model's blocks are replaced: merge
    another.
    """
    hidden: dict[str, list[Any]] = {}
    attended: dict[str, list[AttentionActivations]] = {}
    terms = _with_recorders(model, model.position_terms(stream, source), attended)
    for name, stack in model.stacks.items():

        def record(x: Any, out: Any, name: str = name) -> None:
            hidden.setdefault(name, [x]).append(out)

        stack.blocks = nnx.List([_RecordedBlock(block, record) for block in stack.blocks])  # type: ignore[misc]
    logits = model(stream, source, terms=terms)
    return logits, Activations(hidden, attended)


def _with_recorders(
    model: Transformer, terms: Terms, attended: dict[str, list[AttentionActivations]]
) -> Terms:
    """The terms with a recorder on every layer of attention."""

    def layers(
        name: str, of_layers: tuple[AttentionTerms, ...], queries: View, keys: View
    ) -> tuple[AttentionTerms, ...]:
        site = Site(index=0)  # any: a recorder does not read its tokens
        Q, K = queries.tokens(site, 0), keys.tokens(site, 0)
        recorder = LayerEncoding(_recorder(attended.setdefault(name, [])), None, Q, K)
        return tuple(
            dataclasses.replace(layer, encodings=(recorder, *layer.encodings))
            for layer in of_layers
        )

    def stack(name: str, of_stack: StackTerms, memory: StackTerms | None) -> StackTerms:
        view = of_stack.view
        attention = layers(name, of_stack.attention, view, view)
        if memory is None:
            return dataclasses.replace(of_stack, attention=attention)
        cross = layers("cross", of_stack.cross, view, memory.view)
        return dataclasses.replace(of_stack, attention=attention, cross=cross)

    names = list(model.stacks)
    source = None if terms.source is None else stack(names[0], terms.source, None)
    return Terms(stack(names[-1], terms.answering, terms.source), source)
