"""Translate a line into the corresponding line of another text, byte by byte.

    e i n s -> o n e

Pairs of lines come from two files, line by line, from a folder of such files, or from a prepared
data set. Length n is an upper bound on the longer side in bytes: the pairs whose longer side has
more than n - `width` and at most n bytes are equally likely. Every split has pairs of all lengths
from the shortest to the longest; if there are gaps, the widest range without a gap is used.

No paper: an encoder–decoder task on the user's own text. The score is the likelihood of each index.
Exact match is less informative, since a line may have several correct translations.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.runs.errors import UserError
from pe_lab.runs.paths import user_path
from pe_lab.tasks._bytes import VOCABULARY, joined, same_size
from pe_lab.tasks.base import Example, Scalar, Task, Vocabulary, make_example


@dataclass(frozen=True)
class AlignedText(Task):
    """The prompt is a line of the source, the target its line of the target; symbols are bytes.

    Args:
      source: a file of UTF-8 text.
      target: a file with the corresponding lines.
      path: a folder; source and target are then suffixes of its files, "de" for NAME.de.
      dataset: "sentences", a corpus that is made by code and equal on every machine, with
        source="source" and target="target" or the reverse; or any data set of TFDS that is prepared
        in data_dir as array_record. Source and target are then its features.
      data_dir: the folder of prepared data sets. The content of a path is prepared there as
        "corpus/<hash of its content>". Records have this name (`provenance.corpus`).
      width: the number of bytes that one length covers.
    """

    source: str
    target: str
    path: str | None = None
    dataset: str | None = None
    data_dir: str = ".cache/datasets"
    width: int = 16

    length_name = "bytes of the longer side"
    is_text = True

    def __post_init__(self):
        if self.path is not None and self.dataset is not None:
            raise ValueError(
                f"aligned_text reads a path or a dataset, not both, got path={self.path!r} and "
                f"dataset={self.dataset!r}."
            )
        if self.width < 1:
            raise ValueError(f"aligned_text's width must be at least 1, got {self.width}.")

    @property
    def vocabulary(self) -> Vocabulary:
        return VOCABULARY

    @property
    def min_length(self) -> int:
        return self._lengths[0]

    @property
    def max_length(self) -> int | None:
        return self._lengths[1]

    @functools.cached_property
    def _lengths(self) -> tuple[int, int]:
        """The widest range of lengths that have pairs in every split."""
        all_sizes = [pairs["sizes"] for pairs in self._pairs.values()]
        longest = max(int(sizes[-1]) for sizes in all_sizes)
        lengths = np.arange(1, longest + 1)
        has_pairs = np.ones(len(lengths), bool)  # in every split
        for sizes in all_sizes:
            first, end = _range(np, sizes, lengths, self.width)
            has_pairs &= end > first
        if not has_pairs.any():
            raise UserError(
                f"{self.source} and {self.target} have no length with pairs in every split: give "
                f"a width above {self.width}."
            )
        lengths = lengths[has_pairs]
        is_before_gap = np.diff(lengths) > 1
        starts = np.flatnonzero(is_before_gap) + 1  # of the ranges after gaps
        ranges = np.split(lengths, starts)
        widest = max(ranges, key=len)
        return int(widest[0]), int(widest[-1])

    def data(self, split: str) -> dict[str, np.ndarray]:
        return same_size(self._pairs, split)

    @functools.cached_property
    def corpus(self) -> str:
        # TFDS takes a second to import.
        from pe_lab.contrib.text.data import aligned_files
        from pe_lab.data import made, text

        folder = Path(user_path(self.data_dir))
        if self.dataset is None:
            path = None if self.path is None else Path(user_path(self.path))
            rows = aligned_files.pairs(user_path(self.source), user_path(self.target), path)
            return text.prepare(rows, folder)
        if self.dataset in made.HASHES:
            return text.prepare_made(self.dataset, folder)
        return self.dataset

    @functools.cached_property
    def _pairs(self) -> dict[str, dict[str, np.ndarray]]:
        """Split -> its pairs, sorted by the longer side."""
        from pe_lab.data import text

        features = (self.source, self.target)
        if self.dataset is None:
            features = ("source", "target")
        splits = text.read(self.corpus, Path(user_path(self.data_dir)), features)
        return {split: _sorted(rows, split) for split, rows in splits.items()}

    def sample(self, key, length, bound, data=None) -> Example:
        first, end = _range(jnp, data["sizes"], length, self.width)
        # A length without pairs, which evaluation never requests, must not fail in jit.
        end = jnp.maximum(end, first + 1)
        pair = jax.random.randint(key, (), first, end)
        prompt, prompt_mask = _line(data, "source", pair, bound)
        target, target_mask = _line(data, "target", pair, bound)
        return make_example(prompt, prompt_mask, target, target_mask)

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return max(len(prompt), len(target))

    def evaluation_lengths(self, length: int) -> range:
        longest_below = max(length - self.width, 0)
        return range(longest_below + 1, length + 1)


def _sorted(rows: list[tuple[bytes, ...]], split: str) -> dict[str, np.ndarray]:
    """Return pairs as arrays, sorted by the longer side.

    Returns:
      sizes: the longer side of each pair; source and target: the bytes of all lines of a side;
      source_starts and target_starts: the start of each line, and the end of the last one.
    """

    def longer_side(pair: tuple[bytes, ...]) -> int:
        return max(map(len, pair))

    rows = sorted(rows, key=longer_side)
    longer_sides = [longer_side(pair) for pair in rows]
    arrays = {"sizes": np.array(longer_sides, np.int32)}
    sources, targets = zip(*rows, strict=True)
    for side, lines in {"source": sources, "target": targets}.items():
        sizes = [len(line) for line in lines]
        starts = np.cumsum([0, *sizes], dtype=np.int32)
        arrays[side] = joined(lines, split)
        arrays[f"{side}_starts"] = starts
    return arrays


def _range(xp, sizes, length, width: int):
    """Return the first pair of a length, and the end of its pairs; `xp` is numpy or jax.numpy."""
    first = xp.searchsorted(sizes, length - width, side="right")
    end = xp.searchsorted(sizes, length, side="right")
    return first, end


def _line(data, side: str, i: Scalar, bound: int) -> tuple[Int[Array, "n"], Bool[Array, "n"]]:
    """Return line i of a side in `bound` symbols, and its mask."""
    starts = data[f"{side}_starts"]
    start = starts[i]
    end = starts[i + 1]
    index = jnp.arange(bound)
    # Indices beyond the text are clipped; the mask removes their symbols.
    line = jnp.take(data[side], start + index, mode="clip")
    mask = index < end - start
    return line.astype(jnp.int32), mask
