"""The contract of a task: examples of a traced length inside static bounds.

Shape letters: P prompt bound, T target bound, A axes of a structure.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, Shaped

from pe_lab.choices import ChecksChoices
from pe_lab.tasks._pytree import register

AnyArray = Array | np.ndarray
RandomKey = Key[Array, ""]
Scalar = Int[Array, ""]  # a traced integer
# Name -> labels of the prompt tokens, [P] or [P, A], and of the target tokens, [T] or [T, A].
Structure = Mapping[str, tuple[Shaped[AnyArray, "..."], Shaped[AnyArray, "..."]]]


@register
@dataclasses.dataclass(frozen=True)
class Example:
    """One example, left-aligned in static bounds; examples under vmap have a leading batch axis.

    Attributes:
      prompt: [P] symbols.
      prompt_mask: [P], True at the tokens of the prompt.
      target: [T] symbols.
      target_mask: [T], True at the tokens of the target.
      answer_mask: [T], True at the target tokens that are scored.
      alignment: [T], the index of the prompt token that each target token copies, or -1.
      asked_mask: [T], True at the target tokens that the model predicts; the others are inputs.
        None if the model predicts all of them.
      structure: labels that position schemes can read, where the task knows more than its layout.
        "symbols" is True at digits and other symbols of numbers. Tokens with the same number in
        "coupled" (from 1; 0 for none) share a position. "grid" is a row and a column (from 1; 0 and
        0 outside of a grid).
    """

    prompt: Int[AnyArray, "*b p"]
    prompt_mask: Bool[AnyArray, "*b p"]
    target: Int[AnyArray, "*b t"]
    target_mask: Bool[AnyArray, "*b t"]
    answer_mask: Bool[AnyArray, "*b t"]
    alignment: Int[AnyArray, "*b t"]
    asked_mask: Bool[AnyArray, "*b t"] | None = None
    structure: Structure = dataclasses.field(default_factory=dict)

    @property
    def asked(self) -> Bool[AnyArray, "*b t"]:
        """[T], True at the target tokens that the model predicts."""
        return self.target_mask if self.asked_mask is None else self.asked_mask


def make_example(
    prompt: Shaped[Array, "p"],
    prompt_mask: Bool[Array, "p"],
    target: Shaped[Array, "t"],
    target_mask: Bool[Array, "t"],
    *,
    answer_mask: Bool[Array, "t"] | None = None,
    alignment: Int[Array, "t"] | None = None,
    asked_mask: Bool[Array, "t"] | None = None,
    structure: Structure | None = None,
) -> Example:
    """Return an example whose symbols are 0 outside of its masks.

    Args:
      answer_mask: None if the whole target is the answer.
      alignment: None if no target token is a copy of one prompt token.
    """
    return Example(
        prompt=jnp.where(prompt_mask, prompt, 0),
        prompt_mask=prompt_mask,
        target=jnp.where(target_mask, target, 0),
        target_mask=target_mask,
        answer_mask=target_mask if answer_mask is None else answer_mask,
        alignment=jnp.full(len(target), -1) if alignment is None else alignment,
        asked_mask=asked_mask,
        structure=structure or {},
    )


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The symbols 0..num_symbols-1, then the special tokens: one vocabulary for all layouts.

    Args:
      names: a name without spaces for each symbol, for readers; () for the symbols' numbers.
    """

    num_symbols: int
    names: tuple[str, ...] = ()

    def __post_init__(self):
        if self.names and len(set(self.names)) != self.num_symbols:
            raise ValueError(
                f"{self.num_symbols} symbols need as many different names, got "
                f"{len(set(self.names))}."
            )

    def text(self, symbols: Sequence[int]) -> str:
        """Return the names of symbols, separated by spaces."""
        return " ".join(self.names[s] if self.names else str(s) for s in symbols)

    def symbols(self, text: str) -> list[int]:
        """Return the symbols of a text: the inverse of `text`."""
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
      threshold: the mean exact match at which a run has solved the task.
      is_text: the score is the likelihood of each byte, not exact match.
    """

    length_name: ClassVar[str] = "symbols"
    threshold: ClassVar[float] = 0.99
    is_text: ClassVar[bool] = False

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of the prompts."""
        raise NotImplementedError

    @property
    def target_vocabulary(self) -> Vocabulary:
        """Vocabulary of the targets. Layouts with one stream use the larger of the two."""
        return self.vocabulary

    @property
    def min_length(self) -> int:
        """Length of the shortest example."""
        return 1

    @property
    def max_length(self) -> int | None:
        """Length of the longest example; None for no limit."""
        return None

    @property
    def has_scratchpad(self) -> bool:
        """Whether the model predicts target tokens that are not part of the answer."""
        return False

    @property
    def gives_tokens(self) -> bool:
        """Whether some target tokens are inputs that the model does not predict."""
        return False

    def prompt_bound(self, length: int) -> int:
        """P: the largest number of prompt tokens of an example of this length."""
        return length

    def target_bound(self, length: int) -> int:
        """T: the largest number of target tokens of an example of this length."""
        return length

    def data(self, split: str) -> Any:
        """Return the arrays (any pytree) that `sample` draws from, or None.

        Args:
          split: "train", "validation" or "test".
        """
        return None

    def sample(self, key: RandomKey, length: Scalar, bound: int, data: Any = None) -> Example:
        """Draw one example; prompt [P] and target [T] for the bounds of length `bound`.

        Args:
          key: determines the example together with the length; the bound changes padding alone.
          length: traced, at most `bound`.
          bound: static.
          data: the result of `data` for a split, for tasks that cannot draw inside jit.
        """
        raise NotImplementedError

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, str]:
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
        """Return what the structure of a target reveals before the target is predicted.

        Structure that follows from the lengths in the prompt alone reveals nothing. Configs whose
        positions reveal the answer are rejected; tables mark those that reveal its length.

        Args:
          structure: "coupled", "symbols", "grid" or another key of `Example.structure`.
          causal: the model reads the structure of a target token after the token, as in decoders;
            else it reads the structure of the whole target at once, as in encoders.
        """
        return None

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        """Return the length of an example without padding, in the task's unit."""
        return len(prompt)


def random_string(key: RandomKey, num_symbols: int, bound: int, distinct: bool) -> Int[Array, "p"]:
    """Draw `bound` uniform symbols, all different if `distinct`.

    The first symbols do not depend on the bound.
    """
    if distinct:
        return jnp.argsort(jax.random.uniform(key, (num_symbols,)))[:bound]
    return jax.random.randint(key, (bound,), 0, num_symbols)


@dataclasses.dataclass(frozen=True)
class StringTask(Task):
    """A task whose prompt is a random string.

    Args:
      num_symbols: the size of the alphabet.
      distinct: all symbols of a prompt differ, which limits its length to the alphabet's size.
    """

    num_symbols: int
    distinct: bool

    def __post_init__(self):
        check_num_symbols(self, self.num_symbols)

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def max_length(self) -> int | None:
        return self.num_symbols if self.distinct else None


def check_num_symbols(task: Task, num_symbols: int) -> None:
    """Reject an alphabet of fewer than two symbols."""
    if num_symbols < 2:
        raise ValueError(
            f"{type(task).__name__} needs two symbols or more, got num_symbols={num_symbols}."
        )
