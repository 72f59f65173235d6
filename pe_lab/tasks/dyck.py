"""Brackets of several kinds: which one is to be closed.

    ( [ ] ) -> ) ] ) -
    ( [ ( ) -> ] )  # answer="completion"
    { } ( ) -> } - ) -  # num_kinds=3

By default the target names, after every prefix, the closing bracket that is legal now, - for none.
The completion closes what the prompt leaves open. With answer="legal" an odd length is an upper
bound: its words have one bracket less.

Papers: Bhattamishra et al. 2020 (https://arxiv.org/abs/2009.11264): "Dyck-n", character prediction:
after every prefix the brackets that may come next. Opening ones always may (they also say so at the
greatest depth), so the closing one says all. The completion is of no paper.

Differs: words are uniform among those of their length, and of their depth where that is bounded;
they draw from a grammar (by their code's defaults, a pair around more with probability 1/2, two
words with 1/4, else nothing). They read each answer off its own bracket; here the answers follow
the whole word, and a decoder sees those before.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import Example, Task, Vocabulary

_PAIRS = ("()", "[]", "{}", "<>")


@dataclass(frozen=True)
class Dyck(Task):
    """The target is the legal closing bracket after every prefix, or what closes the prompt.

    Words are uniform, the kind of each pair as well. A prompt to be completed is the first half of
    a uniform word of twice the length whose first bracket closes last, so that something is open.

    Args:
      num_kinds: kinds of brackets.
      max_depth: brackets open at a time, None for any number.
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
        """Within one open bracket a prompt to be completed has others."""
        return 1 if self.answer == "legal" else 2

    @property
    def vocabulary(self) -> Vocabulary:
        pairs = [
            _PAIRS[i] if i < len(_PAIRS) else (f"({i}", f"){i}") for i in range(self.num_kinds)
        ]
        return Vocabulary(2 * self.num_kinds, tuple(bracket for pair in pairs for bracket in pair))

    @property
    def target_vocabulary(self) -> Vocabulary:
        names = self.vocabulary.names
        return (
            Vocabulary(len(names) + 1, (*names, "-")) if self.answer == "legal" else self.vocabulary
        )

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
        path, kinds = jax.random.split(key)
        size = self.prompt_bound(bound)
        length = length - length % 2 if self.answer == "legal" else length
        mask = jnp.arange(size) < length
        opens, depth = self._path(path, length, size)
        top = _innermost(jax.random.randint(kinds, (size,), 0, self.num_kinds), opens, depth)
        kind = jnp.where(opens, top, jnp.roll(top, 1))  # what closes is what was innermost before
        prompt = jnp.where(mask, 2 * kind + ~opens, 0)
        if self.answer == "legal":
            target = jnp.where(mask, jnp.where(depth > 0, 2 * top + 1, 2 * self.num_kinds), 0)
            return Example(prompt, mask, target, mask, mask, jnp.full(size, -1))
        height = depth[length - 1]
        later = jax.lax.cummin(jnp.where(mask, depth, size), reverse=True)
        stays = mask & opens & (later >= depth)
        from_top = jnp.where(stays, height - depth, size)
        wide = self.target_bound(bound)
        target = jnp.zeros(wide, jnp.int32).at[from_top].set(2 * kind + 1, mode="drop")
        said = jnp.arange(wide) < height
        return Example(prompt, mask, target, said, said, jnp.full(wide, -1))

    def _path(self, key, length, size):
        """Whether each bracket opens, and the depth after it."""
        outer = int(self.answer == "completion")  # the bracket around all the others
        left = (1 + outer) * length - outer - jnp.arange(size)
        most = (1 + outer) * size
        table = (
            None if self.max_depth is None else jnp.asarray(_shares(self.max_depth - outer, most))
        )

        def step(depth, drawn):
            left, uniform = drawn
            within = depth - outer
            if table is None:
                share = (within + 2) * (left - within) / jnp.maximum(2 * left * (within + 1), 1)
            else:
                share = table[jnp.clip(left, 0, most), within]
            opens = (uniform < share) | (depth < outer)
            depth = jnp.where(left > 0, depth + jnp.where(opens, 1, -1), depth)
            return depth, (opens, depth)

        uniform = jax.random.uniform(key, (size,))
        return jax.lax.scan(step, jnp.asarray(0), (left, uniform))[1]

    def evaluation_lengths(self, length: int) -> range:
        longest = self.prompt_bound(length)
        return range(longest, longest + 1)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        stack, legal = [], []
        for symbol in prompt.tolist():
            if symbol % 2 == 0:
                stack.append(symbol + 1)
            else:
                assert stack.pop() == symbol
            legal.append(stack[-1] if stack else 2 * self.num_kinds)
        return np.array(legal if self.answer == "legal" else stack[::-1])


def _innermost(kinds, opens, depth):
    """The kind of the innermost open bracket after each place; any where none is open.

    It is that of the last opening at the same depth: between the two nothing is at that depth but
    what they hold.
    """
    order = jnp.argsort(depth, stable=True)
    latest = jax.lax.cummax(jnp.where(opens[order], jnp.arange(len(order)), 0))
    return kinds[order][latest][jnp.argsort(order)]


def _shares(max_depth: int, most: int) -> np.ndarray:
    """[brackets left, depth]: the share of words that go on with an opening bracket."""
    shares = np.zeros((most + 1, max_depth + 1))
    ways = np.eye(max_depth + 3)[1]  # words to come from each depth, with a zero at either end
    for left in range(1, most + 1):
        total = ways[2:] + ways[:-2]
        shares[left] = ways[2:] / np.where(total > 0, total, 1)
        ways[1:-1] = total / total.max()
    return shares.astype(np.float32)
