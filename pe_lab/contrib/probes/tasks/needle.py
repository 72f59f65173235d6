"""Find a needle in a haystack: the value of a key among noise.

    n3 k2 v5 n0 n7 k2 -> v5
    n3 k2 v5 n0 k1 v4 n7 n1 k1 -> v4  # num_needles=2
    k2 v5 n3 k2 v1 n0 k2 -> v5 v1  # values_per_key=2
    k2 v5 n3 k1 v4 n0 k1 k2 -> v4 v5  # num_needles=2, num_queries=2

A needle is a key and its value. The prompt is noise with needles in it, then one of the keys. The
haystack is as long as the test needs it, while the number of needles stays the same: `depth`, an
argument and an attribute, says where in the haystack the answer is.

With one needle the answer is the only value of the prompt, and the length of the haystack alone
makes it hard. With several needles the model must also match the key.

With several values a key, the values are in the order of the haystack; with several keys in the
question, those of the first key come first.

Paper: Hsieh et al. 2024 (RULER, https://arxiv.org/abs/2404.06654): "needle in a haystack" with one
key or several, with several values of a key, and with several keys in the question. Checked in the
first author's code (hsiehjackson/RULER at e40fae1, scripts/data/synthetic/niah.py): with a repeated
text as haystack, each needle is in front of another random sentence of it, as here; num_noise=1 is
that haystack.

Differs: theirs are English sentences for language models. Here a key, a value and a token of noise
are symbols of three alphabets. All keys differ. Their essays have needles at 40 even depths, the
last one behind all of the text; here a token of noise follows each needle. Their haystack of
needles is the task `phone_book`. They accept several values in any order; here the order is fixed.
"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._draws import distinct
from pe_lab.tasks._strings import rearranged, uncoupled
from pe_lab.tasks.attributes import LONGEST_DISTANCE
from pe_lab.tasks.base import Attribute, Example, Scalar, Task, Vocabulary

_TENTHS = 10


def _depth(task: "Needle", example: Example) -> Scalar:
    """Return the share of the noise before the answer's first needle, in tenths rounded down."""
    index = jnp.arange(example.prompt.shape[-1])
    is_noise = example.prompt_mask & (example.prompt >= task.num_keys + task.num_values)
    source = jnp.asarray(example.alignment)[0]
    num_before = (is_noise & (index < source)).sum()
    return num_before * _TENTHS // is_noise.sum()


@dataclass(frozen=True)
class Needle(Task):
    """The target is the values of the keys that the prompt ends with.

    The length is the number of tokens of the haystack with its needles.

    Args:
      num_keys: the size of the alphabet of the keys.
      num_values: the size of the alphabet of the values.
      num_noise: the size of the alphabet of the noise.
      num_needles: the number of keys in the haystack.
      depth: the share of the noise in front of the answer's needle, in percent, rounded to a place
        of the haystack; None for a uniform place.
      values_per_key: the number of needles of each key.
      num_queries: the number of keys of the haystack in the question.
    """

    num_keys: int = 64
    num_values: int = 64
    num_noise: int = 64
    num_needles: int = 1
    depth: int | None = None
    values_per_key: int = 1
    num_queries: int = 1

    later_arguments = ("values_per_key", "num_queries")
    length_name = "tokens"
    attributes: ClassVar = {
        "depth": Attribute(
            label="depth of the needle in tenths of the noise, from 0",
            value=_depth,
            largest=lambda task, n: _TENTHS - 1,
        ),
        "longest_distance": LONGEST_DISTANCE,
    }

    def __post_init__(self):
        if min(self.num_values, self.num_keys) < 2 or self.num_noise < 1:
            raise ValueError(
                f"Needle needs two keys, two values and a symbol of noise or more, got "
                f"num_keys={self.num_keys}, num_values={self.num_values} and "
                f"num_noise={self.num_noise}."
            )
        if not 1 <= self.num_needles <= self.num_keys:
            raise ValueError(
                f"Needle has from one needle to one for each of its {self.num_keys} keys, got "
                f"num_needles={self.num_needles}."
            )
        if self.values_per_key < 1 or not 1 <= self.num_queries <= self.num_needles:
            raise ValueError(
                f"Needle has one value of a key or more, and a question of one key to all "
                f"{self.num_needles}, got values_per_key={self.values_per_key} and "
                f"num_queries={self.num_queries}."
            )
        if self.depth is not None and self.values_per_key > 1:
            raise ValueError("Needle's depth needs values_per_key=1.")
        if self.depth is not None and not 0 <= self.depth <= 100:
            raise ValueError(f"Needle's depth is from 0 to 100 percent, got {self.depth}.")

    @property
    def vocabulary(self) -> Vocabulary:
        values = [f"v{number}" for number in range(self.num_values)]
        keys = [f"k{number}" for number in range(self.num_keys)]
        noise = [f"n{number}" for number in range(self.num_noise)]
        return Vocabulary.of(*values, *keys, *noise)

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*self.vocabulary.names[: self.num_values])

    @property
    def min_length(self) -> int:
        return 3 * self.num_needles * self.values_per_key

    def prompt_bound(self, length: int) -> int:
        return length + self.num_queries

    def target_bound(self, length: int) -> int:
        return self.num_queries * self.values_per_key

    def sample(self, key, length, bound, data=None) -> Example:
        noise_key, key_key, value_key, depth_key, place_key = jax.random.split(key, 5)
        most = self.num_needles * self.values_per_key
        keys = self.num_values + distinct(key_key, self.num_needles, self.num_keys)
        values = jax.random.randint(value_key, (most,), 0, self.num_values)
        # A needle is in front of a token of noise, and no two needles are in front of the same one.
        num_noise = length - 2 * most
        depth = jax.random.randint(depth_key, (), 0, num_noise)
        if self.depth is not None:
            depth = (self.depth * (num_noise - 1) + 50) // 100  # rounded to the nearest place
        others = distinct(place_key, most - 1, num_noise - 1)
        others = jnp.where(others < depth, others, others + 1)  # leaves out the place of the answer
        depths = jnp.append(depth, others)
        # Each needle in front moves the start by its two tokens.
        num_before = (depths[None] < depths[:, None]).sum(axis=1)
        start = depths + 2 * num_before

        first_noise = self.num_values + self.num_keys
        num_tokens = self.prompt_bound(bound)
        noise = jax.random.randint(noise_key, (num_tokens,), 0, self.num_noise)
        keys_of_needles = jnp.repeat(keys, self.values_per_key)
        prompt = (first_noise + noise).at[start].set(keys_of_needles).at[start + 1].set(values)
        # The first keys are those of the question.
        index = jnp.arange(num_tokens)
        query = index - length
        prompt = jnp.where(query >= 0, keys[jnp.minimum(query, self.num_needles - 1)], prompt)
        mask = query < self.num_queries
        # The values of a key are in the order of the haystack.
        starts = jnp.sort(start.reshape(self.num_needles, self.values_per_key), axis=1)
        source = starts[: self.num_queries].reshape(-1) + 1  # the value follows its key
        target_mask = jnp.ones(len(source), bool)
        structure = uncoupled(mask, target_mask)
        return rearranged(prompt, mask, source, target_mask, structure=structure)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return len(prompt) - self.num_queries
