"""The contract of a task: examples of a traced length inside static bounds.

Shape letters: P prompt bound, T target bound, A axes of a structure.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, no_type_check

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, PyTree, Shaped

from pe_lab.choices import ChecksChoices
from pe_lab.runs.records.record_schema import CorpusSizes

AnyArray = Array | np.ndarray
RandomKey = Key[Array, ""]
Scalar = Int[Array, ""]  # a traced integer
Ints = Int[Array, "n"]
Bools = Bool[Array, "n"]
Data: TypeAlias = PyTree  # the arrays that `Task.sample` draws from
# Name -> labels of the prompt tokens, [P] or [P, A], and of the target tokens, [T] or [T, A].
Structure = Mapping[str, tuple[Shaped[AnyArray, "..."], Shaped[AnyArray, "..."]]]

COMPONENT = "component"  # the structure that holds the index of an example's task in a mixture
_REDRAW = 0x52445257  # folded into a key for the next try


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
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
      asked_mask: [T], True at the target tokens that the model predicts; None if it predicts all.
      structure: labels that position schemes can read, where the task knows more than its layout.
        "symbols" is True at digits and other symbols of numbers. Tokens with the same number in
        "coupled" (from 1; 0 for none) share a position. "grid" is a row and a column (from 1; 0 and
        0 outside of a grid). "separators" is True between the items of a list. "component" is the
        index of the example's task in a mixture, and -1 at the task token.

    Integers of other types become int32: a special token that follows 256 symbols, or the number of
    a position, would wrap around in uint8.
    """

    prompt: Int[AnyArray, "*b p"]
    prompt_mask: Bool[AnyArray, "*b p"]
    target: Int[AnyArray, "*b t"]
    target_mask: Bool[AnyArray, "*b t"]
    answer_mask: Bool[AnyArray, "*b t"]
    alignment: Int[AnyArray, "*b t"]
    asked_mask: Bool[AnyArray, "*b t"] | None = None
    structure: Structure = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        for name, value in vars(self).items():
            object.__setattr__(self, name, jax.tree.map(_as_int32, value))

    @property
    def asked(self) -> Bool[AnyArray, "*b t"]:
        """[T], True at the target tokens that the model predicts."""
        return self.target_mask if self.asked_mask is None else self.asked_mask


def _as_int32(leaf: object) -> object:
    """Integers as int32. Other leaves, which need not be arrays, stay."""
    if not isinstance(leaf, jax.Array | np.ndarray) or leaf.dtype == jnp.int32:
        return leaf  # the same object, so compiled programs do not change
    return leaf.astype(jnp.int32) if jnp.issubdtype(leaf.dtype, jnp.integer) else leaf


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


def one_symbol_example(prompt: Ints, prompt_mask: Bools, answer: Scalar) -> Example:
    """Return an example whose target is one symbol."""
    target_mask = jnp.ones(1, bool)
    return make_example(prompt, prompt_mask, answer[None], target_mask)


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """The symbols 0..num_symbols-1, then the special tokens: one vocabulary for all layouts.

    Readers see the names of the symbols, which have no spaces, or their numbers if names is ().
    """

    num_symbols: int
    names: tuple[str, ...] = ()

    def __post_init__(self):
        num_names = len(set(self.names))
        if self.names and num_names != self.num_symbols:
            raise ValueError(
                f"{self.num_symbols} symbols need as many different names, got {num_names}."
            )

    @classmethod
    def of(cls, *names: str) -> "Vocabulary":
        """Return the vocabulary of these names."""
        return cls(len(names), names)

    def text(self, symbols: Sequence[int]) -> str:
        """Return the names of symbols, separated by spaces."""
        if not self.names:
            return " ".join(map(str, symbols))
        return " ".join(self.names[symbol] for symbol in symbols)

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


def numerals(count: int) -> tuple[str, ...]:
    """Return the names "0", "1", … of digits or other symbols."""
    return tuple(map(str, range(count)))


@dataclasses.dataclass(frozen=True)
class Attribute:
    """A whole number that describes an example, by which evaluation can split exact match.

    Attributes:
      label: in words, at the axis of plots.
      value: (task, example) -> the number, 0 or more; compiled.
      largest: (task, length) -> a static bound on the number in examples of up to this length.
    """

    label: str
    value: Callable[[Any, Example], Scalar]
    largest: Callable[[Any, int], int]


class Task(ChecksChoices):
    """A generator of examples. A task is a frozen dataclass of its arguments.

    Traits:
      length_name: the unit of its length.
      threshold: the mean exact match at which a run has solved the task.
      is_text: the score is the likelihood of each byte or token, not exact match.
      later_arguments: arguments that were added to a published task. They are left out of a run at
        their defaults, so that older runs keep their ids.
      attributes: by the name that `evaluate.attributes` selects.
    """

    length_name: ClassVar[str] = "symbols"
    threshold: ClassVar[float] = 0.99
    is_text: ClassVar[bool] = False
    later_arguments: ClassVar[tuple[str, ...]] = ()
    attributes: ClassVar[Mapping[str, Attribute]] = {}

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
    def max_train_length(self) -> int | None:
        """Length of the longest example in training; None if `max_length` alone limits it."""
        return None

    @property
    def corpus(self) -> str | None:
        """Name of the prepared data set that the task reads; None for a task without text."""
        return None

    @property
    def corpus_sizes(self) -> CorpusSizes:
        """Sizes of a text that is modeled, for its records; none for all other tasks."""
        return {}

    @property
    def has_scratchpad(self) -> bool:
        """Whether the model predicts target tokens that are not part of the answer."""
        return False

    @property
    def gives_tokens(self) -> bool:
        """Whether some target tokens are inputs that the model does not predict."""
        return False

    @property
    def components(self) -> tuple["Task", ...]:
        """The tasks that a mixture draws from; any other task is its only component."""
        return (self,)

    def redraw_key(self, key: RandomKey) -> RandomKey:
        """Return the key with which an example that must not be used is drawn again."""
        return jax.random.fold_in(key, _REDRAW)

    def prompt_bound(self, length: int) -> int:
        """P: the largest number of prompt tokens of an example of this length."""
        return length

    def target_bound(self, length: int) -> int:
        """T: the largest number of target tokens of an example of this length."""
        return length

    def data(self, split: str) -> Data | None:
        """Return the arrays that `sample` draws from in "train", "validation" or "test"."""
        return None

    def sample(
        self, key: RandomKey, length: Scalar, bound: int, data: Data | None = None
    ) -> Example:
        """Draw one example; prompt [P] and target [T] for the bounds of length `bound`.

        Args:
          key: determines the example together with the length; the bound changes padding alone.
          length: traced, at most the static `bound`.
          data: the result of `data` for a split, for tasks that cannot draw inside jit.
        """
        raise NotImplementedError

    def exact_arguments(self, operands: Literal["longest", "all"]) -> dict[str, str]:
        """Return the arguments with which the longest, or all, operands have `length` digits."""
        return {}

    def evaluation_lengths(self, length: int) -> range:
        """Return the lengths that evaluation examples of `length` can have, usually that one."""
        return range(length, length + 1)

    def evaluation_key_length(self, length: Scalar) -> Scalar:
        """Return the length in the key of an evaluation example; equal keys share draws."""
        return length

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
