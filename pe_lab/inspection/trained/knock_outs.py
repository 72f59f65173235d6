"""What is left of a model when one of its encodings is switched off, on one head, on a layer, or
everywhere.

An encoding in attention is switched off by the heads that it acts on, which are terms of the
forward pass and may be traced: one program serves all knock-outs. An encoding at the input is left
out.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.model.streams import Stream
from pe_lab.model.terms import AttentionTerms, LayerEncoding, StackTerms, attention_terms
from pe_lab.model.transformer import Terms, Transformer
from pe_lab.runs.labels import label
from pe_lab.runs.settings import Encoding
from pe_lab.training.setup import Setup


@dataclasses.dataclass(frozen=True)
class ActingEncoding:
    """Where an encoding acts.

    Attributes:
      encoding: its name, one that no other has.
      where: "encoder", "decoder", "cross"; of what acts at the input, "input".
      layer: from 0; None at the input.
      heads: on which it acts; None: all.
    """

    encoding: str
    where: str
    layer: int | None
    heads: tuple[int, ...] | None = None


@dataclasses.dataclass(frozen=True)
class SwitchedOff:
    """What is switched off, in the order of `parts`.

    Attributes:
      attention: [P, H], for each part in attention True at the heads where it is off; may be
        traced.
      inputs: static, for each part at the input whether it is off.
    """

    attention: Any
    inputs: tuple[bool, ...] = ()


jax.tree_util.register_dataclass(SwitchedOff, ["attention"], ["inputs"])


@dataclasses.dataclass(frozen=True)
class KnockOut:
    """Encodings that are off; head and layer are None where it is all of them."""

    encoding: str
    where: str | None
    layer: int | None
    head: int | None
    off: SwitchedOff


def parts(setup: Setup) -> list[ActingEncoding]:
    """Of a model, in the order in which `SwitchedOff` names them: those in attention, then those at
    inputs.
    """
    model, inside, at_input = setup.run.model, [], []
    named = list(zip(names(model.encodings), model.encodings, strict=True))
    for stack, built in setup.abstract_model.stacks.items():
        for where in (stack, "cross") if built.cross_sites else (stack,):
            acting = [
                (name, spec)
                for name, spec in named
                if spec.share is not None and spec.acts_in(where) and spec.heads != ()
            ]
            for layer in range(model.num_layers):
                inside += [
                    ActingEncoding(name, where, layer, spec.heads)
                    for name, spec in acting
                    if spec.layers is None or layer in spec.layers
                ]
        at_input += [
            ActingEncoding(name, "input", None)
            for name, spec in named
            if spec.share is None and spec.acts_in(stack)
        ]
    return inside + at_input


def names(encodings: Sequence[Encoding]) -> list[str]:
    """Each its name in a config; where several share that, with the arguments that tell them apart,
    or else with their number.
    """
    told = [encoding.to_dict() for encoding in encodings]
    alike = [[other for other in told if other["name"] == own["name"]] for own in told]
    found = [
        label(
            {k: v for k, v in own.items() if k == "name" or any(other[k] != v for other in others)}
        )
        for own, others in zip(told, alike, strict=True)
    ]
    return [
        f"{name} ({found[: i + 1].count(name)})" if found.count(name) > 1 else name
        for i, name in enumerate(found)
    ]


def logits(
    model: Transformer, off: SwitchedOff, stream: Stream, source: Stream | None = None
) -> Float[Array, "b l v"]:
    """Logits with encodings switched off. Those at the inputs are taken from the model: merge
    another.
    """
    _remove_inputs(model, off.inputs)
    terms = switched_off(model, model.position_terms(stream, source), off.attention)
    return model(stream, source, terms=terms)


def _remove_inputs(model: Transformer, off: Sequence[bool]) -> None:
    """Take the encodings at the inputs that are off from a merged model."""
    first = 0
    for stack in model.stacks.values():
        count = len(stack.input_encodings)
        left = [i for i in range(count) if not off[first + i]]
        stack.input_encodings = nnx.List([stack.input_encodings[i] for i in left])
        stack.input_sites = tuple(stack.input_sites[i] for i in left)
        first += count


def switched_off(model: Transformer, terms: Terms, off: Bool[Array, "p h"]) -> Terms:
    """The terms with encodings in attention off on some heads.

    Args:
      off: as in `SwitchedOff`.
    """
    rows = iter(list(off))

    def encoding(e: LayerEncoding) -> LayerEncoding:
        on = ~next(rows)
        return dataclasses.replace(e, heads=on if e.heads is None else e.heads & on)

    def layers(of_layers: tuple[AttentionTerms, ...]) -> tuple[AttentionTerms, ...]:
        hook = model.answering.kernels.hook
        return tuple(
            attention_terms([encoding(e) for e in layer.encodings], layer.visible, hook=hook)
            for layer in of_layers
        )

    def stack(of_stack: StackTerms) -> StackTerms:
        attention, cross = layers(of_stack.attention), layers(of_stack.cross)
        return dataclasses.replace(of_stack, attention=attention, cross=cross)

    source = None if terms.source is None else stack(terms.source)  # its parts come first
    return Terms(stack(terms.answering), source)


def all_of(setup: Setup) -> Iterator[KnockOut]:
    """Each encoding everywhere, on each layer and on each head."""
    found, num_heads = parts(setup), setup.run.model.num_heads

    def off(chosen: list[bool], head: int | None = None) -> SwitchedOff:
        of_parts = list(zip(chosen, found, strict=True))
        attention = np.array([c for c, part in of_parts if part.where != "input"], bool)
        heads = (np.arange(num_heads) == head) | (head is None)
        return SwitchedOff(
            attention[:, None] & heads[None],
            tuple(c for c, part in of_parts if part.where == "input"),
        )

    for name in dict.fromkeys(part.encoding for part in found):
        yield KnockOut(name, None, None, None, off([part.encoding == name for part in found]))
    for i, part in enumerate(found):
        if part.where != "input":
            alone = [j == i for j in range(len(found))]
            heads = range(num_heads) if part.heads is None else part.heads
            for head in (None, *heads):
                yield KnockOut(part.encoding, part.where, part.layer, head, off(alone, head))


def nothing_off(setup: Setup) -> SwitchedOff:
    found = parts(setup)
    in_attention = sum(part.where != "input" for part in found)
    return SwitchedOff(
        np.zeros((in_attention, setup.run.model.num_heads), bool),
        (False,) * (len(found) - in_attention),
    )
