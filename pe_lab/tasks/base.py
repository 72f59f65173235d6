"""What a task is: examples of a traced length inside static bounds.

Shape letters: P prompt bound, T target bound, V vocabulary.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key


@dataclasses.dataclass(frozen=True)
class Example:
    """One example, left-aligned in static bounds.

    Attributes:
      prompt: [P] symbols, and prompt_mask: [P], True at its tokens.
      target: [T] symbols, and target_mask: [T].
      answer_mask: [T], the part of the target that is scored as the answer.
      alignment: [T], the prompt token that each target token comes from; -1 where that has no answer.
    """

    prompt: Any
    prompt_mask: Any
    target: Any
    target_mask: Any
    answer_mask: Any
    alignment: Any


jax.tree_util.register_dataclass(Example, [f.name for f in dataclasses.fields(Example)], [])


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Symbols 0..num_symbols-1, then the shared tokens: one vocabulary for all layouts."""

    num_symbols: int

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


class Task:
    """A generator of examples. A task is a frozen dataclass of its arguments.

    Traits:
      length_name: the unit of its length.
      threshold: the mean exact match from which on a run has learnt it.
    """

    length_name: ClassVar[str] = "symbols"
    threshold: ClassVar[float] = 0.99

    @property
    def vocabulary(self) -> Vocabulary:
        """Of prompts."""
        raise NotImplementedError

    @property
    def target_vocabulary(self) -> Vocabulary:
        """Of targets; where a layout has one stream, both share its table."""
        return self.vocabulary

    @property
    def max_length(self) -> int | None:
        """The longest example that it can draw; None for no limit."""
        return None

    def prompt_bound(self, length: int) -> int:
        """P: the longest prompt of an example of this length."""
        return length

    def target_bound(self, length: int) -> int:
        """T: the longest target of an example of this length."""
        return length

    def sample(self, key: Key[Array, ""], length: Int[Array, ""], bound: int, data: Any = None) -> Example:
        """Draws an example.

        Args:
          key: one key, one example, whatever the bound.
          length: traced, at most `bound`.
          bound: static; the example has the shapes of this length.
          data: what was made beforehand, for tasks that cannot draw inside jit.
        """
        raise NotImplementedError

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        """The target of a prompt, slowly; for tests."""
        raise NotImplementedError


def random_string(key: Key[Array, ""], num_symbols: int, bound: int, distinct: bool) -> Int[Array, "p"]:
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
            raise ValueError(f"{type(self).__name__} needs two symbols or more, got num_symbols={self.num_symbols}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.num_symbols)

    @property
    def max_length(self) -> int | None:
        return self.num_symbols if self.distinct else None


def floors(task: Task, lengths: Sequence[int], num_examples: int) -> list[dict[str, Any]]:
    """For each length what a predictor reaches that sees only the length and the place, never the prompt.

    It answers with the most frequent symbol of each place (token_accuracy) or the most frequent whole
    target (exact_match) among half of the examples, and is scored on the other half, `num_examples` each.
    """
    bound = max(lengths)

    @jax.jit
    def draw(key, length):
        return jax.vmap(lambda k: task.sample(k, length, bound))(jax.random.split(key, 2 * num_examples))

    drawn = [draw(jax.random.key(length), jnp.asarray(length)) for length in lengths]
    return [{"length": n, **_floor(example, num_examples), "count": num_examples} for n, example in zip(lengths, drawn, strict=True)]


def _floor(examples: Example, half: int) -> dict[str, float]:
    target, counted = np.where(examples.target_mask, examples.target, -1), np.asarray(examples.answer_mask)[half:]
    seen, unseen = target[:half], target[half:]
    guess = np.array([np.bincount(column[column >= 0], minlength=1).argmax() for column in seen.T])
    wholes, frequency = np.unique(seen, axis=0, return_counts=True)
    return {
        "token_accuracy": float(((unseen == guess[None]) & counted).sum() / counted.sum()),
        "exact_match": float((unseen == wholes[frequency.argmax()][None]).all(axis=1).mean()),
    }
