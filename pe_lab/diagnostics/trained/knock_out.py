"""What is left of a model when one of its encodings is switched off, on one head, on a layer, or everywhere."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from flax import nnx

from pe_lab.config import Encoding
from pe_lab.diagnostics.trained.around import Without, WithoutInput, put_around
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.labels import label
from pe_lab.training.step import Setup
from pe_lab.transformer.transformer import Transformer

Off = tuple[Any, Any]  # bool: of each place in attention and each head, [P, H]; of each encoding at an input


@dataclasses.dataclass(frozen=True)
class Part:
    """Where an encoding acts.

    Attributes:
      encoding: its name, one that no other has.
      where: "encoder", "decoder", "cross"; of what acts at the input, "input".
      layer: from 0; None at the input.
    """

    encoding: str
    where: str
    layer: int | None


@dataclasses.dataclass(frozen=True)
class KnockOut:
    """Encodings that are off; head and layer are None where it is all of them."""

    encoding: str
    where: str | None
    layer: int | None
    head: int | None
    off: Off


def parts(made: Setup) -> list[Part]:
    """Of a model, in the order in which `switch_off` takes them: those in attention, then those at the inputs."""
    model, inside, at_input = made.run.model, [], []
    named = list(zip(names(model.encodings), model.encodings, strict=True))
    for stack, built in made.abstract_model.stacks.items():
        for where in (stack, "cross") if built.cross_encodings else (stack,):
            acting = [(name, spec) for name, spec in named if spec.share is not None and spec.acts_in(where)]
            for layer in range(model.num_layers):
                inside += [Part(name, where, layer) for name, spec in acting if spec.layers is None or layer in spec.layers]
        at_input += [Part(name, "input", None) for name, spec in named if spec.share is None and spec.acts_in(stack)]
    return inside + at_input


def names(encodings: Sequence[Encoding]) -> list[str]:
    """Each its name in a config; where several share that, with the arguments that tell them apart, or else with their number."""
    told = [encoding.to_dict() for encoding in encodings]
    alike = [[other for other in told if other["name"] == own["name"]] for own in told]
    found = [
        label({k: v for k, v in own.items() if k == "name" or any(other[k] != v for other in others)})
        for own, others in zip(told, alike, strict=True)
    ]
    return [f"{name} ({found[: i + 1].count(name)})" if found.count(name) > 1 else name for i, name in enumerate(found)]


def switch_off(model: Transformer, off: Off) -> None:
    """Switches encodings of a merged model off."""
    inside, at_input = 0, 0

    def wrap(across: bool, layer: int, found: list[AttentionEncoding]) -> list[AttentionEncoding]:
        nonlocal inside
        first, inside = inside, inside + len(found)
        return [Without(encoding, off[0][first + i]) for i, encoding in enumerate(found)]

    for stack in model.stacks.values():
        put_around(stack, wrap)
        found = list(stack.input_encodings)
        stack.input_encodings = nnx.List([WithoutInput(encoding, off[1][at_input + i]) for i, encoding in enumerate(found)])
        at_input += len(found)


def all_of(made: Setup) -> Iterator[KnockOut]:
    """Each encoding everywhere, on each layer and on each head."""
    found, heads = parts(made), made.run.model.num_heads

    def off(chosen: list[bool], head: int | None = None) -> Off:
        inside = np.array([c for c, part in zip(chosen, found, strict=True) if part.where != "input"], bool)
        at_input = np.array([c for c, part in zip(chosen, found, strict=True) if part.where == "input"], bool)
        return inside[:, None] & ((np.arange(heads) == head) | (head is None))[None], at_input

    for name in dict.fromkeys(part.encoding for part in found):
        yield KnockOut(name, None, None, None, off([part.encoding == name for part in found]))
    for i, part in enumerate(found):
        if part.where != "input":
            alone = [j == i for j in range(len(found))]
            for head in (None, *range(heads)):
                yield KnockOut(part.encoding, part.where, part.layer, head, off(alone, head))


def nothing_off(made: Setup) -> Off:
    found = parts(made)
    inside = sum(part.where != "input" for part in found)
    return np.zeros((inside, made.run.model.num_heads), bool), np.zeros(len(found) - inside, bool)
