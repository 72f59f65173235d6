"""Find an n-gram in a string and say what follows it there.

    b c a | a d b c a e -> e
    a d b c a e -> [b c a] e  # form="suffix"
    b c a | a d b c a e b -> e b
    a d b a d b c -> a d b a d b c  # form="duplicate"

form="prefix" puts the n-gram before the string. form="suffix" puts it behind: it is given as the
target's beginning, so that the answer follows it without anything between. form="duplicate" is no
search: the string is to be copied, and one of its n-grams was written over another, so that looking
for the last symbols said finds two places. It is for evaluation of a model that was trained on
copying.

The string is uniform on its alphabet and the n-gram uniform among those that occur once in it, of
the starts that the authors' code allows, which leave three symbols more than the answer needs.
Where none occurs once (with 26 letters and n-grams of 3 in fewer than one example of 5,000) the
first place counts.

Papers: Jelassi et al. 2024 (https://arxiv.org/abs/2402.01032): "n-gram lookup" with prefix keys and
with suffix keys, and copying with a duplicate n-gram; 26 letters and n-grams of 3 are the defaults
of the authors' data.

Differs: the authors' code looks whether any n-gram occurs once, then draws among all; the paper's
n-gram occurs once. For "duplicate" their code writes over every occurrence of the n-gram that it
replaces, here over the one drawn.
"""

import string
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from pe_lab.tasks._permute import rearranged, uncoupled
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class Ngram(Task):
    """The target is what follows the n-gram in the string; the length is the string's.

    Args:
      num_symbols: the alphabet.
      gram: symbols of the n-gram.
      answer: symbols of the answer; None for all the rest of the string.
      form: where the n-gram stands, or that the string is to be copied.
    """

    num_symbols: int = 26
    gram: int = 3
    answer: int | None = None
    form: Literal["prefix", "suffix", "duplicate"] = "prefix"

    def __post_init__(self):
        if self.num_symbols < 2 or self.gram < 1 or (self.answer is not None and self.answer < 1):
            given = f"num_symbols={self.num_symbols}, gram={self.gram} and answer={self.answer}"
            raise ValueError(
                f"Ngram needs two symbols or more, and a symbol of n-gram and of answer or more, "
                f"got {given}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        letters = tuple(
            string.ascii_lowercase if self.num_symbols <= 26 else map(str, range(self.num_symbols))
        )
        names = letters[: self.num_symbols] + (("|",) if self.form == "prefix" else ())
        return Vocabulary(len(names), names)

    @property
    def min_length(self) -> int:
        return self.gram + (self.answer or 0) + 3

    @property
    def gives_tokens(self) -> bool:
        return self.form == "suffix"

    def prompt_bound(self, length: int) -> int:
        return length + (self.gram + 1 if self.form == "prefix" else 0)

    def target_bound(self, length: int) -> int:
        if self.form == "duplicate":
            return length
        return (self.answer or length - self.gram) + (self.gram if self.form == "suffix" else 0)

    def sample(self, key, length, bound, data=None) -> Example:
        string_key, place_key = jax.random.split(key)
        letters = jax.random.randint(string_key, (bound,), 0, self.num_symbols)
        if self.form == "duplicate":
            return self._duplicate(place_key, letters, length)

        place = jnp.arange(bound)
        found = self._found(place_key, letters, length)
        begin = found + self.gram
        count = self.answer or length - begin
        key_gram = letters[found + jnp.arange(self.gram)]
        target = jnp.arange(self.target_bound(bound))
        if self.form == "prefix":
            prompt = jnp.concatenate([key_gram, jnp.array([self.num_symbols]), letters])
            mask, said = jnp.arange(len(prompt)) < length + self.gram + 1, target < count
            return rearranged(
                prompt, mask, self.gram + 1 + begin + target, said, structure=uncoupled(mask, said)
            )

        mask, told, asked = (
            place < length,
            target < self.gram + count,
            (target >= self.gram) & (target < self.gram + count),
        )
        whole = jnp.where(
            told, letters[jnp.minimum(found + target, bound - 1)], 0
        )  # the n-gram and what follows it
        source = jnp.where(asked, found + target, -1)
        return Example(
            jnp.where(mask, letters, 0),
            mask,
            whole,
            told,
            asked,
            source,
            asked,
            uncoupled(mask, told),
        )

    def _found(
        self, key: Key[Array, ""], letters: Int[Array, "n"], length: Int[Array, ""]
    ) -> Int[Array, ""]:
        """The first place of an n-gram that occurs once."""
        start = jnp.arange(len(letters))
        padded = jnp.pad(letters, (0, self.gram - 1))
        windows = [padded[k : k + len(letters)] for k in range(self.gram)]
        same = start[None] <= length - self.gram  # of the n-gram in the row, the one in the column
        for window in windows:
            same &= window[:, None] == window[None]
        score = jax.random.uniform(key, letters.shape) + (same.sum(axis=1) == 1)
        drawn = jnp.argmax(jnp.where(start <= length - self.min_length, score, -1))
        return jnp.argmax(same[drawn])

    def _duplicate(
        self, key: Key[Array, ""], letters: Int[Array, "n"], length: Int[Array, ""]
    ) -> Example:
        from_key, onto_key = jax.random.split(key)
        place, starts = jnp.arange(len(letters)), length - self.gram - (self.answer or 0) - 1
        old = jax.random.randint(from_key, (), 0, starts)
        new = (old + jax.random.randint(onto_key, (), 1, starts)) % starts
        over = (place >= new) & (place < new + self.gram)
        prompt = letters[jnp.where(over, place - new + old, place)]
        return rearranged(prompt, place < length, place, place < length)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - (self.gram + 1 if self.form == "prefix" else 0)

    def oracle(self, prompt: np.ndarray, given: np.ndarray | None = None) -> np.ndarray:
        if self.form == "duplicate":
            return prompt
        symbols = prompt.tolist()
        wanted = symbols[: self.gram] if given is None else given.tolist()[: self.gram]
        text = "".join(map(chr, symbols if self.form == "suffix" else symbols[self.gram + 1 :]))
        _, _, rest = text.partition("".join(map(chr, wanted)))
        answer = [ord(letter) for letter in rest][: self.answer]
        return np.array(wanted + answer if self.form == "suffix" else answer)
