"""Recall the value of a key from pairs in which keys recur, with fuzzy keys or with noise.

    k2 v1 k0 v3 k2 v1 -> [k2] v1
    k2 v1 n5 n0 k0 v3 n2 n2 -> [k0] v3 [k2] v1  # noise=0.5
    k2 k1 v1 k1 v0 v3 v2 k0 v4 -> [k1] v0 v3 v2  # longest_key=3, longest_value=3

The prompt is entries. An entry is a key and its value, which is the same whenever the key recurs,
or tokens of noise. The target is questions: keys of the prompt, which are inputs, each with its
value, which the model predicts.

- Fuzzy recall: keys and values have several tokens, and different keys share tokens. No fixed
  distance leads from a key to its value, and the model must match the whole key.
- Noisy recall: entries without information stand between the pairs.

Papers: Poli et al. 2024 (MAD, https://arxiv.org/abs/2403.17844): "in-context recall", "fuzzy
in-context recall" (longest_key=3, longest_value=3) and "noisy in-context recall" (noise=0.2, up to
0.8). Checked in the authors' code (athms/mad-lab at 0f49a45, mad/data/instances.py), with a
vocabulary of 16 tokens in 128 tokens, in which `multi_query=False` is this task with
max_questions=1.

Differs: the length is the number of entries; theirs is the number of tokens. Their copy token is
the separator of the layout here. Their fuzzy recall draws the key of the question first and
inserts it into the prompt, where 19 of 1,500 examples lack it; here it is uniform on the keys of
the prompt, as in their other two tasks. Their keys have the largest number of tokens in a test.
Their configurations score the values of recurring keys in the prompt too (`multi_query=True`), and
their training every token; here the prompt is an input, and all questions follow it.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.tasks._packing import packed, packing_order
from pe_lab.tasks._strings import uncoupled
from pe_lab.tasks.attributes import LONGEST_DISTANCE
from pe_lab.tasks.base import Example, RandomKey, Task, Vocabulary, make_example


@dataclass(frozen=True)
class InContextRecall(Task):
    """The target is different keys of the prompt in random order, each followed by its value.

    Keys and values are strings of different symbols. Their number of tokens is uniform, and so is
    the string of that many tokens.

    Args:
      num_keys: the size of the alphabet of the keys.
      num_values: the size of the alphabet of the values.
      longest_key: the most tokens of a key.
      longest_value: the most tokens of a value.
      noise: the probability that an entry is noise, as long as the longest pair. One random entry
        is never noise.
      num_noise: the size of the alphabet of the noise.
      max_questions: the most questions of an example. A prompt with fewer keys has one for each.
    """

    num_keys: int = 8
    num_values: int = 8
    longest_key: int = 1
    longest_value: int = 1
    noise: float = 0.0
    num_noise: int = 16
    max_questions: int = 8

    length_name = "entries"
    attributes: ClassVar = {"longest_distance": LONGEST_DISTANCE}

    def __post_init__(self):
        for kind in ("key", "value"):
            longest, most = getattr(self, f"longest_{kind}"), getattr(self, f"num_{kind}s")
            if not 1 <= longest <= most or most < 2:
                raise ValueError(
                    f"InContextRecall's longest_{kind} is 1 or more, and num_{kind}s is 2 or more "
                    f"and not smaller, got {longest} and {most}."
                )
        if not 0 <= self.noise < 1 or self.num_noise < 1:
            raise ValueError(
                f"InContextRecall's noise is below 1, of one symbol or more, got "
                f"noise={self.noise} and num_noise={self.num_noise}."
            )
        if self.max_questions < 1:
            raise ValueError(
                f"InContextRecall needs a question or more, got max_questions={self.max_questions}."
            )

    @property
    def _first_noise(self) -> int:
        return self.num_keys + self.num_values

    @property
    def _width(self) -> int:
        """Tokens of the longest pair."""
        return self.longest_key + self.longest_value

    @property
    def vocabulary(self) -> Vocabulary:
        keys = [f"k{number}" for number in range(self.num_keys)]
        values = [f"v{number}" for number in range(self.num_values)]
        noise = [f"n{number}" for number in range(self.num_noise)]
        return Vocabulary.of(*keys, *values, *(noise if self.noise else ()))

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*self.vocabulary.names[: self._first_noise])

    @property
    def gives_tokens(self) -> bool:
        return True

    def prompt_bound(self, length: int) -> int:
        return self._width * length

    def target_bound(self, length: int) -> int:
        return self._width * self._num_questions(length)

    def _num_questions(self, length: int) -> int:
        return min(length, self.max_questions)

    def sample(self, key, length, bound, data=None) -> Example:
        key_key, value_key, is_noise_key, noise_key, reserved_key, question_key = jax.random.split(
            key, 6
        )
        index = jnp.arange(bound)
        keys, in_key = _draw_strings(key_key, bound, self.num_keys, self.longest_key)
        values, in_value = _draw_strings(value_key, bound, self.num_values, self.longest_value)
        # One entry is always a pair, so that each example has a key to ask for.
        reserved = jax.random.randint(reserved_key, (), 0, length)
        is_noise = jax.random.uniform(is_noise_key, (bound,)) < self.noise
        is_pair = (index < length) & ~(is_noise & (index != reserved))

        is_same = _same_keys(keys, in_key) & is_pair[None]
        first = is_same.argmax(axis=1)  # all entries of a key take the value of its first one
        pairs = jnp.concatenate([keys, self.num_keys + values[first]], axis=1)
        in_pair = jnp.concatenate([in_key, in_value[first]], axis=1)
        noise = jax.random.randint(noise_key, pairs.shape, 0, self.num_noise)
        entries = jnp.where(is_pair[:, None], pairs, self._first_noise + noise)
        is_token = (in_pair | ~is_pair[:, None]) & (index < length)[:, None]
        prompt, prompt_mask = packed(entries, is_token)

        # The entries of the questions are random ones of those that show a key first.
        is_new = is_pair & (first == index)
        uniform = jax.random.uniform(question_key, (bound,))
        score, asked = jax.lax.top_k(jnp.where(is_new, uniform, -1.0), self._num_questions(bound))
        questions = pairs[asked]
        # A score of -1 is a question too many: the prompt has fewer keys.
        in_question = in_pair[asked] & (score >= 0)[:, None]
        target, target_mask = packed(questions, in_question)

        # The tokens of a value copy those of the last entry with the key.
        column = jnp.arange(self._width)[None]
        in_answer = in_question & (column >= self.longest_key)
        widths = is_token.sum(axis=1)
        starts = jnp.cumsum(widths) - widths
        last = jnp.where(is_same[asked], index[None], -1).max(axis=1)
        rank = jnp.cumsum(in_question, axis=1) - 1
        source = jnp.where(in_answer, starts[last][:, None] + rank, -1)
        order = packing_order(in_question)
        is_answer = in_answer.reshape(-1)[order]
        return make_example(
            prompt,
            prompt_mask,
            target,
            target_mask,
            answer_mask=is_answer,
            alignment=source.reshape(-1)[order],
            asked_mask=is_answer,
            structure=uncoupled(prompt_mask, target_mask),
        )

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        is_key = prompt < self.num_keys
        starts_entry = is_key & ~np.append(False, is_key[:-1])
        num_noise_tokens = int((prompt >= self._first_noise).sum())
        return int(starts_entry.sum()) + num_noise_tokens // self._width


def _draw_strings(
    key: RandomKey, number: int, num_symbols: int, longest: int
) -> tuple[Int[Array, "n w"], Bool[Array, "n w"]]:
    """Draw strings of 1 to `longest` different symbols, and the mask of their tokens."""
    size_key, symbols_key = jax.random.split(key)
    size = jax.random.randint(size_key, (number,), 1, longest + 1)
    uniform = jax.random.uniform(symbols_key, (number, num_symbols))
    symbols = jnp.argsort(uniform, axis=1)[:, :longest]
    is_token = jnp.arange(longest)[None] < size[:, None]
    return symbols, is_token


def _same_keys(keys: Int[Array, "n w"], in_key: Bool[Array, "n w"]) -> Bool[Array, "n n"]:
    """Return whether two entries have the same key."""
    # A key with fewer tokens differs from every longer one.
    padded = jnp.where(in_key, keys, -1)
    return (padded[:, None] == padded[None]).all(axis=2)
