"""Say the line that belongs to a line, as in translation; both in bytes.

    e i n s -> o n e

Pairs of lines come from two files, line by line, from a folder of such files, or from a prepared
set. Length n is an upper bound on the longer side in bytes: an example is drawn among the pairs
whose longer side has more than n - `width` bytes and at most n, each equally likely. Lengths go
from the shortest to the longest without a gap in any split; where gaps part them, the widest range
counts.

No paper: text for the encoder–decoder, of one's own. The scores are those of text: the likelihood
of each place, and exact match for what it is worth, as a line may have several right translations.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from pe_lab.runs.errors import UserError
from pe_lab.tasks._bytes import VOCABULARY, alike, joined
from pe_lab.tasks.base import Example, Task, Vocabulary


@dataclass(frozen=True)
class AlignedText(Task):
    """The prompt is a line of the source, the target its line of the target; symbols are bytes.

    Args:
      source: a file of UTF-8 text.
      target: the file whose lines belong to its lines.
      path: a folder; source and target are then endings of its files, "de" for NAME.de.
      dataset: any set of TFDS that is prepared in data_dir, as array_record; source and target are
        then its features. "installed": messages of the running system's programs, source and target
        languages, one of them "en".
      data_dir: where prepared sets lie; a path is prepared there as "corpus/<hash of its content>".
      width: of a length, in bytes.
    """

    source: str
    target: str
    path: str | None = None
    dataset: str | None = None
    data_dir: str = ".cache/datasets"
    width: int = 16

    length_name = "bytes of the longer side"
    by_place = True

    def __post_init__(self):
        if self.path is not None and self.dataset is not None:
            raise ValueError(
                f"aligned_text reads a path or a dataset, not both, got path={self.path!r} and "
                f"dataset={self.dataset!r}."
            )
        if self.dataset == "installed" and (
            self.source == self.target or "en" not in (self.source, self.target)
        ):
            why = f"got source={self.source!r} and target={self.target!r}"
            raise ValueError(
                f"aligned_text's installed messages are in English and another language, {why}."
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
        every = np.arange(1, max(int(sizes[-1]) for sizes in all_sizes) + 1)
        ends = [_range(np, sizes, every, self.width) for sizes in all_sizes]
        has = np.logical_and.reduce([end > first for first, end in ends])
        if not has.any():
            raise UserError(
                f"{self.source} and {self.target} have no length with pairs in every split: give "
                f"a width above {self.width}."
            )
        ranges = np.split(every[has], np.flatnonzero(np.diff(every[has]) > 1) + 1)
        widest = max(ranges, key=len)
        return int(widest[0]), int(widest[-1])

    def data(self, split: str) -> dict[str, np.ndarray]:
        return alike(self._pairs, split)

    @functools.cached_property
    def _pairs(self) -> dict[str, dict[str, np.ndarray]]:
        """Split -> its pairs in the order of their longer sides."""
        from pe_lab.data import installed, text  # TFDS takes a second to import

        folder, name, features = Path(self.data_dir), self.dataset, (self.source, self.target)
        if name is None or name == "installed":
            of = None if self.path is None else Path(self.path)
            if name is not None:
                of = installed.catalogues(
                    self.source if self.target == "en" else self.target, folder
                )
            name, features = (
                text.prepare(text.pairs(self.source, self.target, of), folder),
                ("source", "target"),
            )
        return {
            split: _sorted(rows, split) for split, rows in text.read(name, folder, features).items()
        }

    def sample(self, key, length, bound, data=None) -> Example:
        first, end = _range(jnp, data["sizes"], length, self.width)
        chosen = jax.random.randint(key, (), first, jnp.maximum(end, first + 1))
        prompt, there = _line(data, "source", chosen, bound)
        target, mask = _line(data, "target", chosen, bound)
        return Example(prompt, there, target, mask, mask, jnp.full(bound, -1))

    def measure_length(self, prompt: np.ndarray, target: np.ndarray) -> int:
        return max(len(prompt), len(target))

    def evaluation_lengths(self, length: int) -> range:
        return range(max(length - self.width, 0) + 1, length + 1)

    def oracle(self, prompt: np.ndarray) -> np.ndarray:
        """The first line that belongs to the prompt, of any split."""
        for pairs in self._pairs.values():
            for i in range(len(pairs["sizes"])):
                source, target = (
                    pairs[side][slice(*pairs[f"{side}_starts"][i : i + 2])]
                    for side in ("source", "target")
                )
                if source.tolist() == prompt.tolist():
                    return target
        raise ValueError("The prompt is none of the source's lines.")


def _sorted(rows: list[tuple[bytes, ...]], split: str) -> dict[str, np.ndarray]:
    """Pairs as arrays: the bytes of each side one line after the other, where each begins, and its
    longer side.
    """
    rows = sorted(rows, key=lambda pair: max(map(len, pair)))
    found = {"sizes": np.array([max(map(len, pair)) for pair in rows], np.int32)}
    for side, lines in zip(("source", "target"), zip(*rows, strict=True), strict=True):
        found[side] = joined(lines, split)
        found[f"{side}_starts"] = np.cumsum([0, *map(len, lines)], dtype=np.int32)
    return found


def _range(xp, sizes, length, width: int):
    """First of the pairs that a length draws from, and the one behind the last."""
    return xp.stack(
        [
            xp.searchsorted(sizes, length - width, side="right"),
            xp.searchsorted(sizes, length, side="right"),
        ]
    )


def _line(
    data, side: str, i: Int[Array, ""], bound: int
) -> tuple[Int[Array, "n"], Bool[Array, "n"]]:
    """Line i of a side, and where it is."""
    start, end = data[f"{side}_starts"][i], data[f"{side}_starts"][i + 1]
    place = jnp.arange(bound)
    mask = place < end - start
    return jnp.where(
        mask, jnp.take(data[side], start + place, mode="clip").astype(jnp.int32), 0
    ), mask
