"""Find the most frequent symbol of a string.

    1 0 1 1 0 -> 1
    c a b a -> a  # num_symbols=26
    1 0 0 1 0 1 0 1 0 -> 1 0 0  # interleaved=3
    1 0 0 1 1 -> 1 1 0 1 1  # every_prefix=True

An average over the whole string is sufficient, and positions are not needed. Interleaved strings
require positions, modulo the number of strings. The length of interleaved strings is an upper
bound: a prompt has the largest multiple of `interleaved` symbols up to it.

Papers: Huang et al. 2025 (https://arxiv.org/abs/2410.02140): "bin_majority", "majority"
(num_symbols=26) and "bin_majority_interleave" (interleaved=3), up to 50 symbols in training and 150
in testing. Arora et al. 2023 (https://arxiv.org/abs/2312.04927): "cumulative_majority" of their
code (every_prefix=True).

Differs: Huang et al. round a length to the nearest multiple of interleaved in their range; here
lengths are rounded down, so that no prompt is longer than its length. Arora et al. predict each
answer at its own bit; here the answers follow the whole string, and a decoder sees the previous
ones.
"""

import string
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from pe_lab.tasks._draws import chosen
from pe_lab.tasks.attributes import NUM_ONES
from pe_lab.tasks.base import (
    Bools,
    Example,
    Ints,
    RandomKey,
    Scalar,
    Task,
    Vocabulary,
    make_example,
)


@dataclass(frozen=True)
class Majority(Task):
    """The target is the most frequent symbol of each interleaved string, or of each prefix.

    For bits, the number of zeros is uniform on 0..length, without a tie. Longer alphabets have
    uniform strings among those with one most frequent symbol. With every_prefix, bits are
    independent, and a tie counts as 1.

    Args:
      num_symbols: the size of the alphabet; 2 for bits.
      interleaved: the number of strings. Symbol i belongs to string i modulo this number, and each
        string has its own answer.
      every_prefix: the target has the answer of every prefix, and all of them are scored.
    """

    num_symbols: int = 2
    interleaved: int = 1
    every_prefix: bool = False

    attributes: ClassVar = {"num_ones": NUM_ONES}  # of bits

    def __post_init__(self):
        if self.num_symbols < 2 or self.interleaved < 1:
            raise ValueError(
                f"Majority needs two symbols and one string or more, got {self.num_symbols} and "
                f"{self.interleaved}."
            )
        variants = (self.num_symbols > 2, self.interleaved > 1, self.every_prefix)
        if sum(variants) > 1:
            raise ValueError(
                "Majority takes one of num_symbols above 2, interleaved above 1 and every_prefix,"
                f" got {self.num_symbols}, {self.interleaved} and {self.every_prefix}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        if 2 < self.num_symbols <= len(string.ascii_lowercase):
            return Vocabulary.of(*string.ascii_lowercase[: self.num_symbols])
        return Vocabulary(self.num_symbols)

    @property
    def min_length(self) -> int:
        return self.interleaved

    def prompt_bound(self, length: int) -> int:
        return length - length % self.interleaved

    def target_bound(self, length: int) -> int:
        return length if self.every_prefix else self.interleaved

    def sample(self, key, length, bound, data=None) -> Example:
        size = self.prompt_bound(bound)
        length_of_each = length // self.interleaved
        mask = jnp.arange(size) < length_of_each * self.interleaved
        if self.every_prefix:
            bits = jax.random.randint(key, (size,), 0, 2)
            string = jnp.where(mask, bits, 0)
            # More ones than zeros, or as many.
            balance = jnp.cumsum(2 * string - 1)
            return make_example(string, mask, balance >= 0, mask)
        if self.num_symbols > 2:
            string = self._draw_letters(key, length, mask)
        else:
            string = self._draw_bits(key, length_of_each, size)
        symbols = jnp.arange(self.num_symbols)
        is_symbol = string[:, None] == symbols[None]
        is_symbol &= mask[:, None]
        by_string = is_symbol.reshape(-1, self.interleaved, self.num_symbols)
        counts = by_string.sum(axis=0)
        target_mask = jnp.ones(self.interleaved, bool)
        return make_example(string, mask, counts.argmax(axis=1), target_mask)

    def _draw_bits(self, key: RandomKey, length_of_each: Scalar, size: int) -> Ints:
        """Draw interleaved strings, each with a uniform number of zeros except a tie."""
        numbers_key, places_key = jax.random.split(key)
        # Of 0..length zeros, an even length excludes the tie.
        num_choices = length_of_each + length_of_each % 2
        num_zeros = jax.random.randint(numbers_key, (self.interleaved,), 0, num_choices)
        # Numbers from the tie on move up by one.
        is_even = length_of_each % 2 == 0
        tie = length_of_each // 2
        num_zeros += is_even & (num_zeros >= tie)
        longest = size // self.interleaved
        mask = jnp.arange(longest)[:, None] < length_of_each
        mask = jnp.broadcast_to(mask, (longest, self.interleaved))
        is_zero = chosen(places_key, num_zeros, mask)
        is_one = mask & ~is_zero
        return is_one.reshape(-1).astype(jnp.int32)

    def _draw_letters(self, key: RandomKey, length: Scalar, mask: Bools) -> Ints:
        """Draw strings until one symbol is the most frequent."""

        def draw(attempt):
            attempt_key = jax.random.fold_in(key, attempt)
            string = jax.random.randint(attempt_key, mask.shape, 0, self.num_symbols)
            # Two symbols have one most frequent symbol only if they are equal. Only one draw in
            # num_symbols is, and all examples of a batch would wait for it.
            string = jnp.where(length == 2, string[0], string)
            return attempt, jnp.where(mask, string, 0)

        def draw_again(state):
            attempt, _ = state
            return draw(attempt + 1)

        def is_tied(state):
            _, string = state
            counts = jnp.zeros(self.num_symbols, jnp.int32)
            counts = counts.at[string].add(mask)
            is_most_frequent = counts == counts.max()
            return is_most_frequent.sum() > 1

        _, string = jax.lax.while_loop(is_tied, draw_again, draw(0))
        return string

    def evaluation_lengths(self, length: int) -> range:
        longest = self.prompt_bound(length)
        return range(longest, longest + 1)
