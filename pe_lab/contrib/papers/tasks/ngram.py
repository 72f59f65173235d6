"""Find an n-gram in a string and continue it.

    b c a | a d b c a e -> e
    a d b c a e -> [b c a] e  # form="suffix"
    b c a | a d b c a e b -> e b
    a d b a d b c -> a d b a d b c  # form="duplicate"
    b c a | a d b c a e -> d a  # direction="left"

form="prefix" puts the n-gram before the string. form="suffix" puts it after the string, as input
tokens at the start of the target, so that the answer follows it directly. form="duplicate" is no
search: the target is a copy of the string, in which one n-gram has replaced another one that does
not overlap with it, so that a search for the last predicted symbols has two results. It is for
evaluating a model that was trained on copying.

direction="left" asks for the symbols in front of the n-gram, the nearest one first. Its examples
are the mirror images of those of "right". An n-gram of form="suffix" is reversed, so that the
answer goes on from its last symbol.

The string is uniform. The n-gram is uniform among those that occur once in it and that leave at
least three symbols more than the answer needs, as in the authors' code (not in these short
examples). If no n-gram occurs once (with 26 letters and n-grams of 3 in fewer than one example of
5,000), its first occurrence counts.

Papers: Jelassi et al. 2024 (https://arxiv.org/abs/2402.01032): "n-gram lookup" with prefix keys and
with suffix keys, and copying with a duplicate n-gram; 26 letters and n-grams of 3 are the defaults
of the authors' data. Veitsman et al. 2025 (https://arxiv.org/abs/2505.21785): retrieval of tokens
to the right and to the left of a query token; the form of the examples is not theirs.

Differs: the authors' code checks that some n-gram occurs once, then draws among all n-grams; the
paper's n-gram occurs once. For "duplicate" their code replaces every occurrence of the old n-gram,
here only the drawn one.
"""

import string
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from pe_lab.tasks._strings import rearranged, uncoupled
from pe_lab.tasks.base import (
    Example,
    Ints,
    RandomKey,
    Scalar,
    Task,
    Vocabulary,
    make_example,
    numerals,
)


@dataclass(frozen=True)
class Ngram(Task):
    """The target is the continuation of the n-gram in the string; the length is the string's.

    Args:
      num_symbols: the size of the alphabet.
      gram: the number of symbols of the n-gram.
      answer: the number of symbols of the answer; None for the rest of the string.
      form: "prefix" and "suffix": the n-gram before or after the string; "duplicate": a copy.
      direction: "right", the symbols after the n-gram; "left", those in front of it.
    """

    num_symbols: int = 26
    gram: int = 3
    answer: int | None = None
    form: Literal["prefix", "suffix", "duplicate"] = "prefix"
    direction: Literal["right", "left"] = "right"

    later_arguments = ("direction",)

    def __post_init__(self):
        fewest = 1 if self.answer is None else self.answer
        if self.num_symbols < 2 or self.gram < 1 or fewest < 1:
            raise ValueError(
                f"Ngram needs two symbols or more, and one symbol or more for the n-gram and the "
                f"answer, got num_symbols={self.num_symbols}, gram={self.gram} and "
                f"answer={self.answer}."
            )
        if self.form == "duplicate" and self.direction == "left":
            raise ValueError("Ngram's direction must be 'right' where the target is a copy.")

    @property
    def vocabulary(self) -> Vocabulary:
        names = numerals(self.num_symbols)
        if self.num_symbols <= len(string.ascii_lowercase):
            names = tuple(string.ascii_lowercase[: self.num_symbols])
        if self.form == "prefix":
            return Vocabulary.of(*names, "|")
        return Vocabulary.of(*names)

    @property
    def min_length(self) -> int:
        if self.form == "duplicate":
            return 2 * self.gram + (self.answer or 0) + 2  # two n-grams that do not overlap
        return self.gram + (self.answer or 0) + 3

    @property
    def gives_tokens(self) -> bool:
        return self.form == "suffix"

    @property
    def _prefix_length(self) -> int:
        """The number of prompt tokens before the string: the n-gram and a separator, or none."""
        return self.gram + 1 if self.form == "prefix" else 0

    def prompt_bound(self, length: int) -> int:
        return length + self._prefix_length

    def target_bound(self, length: int) -> int:
        if self.form == "duplicate":
            return length
        answer_size = self.answer or length - self.gram
        if self.form == "suffix":
            return self.gram + answer_size
        return answer_size

    def sample(self, key, length, bound, data=None) -> Example:
        string_key, gram_key = jax.random.split(key)
        letters = jax.random.randint(string_key, (bound,), 0, self.num_symbols)
        if self.form == "duplicate":
            return self._duplicate(gram_key, letters, length)
        start = self._draw_start(gram_key, letters, length)
        place = jnp.arange(bound)
        if self.direction == "left":
            # The mirror image: the symbol at a place of the string is drawn for the opposite one.
            place = jnp.where(place < length, length - 1 - place, place)
        if self.form == "prefix":
            return self._prefix(letters, length, start, place)
        return self._suffix(letters, length, start, place)

    def _prefix(self, letters: Ints, length: Scalar, start: Scalar, place: Ints) -> Example:
        end = start + self.gram
        gram = letters[start + jnp.arange(self.gram)]
        if self.direction == "left":
            gram = jnp.flip(gram)
        separator = jnp.array([self.num_symbols])
        prompt = jnp.concatenate([gram, separator, letters[place]])
        mask = jnp.arange(len(prompt)) < length + self._prefix_length
        target_index = jnp.arange(self.target_bound(len(letters)))
        answer_size = self.answer or length - end
        target_mask = target_index < answer_size
        # Indices of the prompt, in which the string follows the n-gram.
        source = self._prefix_length + _at(place, end + target_index)
        structure = uncoupled(mask, target_mask)
        return rearranged(prompt, mask, source, target_mask, structure=structure)

    def _suffix(self, letters: Ints, length: Scalar, start: Scalar, place: Ints) -> Example:
        bound = len(letters)
        mask = jnp.arange(bound) < length
        target_index = jnp.arange(self.target_bound(bound))
        answer_size = self.answer or length - start - self.gram
        target_mask = target_index < self.gram + answer_size
        is_predicted = target_mask & (target_index >= self.gram)
        source = start + target_index
        return make_example(
            letters[place],
            mask,
            _at(letters, source),
            target_mask,
            answer_mask=is_predicted,
            alignment=jnp.where(is_predicted, _at(place, source), -1),
            asked_mask=is_predicted,
            structure=uncoupled(mask, target_mask),
        )

    def _draw_start(self, key: RandomKey, letters: Ints, length: Scalar) -> Scalar:
        """Draw an n-gram that occurs once, if there is one; return its first occurrence."""
        start = jnp.arange(len(letters))
        padded_letters = jnp.pad(letters, (0, self.gram - 1))
        # is_equal[i, j]: the n-grams that start at i and j are equal, and j is inside the string.
        is_equal = start[None] <= length - self.gram
        for offset in range(self.gram):
            window = padded_letters[offset : offset + len(letters)]
            is_equal &= window[:, None] == window[None]
        occurs_once = is_equal.sum(axis=1) == 1
        # Uniform numbers are below 1, so that n-grams that occur once have the highest scores.
        score = jax.random.uniform(key, letters.shape) + occurs_once
        leaves_room = start <= length - self.min_length
        score = jnp.where(leaves_room, score, -1)
        chosen_start = jnp.argmax(score)
        return jnp.argmax(is_equal[chosen_start])  # the first start of an equal n-gram

    def _duplicate(self, key: RandomKey, letters: Ints, length: Scalar) -> Example:
        from_key, to_key = jax.random.split(key)
        index = jnp.arange(len(letters))
        num_starts = length - self.gram - (self.answer or 0) - 1
        # Each pair of these numbers gives another pair of n-grams that do not overlap.
        most = num_starts - self.gram
        one = jax.random.randint(from_key, (), 0, most + 1)
        other = jax.random.randint(to_key, (), 0, most)
        old_is_first = one <= other
        old = jnp.where(old_is_first, one, one - 1 + self.gram)
        new = jnp.where(old_is_first, other + self.gram, other)
        is_replaced = (index >= new) & (index < new + self.gram)
        copied_index = jnp.where(is_replaced, index - new + old, index)
        mask = index < length
        return rearranged(letters[copied_index], mask, index, mask)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - self._prefix_length


def _at(numbers: Int[Array, "n"], index: Int[Array, "t"]) -> Int[Array, "t"]:
    """The numbers at some places; the last one beyond the end, where targets are padding."""
    return numbers[jnp.minimum(index, len(numbers) - 1)]
