"""What a model computes inside, layer by layer, while it reads a batch: hidden states, queries, keys and attention weights."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from pe_lab.diagnostics.trained.around import Around, put_around
from pe_lab.encodings.base import AttentionEncoding, Chain
from pe_lab.transformer.streams import Stream
from pe_lab.transformer.transformer import Block, Transformer


@dataclasses.dataclass(frozen=True)
class Attended:
    """One application of attention.

    Attributes:
      q, k: [B, L, H, Dh] and [B, S, H, Dh], before an encoding acts on them.
      mask: [B|1, H|1, L, S], True where a query sees a key.
      weights: [B, H, L, S].
    """

    q: Any
    k: Any
    mask: Any
    weights: Any


jax.tree_util.register_dataclass(Attended, ["q", "k", "mask", "weights"], [])


@dataclasses.dataclass(frozen=True)
class Seen:
    """What a model did with one batch; a sink token stands before the others.

    Attributes:
      hidden: stack -> what enters its first layer, then what leaves each, [B, L, D].
      attended: "encoder", "decoder" or "cross" -> each application, in order.
    """

    hidden: dict[str, list[Any]]
    attended: dict[str, list[Attended]]


jax.tree_util.register_dataclass(Seen, ["hidden", "attended"], [])


class _Recorder(Around):
    """Tells what meets in attention, and changes nothing."""

    def __init__(self, inner: AttentionEncoding, note: Callable[[dict[str, Any]], None]):
        super().__init__(inner)
        self.note = note

    def scores(self, s, q, k, Q, K, mask):
        self.note({"q": q, "k": k, "mask": mask})
        return super().scores(s, q, k, Q, K, mask)

    def weights(self, s, mask):
        found = super().weights(s, mask)
        self.note({"weights": found})
        return found


class _Watched(nnx.Module):
    """A block that tells what enters and what leaves it."""

    def __init__(self, inner: Block, note: Callable[[Any, Any], None]):
        self.inner, self.note = inner, note
        self.attention, self.cross = inner.attention, inner.cross

    def __call__(self, x, *told):
        out, keys = self.inner(x, *told)
        self.note(x, out)
        return out, keys


def watched(model: Transformer, answering: Stream, source: Stream | None) -> tuple[jax.Array, Seen]:
    """Logits, and what was done for them; the explicit form of attention. The model is used up: merge another."""
    hidden: dict[str, list[Any]] = {}
    notes: dict[str, list[dict[str, Any]]] = {}

    def note(name: str, told: dict[str, Any]) -> None:
        found = notes.setdefault(name, [])
        found.append(told) if "q" in told else found[-1].update(told)

    def states(name: str, x: Any, out: Any) -> None:
        hidden.setdefault(name, [x]).append(out)

    for name, stack in model.stacks.items():

        def wrap(across: bool, layer: int, parts: list[AttentionEncoding], name: str = name) -> list[AttentionEncoding]:
            return [_Recorder(Chain(parts), lambda told: note("cross" if across else name, told))]

        put_around(stack, wrap)
        stack.blocks = nnx.List([_Watched(block, functools.partial(states, name)) for block in stack.blocks])  # type: ignore[misc]
    logits = model(answering, source)
    return logits, Seen(hidden, {name: [Attended(**told) for told in found] for name, found in notes.items()})
