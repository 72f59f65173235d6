"""Find the bracket that closes the innermost open bracket.

    ( [ ] ) -> ) ] ) -
    ( [ ( ) -> ] )  # answer="completion"
    { } ( ) -> } - ) -  # num_kinds=3

By default the target has, after every prefix, the closing bracket that is legal next (- for none).
The completion closes the open brackets of the prompt. With answer="legal" an odd length is an upper
bound: its words have one bracket less.

Papers: Bhattamishra et al. 2020 (https://arxiv.org/abs/2009.11264): "Dyck-n", character prediction:
after every prefix the brackets that may come next. Opening brackets are always legal in their
labels (even at the greatest depth), so the closing bracket contains all information. The completion
is not from a paper.

Differs: words are uniform among the words of their length, and of their depth if that is bounded;
there a grammar generates them (by their code's defaults, a pair around a word with probability 1/2,
two words with 1/4, else nothing). They predict each answer at its own bracket; here the answers
follow the whole word, and a decoder sees the previous ones.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

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

_PAIRS = ("()", "[]", "{}", "<>")


@dataclass(frozen=True)
class Dyck(Task):
    """The target is the legal closing bracket after every prefix, or the completion of the prompt.

    Words are uniform, and so is the kind of each pair. A prompt to be completed is the first half
    of a uniform word of twice the length whose first bracket closes last, so that a bracket is
    open.

    Args:
      num_kinds: the number of kinds of brackets.
      max_depth: the most brackets that are open at a time; None for no limit.
      answer: "legal" or "completion".
    """

    num_kinds: int = 2
    max_depth: int | None = None
    answer: Literal["legal", "completion"] = "legal"

    length_name = "brackets"

    def __post_init__(self):
        if self.num_kinds < 1:
            raise ValueError(
                f"Dyck needs one kind of brackets or more, got num_kinds={self.num_kinds}."
            )
        if self.max_depth is not None and self.max_depth < self._least_depth:
            raise ValueError(
                f"Dyck's max_depth must be at least {self._least_depth} for {self.answer}, got "
                f"{self.max_depth}."
            )

    @property
    def _least_depth(self) -> int:
        """A prompt to be completed has other brackets inside of its first one."""
        return 1 if self.answer == "legal" else 2

    @property
    def vocabulary(self) -> Vocabulary:
        names: list[str] = []
        for kind in range(self.num_kinds):
            names += _PAIRS[kind] if kind < len(_PAIRS) else (f"({kind}", f"){kind}")
        return Vocabulary.of(*names)

    @property
    def target_vocabulary(self) -> Vocabulary:
        if self.answer == "completion":
            return self.vocabulary
        return Vocabulary.of(*self.vocabulary.names, "-")

    @property
    def min_length(self) -> int:
        return 2 if self.answer == "legal" else 1

    def prompt_bound(self, length: int) -> int:
        return length - length % 2 if self.answer == "legal" else length

    def target_bound(self, length: int) -> int:
        if self.answer == "legal":
            return self.prompt_bound(length)
        return length if self.max_depth is None else min(length, self.max_depth)

    def sample(self, key, length, bound, data=None) -> Example:
        path_key, kinds_key = jax.random.split(key)
        size = self.prompt_bound(bound)
        length = length - length % 2 if self.answer == "legal" else length
        mask = jnp.arange(size) < length
        opens, depth = self._draw_path(path_key, length, size)
        kinds = jax.random.randint(kinds_key, (size,), 0, self.num_kinds)
        innermost = _innermost(kinds, opens, depth)
        # A closing bracket closes the bracket that was innermost before it.
        kind = jnp.where(opens, innermost, jnp.roll(innermost, 1))
        prompt = 2 * kind + ~opens
        if self.answer == "legal":
            closing = 2 * innermost + 1
            none_open = 2 * self.num_kinds
            target = jnp.where(depth > 0, closing, none_open)
            return make_example(prompt, mask, target, mask)

        final_depth = depth[length - 1]
        depth_or_bound = jnp.where(mask, depth, size)
        lowest_after = jax.lax.cummin(depth_or_bound, reverse=True)
        # A bracket stays open if the depth never falls below its own depth.
        stays_open = mask & opens & (lowest_after >= depth)
        # The innermost bracket is closed first. Other brackets are dropped.
        target_index = jnp.where(stays_open, final_depth - depth, size)
        target_size = self.target_bound(bound)
        closing = 2 * kind + 1
        target = jnp.zeros(target_size, jnp.int32)
        target = target.at[target_index].set(closing, mode="drop")
        target_mask = jnp.arange(target_size) < final_depth
        return make_example(prompt, mask, target, target_mask)

    def _draw_path(self, key: RandomKey, length: Scalar, size: int) -> tuple[Bools, Ints]:
        """Draw whether each bracket opens, and the depth after it."""
        # A prompt to be completed is half of a word, with one bracket around all the others.
        outer = 1 if self.answer == "completion" else 0
        most = (1 + outer) * size
        left = (1 + outer) * length - outer - jnp.arange(size)
        table = None
        if self.max_depth is not None:
            table = jnp.asarray(_shares(self.max_depth - outer, most))

        def opening_share(left, inner_depth):
            if table is not None:
                return table[jnp.clip(left, 0, most), inner_depth]
            # The closed form for unbounded depth, by the ballot theorem.
            numerator = (inner_depth + 2) * (left - inner_depth)
            denominator = 2 * left * (inner_depth + 1)
            return numerator / jnp.maximum(denominator, 1)

        def step(depth, inputs):
            left, uniform = inputs
            share = opening_share(left, depth - outer)
            opens = (uniform < share) | (depth < outer)
            change = jnp.where(opens, 1, -1)
            depth = jnp.where(left > 0, depth + change, depth)
            return depth, (opens, depth)

        uniform = jax.random.uniform(key, (size,))
        start = jnp.asarray(0)
        _, opens_and_depths = jax.lax.scan(step, start, (left, uniform))
        return opens_and_depths

    def evaluation_lengths(self, length: int) -> range:
        longest = self.prompt_bound(length)
        return range(longest, longest + 1)


def _innermost(kinds: Ints, opens: Bools, depth: Ints) -> Ints:
    """Return the kind of the innermost open bracket after each symbol; arbitrary if none is open.

    It is the last opening bracket at the same depth: all brackets between are inside of it.
    """
    order = jnp.argsort(depth, stable=True)
    rank = jnp.argsort(order)  # the inverse of the order
    index = jnp.arange(len(order))
    opening_index = jnp.where(opens[order], index, 0)
    latest = jax.lax.cummax(opening_index)
    innermost = kinds[order][latest]
    return innermost[rank]


def _shares(max_depth: int, most: int) -> np.ndarray:
    """[brackets left, depth]: the share of words that continue with an opening bracket."""
    shares = np.zeros((most + 1, max_depth + 1))
    # The number of words from each depth, with a zero at either end. Without brackets left, the
    # only word is the empty one at depth 0.
    num_words = np.zeros(max_depth + 3)
    num_words[1] = 1
    for left in range(1, most + 1):
        opening = num_words[2:]
        closing = num_words[:-2]
        total = opening + closing
        shares[left] = opening / np.where(total > 0, total, 1)
        num_words[1:-1] = total / total.max()  # only ratios matter, and counts would overflow
    return shares.astype(np.float32)
