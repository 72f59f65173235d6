"""What is left of a model when one of its encodings is switched off, on one head, on a layer, or everywhere."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from flax import nnx

from pe_lab.diagnostics.trained.around import Without, WithoutInput, put_around
from pe_lab.encodings.base import AttentionEncoding
from pe_lab.training.step import Setup, name_of
from pe_lab.transformer.transformer import Transformer

Off = tuple[Any, Any]  # bool: of each place in attention and each head, [P, H]; of each encoding at an input


@dataclasses.dataclass(frozen=True)
class Part:
    """Where an encoding acts.

    Attributes:
      encoding: its name in a config.
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
    inside: list[Part] = []
    at_input: list[Part] = []
    for name, stack in made.abstract_model.stacks.items():
        for where, layers in ((name, stack.layer_encodings), ("cross", stack.cross_encodings)):
            inside += [Part(name_of(stack.attention_encodings[i]), where, layer) for layer, indices in enumerate(layers) for i in indices]
        at_input += [Part(name_of(encoding), "input", None) for encoding in stack.input_encodings]
    return inside + at_input


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
    return jax.tree.map(np.zeros_like, (np.zeros((inside, made.run.model.num_heads), bool), np.zeros(len(found) - inside, bool)))
