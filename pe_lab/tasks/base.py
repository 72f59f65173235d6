"""What a task is: examples of a traced length inside static bounds.

Shape letters: P prompt bound, T target bound, V vocabulary.
"""

import collections
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from pe_lab.choices import ChecksChoices


@dataclasses.dataclass(frozen=True)
class Example:
    """One example, left-aligned in static bounds.

    Attributes:
      prompt: [P] symbols, and prompt_mask: [P], True at its tokens.
      target: [T] symbols, and target_mask: [T].
      answer_mask: [T], the part of the target that is scored as the answer.
      alignment: [T], the prompt token that each target token comes from; -1 where that has no
        answer.
      asked_mask: [T], target tokens that the model must say; it is given the others. None: it must
        say all.
      structure: what position schemes may follow where the task knows better than its layout: a
        name to two arrays, [P, ...] of the prompt and [T, ...] of the target. "symbols": bool, True
        at the symbols of numbers; "coupled": tokens that belong together share a number from 1,
        others have 0; "grid": int [.., 2], row and column from 1, both 0 for what stands in none.
    """

    prompt: Any
    prompt_mask: Any
    target: Any
    target_mask: Any
    answer_mask: Any
    alignment: Any
    asked_mask: Any = None
    structure: dict[str, tuple[Any, Any]] = dataclasses.field(default_factory=dict)

    @property
    def asked(self) -> Any:
        """[T], True at target tokens that the model must say."""
        return self.target_mask if self.asked_mask is None else self.asked_mask


jax.tree_util.register_dataclass(Example, [f.name for f in dataclasses.fields(Example)], [])


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Symbols 0..num_symbols-1, then the shared tokens: one vocabulary for all layouts.

    Args:
      names: how a reader writes the symbols, no spaces inside; () for their numbers. Nothing is
        scored by them.
    """

    num_symbols: int
    names: tuple[str, ...] = ()

    def __post_init__(self):
        if self.names and len(set(self.names)) != self.num_symbols:
            raise ValueError(
                f"{self.num_symbols} symbols need as many names, no two alike, got "
                f"{len(set(self.names))}."
            )

    def text(self, symbols: Sequence[int]) -> str:
        """What a reader sees."""
        return " ".join(self.names[s] if self.names else str(s) for s in symbols)

    def symbols(self, text: str) -> list[int]:
        """What `text` wrote."""
        return [self.names.index(word) if self.names else int(word) for word in text.split()]

    @property
    def pad(self) -> int:
        return self.num_symbols

    @property
    def begin(self) -> int:
        return self.num_symbols + 1

    @property
    def separator(self) -> int:
        return self.num_symbols + 2

    @property
    def end(self) -> int:
        return self.num_symbols + 3

    @property
    def blank(self) -> int:
        return self.num_symbols + 4

    @property
    def size(self) -> int:
        return self.num_symbols + 5


class Task(ChecksChoices):
    """A generator of examples. A task is a frozen dataclass of its arguments.

    Traits:
      length_name: the unit of its length.
      threshold: the mean exact match from which on a run has learnt it.
      by_place: it is text: what counts is the likelihood of each place.
    """

    length_name: ClassVar[str] = "symbols"
    threshold: ClassVar[float] = 0.99
    by_place: ClassVar[bool] = False

    @property
    def vocabulary(self) -> Vocabulary:
        """Of prompts."""
        raise NotImplementedError

    @property
    def target_vocabulary(self) -> Vocabulary:
        """Of targets; where a layout has one stream, both share its table."""
        return self.vocabulary

    @property
    def min_length(self) -> int:
        """The shortest example that it can draw."""
        return 1

    @property
    def max_length(self) -> int | None:
        """The longest example that it can draw; None for no limit."""
        return None

    @property
    def has_scratchpad(self) -> bool:
        """The answer is a part of what the model must say."""
        return False

    @property
    def gives_tokens(self) -> bool:
        """Some tokens of the target are given, whatever the model says."""
        return False

    def prompt_bound(self, length: int) -> int:
        """P: the longest prompt of an example of this length."""
        return length

    def target_bound(self, length: int) -> int:
        """T: the longest target of an example of this length."""
        return length

    def data(self, split: str) -> Any:
        """What `sample` draws from: a pytree of arrays made beforehand, or None.

        Args:
          split: "train", "validation" or "test".
        """
        return None

    def sample(
        self, key: Key[Array, ""], length: Int[Array, ""], bound: int, data: Any = None
    ) -> Example:
        """Draws an example.

        Args:
          key: one key, one example, whatever the bound.
          length: traced, at most `bound`.
          bound: static; the example has the shapes of this length.
          data: of a split, for tasks that cannot draw inside jit.
        """
        raise NotImplementedError

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, Any]:
        """Return the arguments with which operands have exactly `length` digits.

        Args:
          operands: the longest operand (one at least), or all of them.
        """
        return {}

    def evaluation_lengths(self, length: int) -> range:
        """Return the lengths that evaluation examples of `length` can have.

        This is `length` alone, except for tasks that have no example of some lengths.
        """
        return range(length, length + 1)

    def reveals(self, structure: str, causal: bool) -> Literal["length", "answer"] | None:
        """Return what the structure of a target tells before the target is said.

        Structure that follows from the lengths in the prompt alone tells nothing. Positions that
        follow a revealing structure give the answer away (refused), or the target's length (marked
        in tables).

        Args:
          structure: "coupled", "symbols", "grid" or another key of `Example.structure`.
          causal: the structure of a target token is read once the token is said, as in decoders;
            else that of the whole target is read at once, as in encoders.
        """
        return None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        """Return the length of an example without padding, in the task's unit."""
        return len(prompt)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        """The target of a prompt, slowly; for tests."""
        raise NotImplementedError


def random_string(
    key: Key[Array, ""], num_symbols: int, bound: int, distinct: bool
) -> Int[Array, "p"]:
    """`bound` symbols, each uniform, or all distinct; a prefix does not depend on the bound."""
    if distinct:
        return jnp.argsort(jax.random.uniform(key, (num_symbols,)))[:bound]
    return jax.random.randint(key, (bound,), 0, num_symbols)


@dataclasses.dataclass(frozen=True)
class StringTask(Task):
    """A task whose prompt is a random string.

    Args:
      num_symbols: the alphabet.
      distinct: no symbol twice, so never more symbols than the alphabet has.
    """

    num_symbols: int
    distinct: bool

    def __post_init__(self):
        if self.num_symbols < 2:
            raise ValueError(
                f"{type(self).__name__} needs two symbols or more, got "
                f"num_symbols={self.num_symbols}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def max_length(self) -> int | None:
        return self.num_symbols if self.distinct else None


def floors(
    task: Task, lengths: Sequence[int], num_examples: int, data: Any = None
) -> list[dict[str, Any]]:
    """For each length what a predictor reaches that sees only the length and the place, never the
    prompt.

    It answers with the most frequent symbol of each place (token_accuracy) or the most frequent
    whole target (exact_match) among half of the examples, and is scored on the other half,
    `num_examples` each.

    Args:
      data: of the split that it is for.
    """
    found, bound = [], max(lengths)
    for n in lengths:  # one after the other: hundreds of long ones are more than fit at once
        asked, counted = _answers(task, bound, 2 * num_examples, np.int32(n), data)
        found.append(
            {
                "length": n,
                **_floor(np.asarray(asked), np.asarray(counted)[num_examples:]),
                "count": num_examples,
            }
        )
    return found


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _answers(task: Task, bound: int, count: int, length: Array, data: Any) -> tuple[Array, Array]:
    """Of `count` examples the targets, -1 where nothing is asked, and what of them is the answer;
    nothing else is computed.
    """
    keys = jax.random.split(jax.random.key(length), count)
    examples = jax.vmap(lambda key: task.sample(key, length, bound, data))(keys)
    return jnp.where(examples.asked, examples.target, -1), examples.answer_mask


def _floor(target: np.ndarray, counted: np.ndarray) -> dict[str, float]:
    seen, unseen = np.split(target, 2)
    guess = np.array([np.bincount(column[column >= 0], minlength=1).argmax() for column in seen.T])
    wholes = collections.Counter(
        row.tobytes() for row in (seen + 1).astype(">u4")
    )  # bytes in the order of the symbols
    frequency = max(wholes.values())
    whole = (
        np.frombuffer(min(row for row, n in wholes.items() if n == frequency), ">u4").astype(
            target.dtype
        )
        - 1
    )
    return {
        "token_accuracy": float(((unseen == guess[None]) & counted).sum() / counted.sum()),
        "exact_match": float((unseen == whole[None]).all(axis=1).mean()),
    }
