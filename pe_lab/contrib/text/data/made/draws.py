"""Random choices that are equal on every machine."""

import bisect
import functools
import itertools
import random
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")
_STARTS = ("b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "st")
_VOWELS = ("a", "e", "i", "o", "u")


@functools.cache
def _zipf_totals(count: int) -> list[float]:
    weights = [1 / (i + 1) for i in range(count)]
    return list(itertools.accumulate(weights))


class CorpusDraws:
    """A stream of random choices.

    All of them come from `random.Random.random`, because Python guarantees that sequence for a
    seed. It does not guarantee the sequences of `choice` or `shuffle`, nor does NumPy.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def below(self, count: int) -> int:
        """Return a uniform number from 0 to count - 1."""
        return int(self._random.random() * count)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def item(self, items: Sequence[_T]) -> _T:
        """Return one of equally likely items."""
        return items[self.below(len(items))]

    def frequent(self, items: Sequence[_T]) -> _T:
        """Return an item by Zipf's law: item i has the weight 1 / i."""
        totals = _zipf_totals(len(items))
        threshold = self._random.random() * totals[-1]
        index = bisect.bisect(totals, threshold)
        last = len(items) - 1
        return items[min(index, last)]

    def items(self, items: Sequence[_T], count: int) -> list[_T]:
        """Return different items, in a random order."""
        rest = list(items)
        selection = []
        for _ in range(count):
            index = self.below(len(rest))
            selection.append(rest.pop(index))
        return selection

    def word(self, num_syllables: int) -> str:
        """Return an invented word, one of 85 for each syllable."""
        word = ""
        for _ in range(num_syllables):
            word += self.item(_STARTS)
            word += self.item(_VOWELS)
        return word
