"""The most frequent symbol of a string.

    1 0 1 1 0 -> 1
    c a b a -> a  # num_symbols=26
    1 0 0 1 0 1 0 1 0 -> 1 0 0  # interleaved=3
    1 0 0 1 1 -> 1 1 0 1 1  # every_prefix=True

Averaging over the whole string answers it, wherever its symbols stand; interleaved strings must be
told apart by position, modulo their number. The length of interleaved strings is an upper bound: a
prompt has the largest multiple of `interleaved` symbols up to it.

Papers: Huang et al. 2025 (https://arxiv.org/abs/2410.02140): "bin_majority", "majority"
(num_symbols=26) and "bin_majority_interleave" (interleaved=3), up to 50 symbols in training and 150
in testing. Arora et al. 2023 (https://arxiv.org/abs/2312.04927): "cumulative_majority" of their
code (every_prefix=True).

Differs: Huang et al. round a length to the nearest multiple of interleaved that is in their range;
here what is left over is not drawn, so that no prompt is longer than its length. Arora et al. read
each answer off its own bit; here the answers follow the whole string, and a decoder sees those
before.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks._counting import chosen
from pe_lab.tasks.base import Example, Task, Vocabulary

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Majority(Task):
    """The target is the most frequent symbol of each interleaved string, or of each prefix.

    Of bits, the number of zeros is uniform on 0..length, without that of a tie. Longer alphabets
    are drawn uniformly among the strings that have one most frequent symbol. With every_prefix bits
    are independent, and a tie counts as 1.

    Args:
      num_symbols: the alphabet; 2 for bits.
      interleaved: symbol i is of string i modulo this number; each string has an answer of its own.
      every_prefix: the target has the answer of every prefix, all scored.
    """

    num_symbols: int = 2
    interleaved: int = 1
    every_prefix: bool = False

    def __post_init__(self):
        if self.num_symbols < 2 or self.interleaved < 1:
            raise ValueError(
                f"Majority needs two symbols and one string or more, got {self.num_symbols} and "
                f"{self.interleaved}."
            )
        if (self.num_symbols > 2) + (self.interleaved > 1) + self.every_prefix > 1:
            raise ValueError(
                "Majority takes one of num_symbols above 2, interleaved above 1 and every_prefix,"
                f" got {self.num_symbols}, {self.interleaved} and {self.every_prefix}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(
            self.num_symbols,
            tuple(_LETTERS[: self.num_symbols]) if 2 < self.num_symbols <= 26 else (),
        )

    @property
    def min_length(self) -> int:
        return self.interleaved

    def prompt_bound(self, length: int) -> int:
        return length - length % self.interleaved

    def target_bound(self, length: int) -> int:
        return length if self.every_prefix else self.interleaved

    def sample(self, key, length, bound, data=None) -> Example:
        size, each = self.prompt_bound(bound), length // self.interleaved
        mask = jnp.arange(size) < each * self.interleaved
        if self.every_prefix:
            string = jnp.where(mask, jax.random.randint(key, (size,), 0, 2), 0)
            target = jnp.where(mask, jnp.cumsum(2 * string - 1) >= 0, 0)
            return Example(string, mask, target, mask, mask, jnp.full(size, -1))
        string = (
            self._letters(key, length, mask)
            if self.num_symbols > 2
            else self._bits(key, each, size)
        )
        said = jnp.ones(self.interleaved, bool)
        counts = ((string[:, None] == jnp.arange(self.num_symbols)[None]) & mask[:, None]).reshape(
            -1, self.interleaved, self.num_symbols
        )
        return Example(
            string,
            mask,
            counts.sum(axis=0).argmax(axis=1),
            said,
            said,
            jnp.full(self.interleaved, -1),
        )

    def _bits(self, key, each, size):
        """Strings side by side, the number of zeros of each uniform but for `each` / 2."""
        numbers, places = jax.random.split(key)
        zeros = jax.random.randint(numbers, (self.interleaved,), 0, each + each % 2)
        zeros += (each % 2 == 0) & (zeros >= each // 2)
        mask = jnp.broadcast_to(
            jnp.arange(size // self.interleaved)[:, None] < each,
            (size // self.interleaved, self.interleaved),
        )
        return (mask & ~chosen(places, zeros, mask)).reshape(-1).astype(jnp.int32)

    def _letters(self, key, length, mask):
        """Draws until one symbol is the most frequent."""

        def draw(attempt):
            string = jax.random.randint(
                jax.random.fold_in(key, attempt), mask.shape, 0, self.num_symbols
            )
            # Of two symbols only a pair has a mode, and one draw in num_symbols is a pair: all
            # examples would wait for it.
            string = jnp.where(length == 2, string[0], string)
            return attempt, jnp.where(mask, string, 0)

        def tied(drawn):
            counts = jnp.zeros(self.num_symbols, jnp.int32).at[drawn[1]].add(mask)
            return (counts == counts.max()).sum() > 1

        return jax.lax.while_loop(tied, lambda drawn: draw(drawn[0] + 1), draw(0))[1]

    def evaluation_lengths(self, length: int) -> range:
        longest = self.prompt_bound(length)
        return range(longest, longest + 1)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        symbols = prompt.tolist()
        if self.every_prefix:
            return np.array([int(2 * sum(symbols[: i + 1]) >= i + 1) for i in range(len(symbols))])
        strings = [symbols[i :: self.interleaved] for i in range(self.interleaved)]
        return np.array([max(set(string), key=string.count) for string in strings])
