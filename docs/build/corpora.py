"""Bits per byte of the corpus `stories` for count models of different contexts.

The model has two parts. One has fixed counts of training text, with contexts of up to ORDER bytes.
The other sees the last bytes of the same story: it finds the longest suffix that occurred there
before, and counts the bytes that followed it. The weights of the two are fitted while it reads.
A gain of long contexts over short ones is thus structure at long distances.
"""

import importlib
import inspect
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from docs.build import markdown
from pe_lab import parts
from pe_lab.contrib.text.data.made import stories
from pe_lab.data import made

RECORD = Path("results/published/corpora/corpora.json")
ORDER = 5  # bytes of context of the fixed counts
CONTEXTS = (128, 256, 512, 1024, 2048, 4096)
TRAIN_STORIES, TEST_STORIES = 200, 20
_SUFFIXES = range(8, 2, -1)  # bytes of a suffix, the longest first
_RATE = 0.02  # of the fit of a weight


class Measurement(TypedDict):
    """The record.

    Attributes:
      fixed: bits per byte of the fixed counts alone, by their order.
      context: bits per byte with the last bytes of the story, by their number.
    """

    hash: str
    train_stories: int
    test_stories: int
    fixed: dict[str, float]
    context: dict[str, float]


class Counts:
    """Counts of the byte after each context of up to `order` bytes."""

    def __init__(self, texts: Iterable[bytes], order: int):
        self.order = order
        self.after: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
        for text in texts:
            for i, byte in enumerate(text):
                for size in range(min(order, i) + 1):
                    self.after[text[i - size : i]][byte] += 1

    def probability(self, context: bytes, byte: int) -> float:
        """Return the probability of a byte, blended over contexts (Witten and Bell 1991)."""
        probability = 1 / 256
        for size in range(min(self.order, len(context)) + 1):
            counts = self.after.get(context[len(context) - size :])
            if counts is None:
                break
            kinds = len(counts)
            probability = (counts[byte] + kinds * probability) / (counts.total() + kinds)
        return probability


def fixed_bits(counts: Counts, texts: Sequence[bytes]) -> float:
    """Return the bits per byte of fixed counts."""
    return context_bits(counts, texts, size=0)


def context_bits(counts: Counts, texts: Sequence[bytes], size: int) -> float:
    """Return the bits per byte of fixed counts mixed with counts of the last `size` bytes."""
    bits = 0.0
    weights = dict.fromkeys(_SUFFIXES, 0.5)
    for text in texts:
        recent: defaultdict[bytes, Counter[int]] = defaultdict(Counter)
        for i, byte in enumerate(text):
            context = text[max(i - counts.order, 0) : i]
            probability = counts.probability(context, byte)
            suffix = _longest_suffix(text, i, recent)
            if suffix:
                after = recent[suffix]
                copied = (after[byte] + 0.1 * probability) / (after.total() + 0.1)
                weight = weights[len(suffix)]
                mixed = (1 - weight) * probability + weight * copied
                share = weight * copied / mixed
                weights[len(suffix)] = weight + _RATE * (share - weight)
                probability = mixed
            bits -= math.log2(probability)
            _count(recent, text, i, 1)
            if i >= size:
                _count(recent, text, i - size, -1)
    return bits / sum(map(len, texts))


def _longest_suffix(text: bytes, i: int, recent: dict[bytes, Counter[int]]) -> bytes:
    """Return the longest suffix of the text before i with counts; b"" if there is none."""
    for size in _SUFFIXES:
        suffix = text[max(i - size, 0) : i]
        if len(suffix) == size and suffix in recent:
            return suffix
    return b""


def _count(recent: dict[bytes, Counter[int]], text: bytes, i: int, change: int) -> None:
    """Add the byte at i to the counts of its contexts, or remove it."""
    for size in _SUFFIXES:
        if i < size:
            continue
        suffix = text[i - size : i]
        recent[suffix][text[i]] += change
        if not recent[suffix].total():
            del recent[suffix]


def measure(
    train_stories: int = TRAIN_STORIES,
    test_stories: int = TEST_STORIES,
    contexts: Sequence[int] = CONTEXTS,
) -> Measurement:
    """Return the record."""
    texts = [row["text"] for row in stories.rows()]
    test = texts[:test_stories]
    train = texts[test_stories : test_stories + train_stories]
    fixed = {str(order): fixed_bits(Counts(train, order), test) for order in (0, 1, 2, ORDER)}
    counts = Counts(train, ORDER)
    return {
        "hash": made.HASHES["stories"],
        "train_stories": train_stories,
        "test_stories": test_stories,
        "fixed": fixed,
        "context": {str(size): context_bits(counts, test, size) for size in contexts},
    }


def section(root: Path) -> str:
    """Return the descriptions of the corpora, and the table of the record below `root`."""
    texts = []
    for name in made.HASHES:
        module = importlib.import_module(parts.module("data.made", name) or "")
        description = inspect.cleandoc(module.__doc__ or "")
        texts += [f"### {name}", description, f"Hash: `{made.HASHES[name]}`."]
    if (root / RECORD).exists():
        record = json.loads((root / RECORD).read_text(encoding="utf-8"))
        texts.append(_table(record))
    return "\n\n".join(texts)


def _table(record: Measurement) -> str:
    rows = [["count model of `stories`", "bits per byte"]]
    for order, bits in record["fixed"].items():
        rows.append([f"the last {order} bytes", f"{bits:.2f}"])
    for size, bits in record["context"].items():
        rows.append([f"the last {ORDER} bytes, copies from the last {size}", f"{bits:.2f}"])
    return markdown.table(rows)
