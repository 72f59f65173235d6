"""Knock-outs: a trained model with an encoding switched off on a head, a layer, or everywhere.

An encoding in attention is switched off on heads by `LayerEncoding.on`. It may be traced, so one
compiled program serves all knock-outs. An encoding at the input is left out.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import no_type_check

import jax
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.model.streams import Streams
from pe_lab.model.terms import AttentionTerms, LayerEncoding, StackTerms, attention_terms
from pe_lab.model.transformer import Terms, Transformer
from pe_lab.runs.settings.labels import label
from pe_lab.runs.settings.plugin import Encoding
from pe_lab.training.setup import Setup


@dataclasses.dataclass(frozen=True)
class ActingEncoding:
    """An encoding and one place where it acts.

    Attributes:
      encoding: its name, unique in the model.
      where: "encoder", "decoder" or "cross"; "input" for an encoding at the input.
      layer: from 0; None at the input.
      heads: the heads on which it acts; None for all.
    """

    encoding: str
    where: str
    layer: int | None
    heads: tuple[int, ...] | None = None


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@dataclasses.dataclass(frozen=True)
class SwitchedOff:
    """The encodings that are off, in the order of `acting_encodings`.

    Attributes:
      attention: for each encoding in attention, True at the heads where it is off; may be traced.
      inputs: for each encoding at the input, whether it is off; static.
    """

    attention: Bool[Array | np.ndarray, "p h"]
    inputs: tuple[bool, ...] = ()


jax.tree_util.register_dataclass(SwitchedOff, ["attention"], ["inputs"])


@dataclasses.dataclass(frozen=True)
class KnockOut:
    """One encoding that is off; `layer` and `head` are None if it is off on all of them."""

    encoding: str
    where: str | None
    layer: int | None
    head: int | None
    off: SwitchedOff


def acting_encodings(setup: Setup) -> list[ActingEncoding]:
    """The encodings of a model and their places: first in attention, then at the inputs."""
    settings = setup.run.model
    named = list(zip(unique_names(settings.encodings), settings.encodings, strict=True))
    in_attention: list[ActingEncoding] = []
    at_input: list[ActingEncoding] = []
    for stack, model in setup.abstract_model.stacks.items():
        attentions = (stack, "cross") if model.cross_sites else (stack,)
        places = itertools.product(attentions, range(settings.num_layers), named)
        for where, layer, (name, spec) in places:
            if _acts_on_layer(spec, where, layer):
                in_attention.append(ActingEncoding(name, where, layer, spec.heads))
        for name, spec in named:
            # `share` is None for encodings at the input: it says what layers have in common.
            if spec.share is None and spec.acts_in(stack):
                at_input.append(ActingEncoding(name, "input", None))
    return in_attention + at_input


def _acts_on_layer(spec: Encoding, where: str, layer: int) -> bool:
    if spec.share is None or spec.heads == () or not spec.acts_in(where):
        return False
    return spec.layers is None or layer in spec.layers


def unique_names(encodings: Sequence[Encoding]) -> list[str]:
    """Names of encodings as in a config.

    Encodings that share a name also have the arguments in which they differ, or else a number.
    """
    specs = [encoding.to_dict() for encoding in encodings]
    labels = []
    for spec in specs:
        same_name = [other for other in specs if other["name"] == spec["name"]]
        distinct = {"name": spec["name"]}
        for key, value in spec.items():
            if any(other[key] != value for other in same_name):
                distinct[key] = value
        labels.append(label(distinct))
    names = []
    for i, name in enumerate(labels):
        if labels.count(name) > 1:
            name = f"{name} ({labels[: i + 1].count(name)})"
        names.append(name)
    return names


def logits(model: Transformer, off: SwitchedOff, streams: Streams) -> Float[Array, "b l v"]:
    """Logits with encodings switched off.

    Encodings at the inputs are removed from the model, so pass a merged copy.
    """
    _remove_inputs(model, off.inputs)
    terms = switched_off(model, model.position_terms(streams), off.attention)
    return model(streams, terms=terms)


def _remove_inputs(model: Transformer, off: Sequence[bool]) -> None:
    first = 0
    for stack in model.stacks.values():
        count = len(stack.input_encodings)
        remaining = [i for i in range(count) if not off[first + i]]
        stack.input_encodings = nnx.List([stack.input_encodings[i] for i in remaining])
        stack.input_sites = tuple(stack.input_sites[i] for i in remaining)
        first += count


def switched_off(model: Transformer, terms: Terms, off: Bool[Array | np.ndarray, "p h"]) -> Terms:
    """The terms with encodings in attention off on some heads, as in `SwitchedOff`."""
    rows = iter(list(off))

    def encoding(e: LayerEncoding) -> LayerEncoding:
        return dataclasses.replace(e, on=~next(rows))

    def layers(layer_terms: tuple[AttentionTerms, ...]) -> tuple[AttentionTerms, ...]:
        hook = model.answering.kernels.hook
        changed = []
        for layer in layer_terms:
            encodings = [encoding(e) for e in layer.encodings]
            # Biases are terms too, so they are computed again.
            causal = layer.causal
            terms = attention_terms(encodings, layer.visible, hook=hook, causal=causal)
            changed.append(terms)
        return tuple(changed)

    def stack(stack_terms: StackTerms) -> StackTerms:
        attention = layers(stack_terms.attention)
        cross = layers(stack_terms.cross)
        return dataclasses.replace(stack_terms, attention=attention, cross=cross)

    # The rows are consumed in the order of the stacks.
    return {name: stack(terms[name]) for name in model.stacks}


def all_knock_outs(setup: Setup) -> Iterator[KnockOut]:
    """Each encoding off everywhere, on each layer and on each head."""
    acting = acting_encodings(setup)
    num_heads = setup.run.model.num_heads
    # The first place of an encoding decides its order in the table.
    for name in dict.fromkeys(part.encoding for part in acting):
        chosen = [part.encoding == name for part in acting]
        yield KnockOut(name, None, None, None, _off(acting, chosen, num_heads))
    for i, part in enumerate(acting):
        if part.where == "input":
            continue
        chosen = [j == i for j in range(len(acting))]
        heads = range(num_heads) if part.heads is None else part.heads
        for head in (None, *heads):
            off = _off(acting, chosen, num_heads, head)
            yield KnockOut(part.encoding, part.where, part.layer, head, off)


def nothing_off(setup: Setup) -> SwitchedOff:
    acting = acting_encodings(setup)
    return _off(acting, [False] * len(acting), setup.run.model.num_heads)


def _off(
    acting: Sequence[ActingEncoding],
    chosen: Sequence[bool],
    num_heads: int,
    head: int | None = None,
) -> SwitchedOff:
    """The chosen encodings off on one head, or on all."""
    heads = np.ones(num_heads, bool)
    if head is not None:
        heads = np.arange(num_heads) == head
    rows = []
    inputs = []
    for part, is_off in zip(acting, chosen, strict=True):
        if part.where == "input":
            inputs.append(is_off)
        else:
            rows.append(heads & is_off)
    # The shape counts if no encoding is in attention.
    attention = np.array(rows, bool).reshape(-1, num_heads)
    return SwitchedOff(attention, tuple(inputs))
