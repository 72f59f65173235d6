"""Symbols that stay in their files until they are read.

version = version_of(file)
text = Parts((FilePart(file, version, "u1", 0, version.size),))
np.asarray(text[100:200])  # reads 100 bytes; a slice alone reads nothing

A read is `np.fromfile`, and no file is mapped into memory: a mapped file that another process cuts
would end the whole process, and mapped pages would count as its memory.
"""

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pe_lab.runs.errors import UserError, one_line
from pe_lab.tasks._bytes import check_size

_BLOCK = 2**22  # symbols that are in memory at once


class Version(NamedTuple):
    """What tells a file from one that replaces it."""

    inode: int
    size: int  # bytes
    modified: int  # nanoseconds


def version_of(file: Path | int) -> Version:
    """Return the version of a file, or of a descriptor."""
    status = os.stat(file)
    return Version(status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class FilePart:
    """Consecutive symbols of a file.

    Attributes:
      version: of the file whose content was hashed; another one is not read.
      dtype: "u1", "<u2" or "<u4".
      offset: the byte where they start.
      size: their number.
    """

    file: Path
    version: Version
    dtype: str
    offset: int
    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, where: slice) -> "FilePart":
        start, end, _ = where.indices(self.size)
        offset = self.offset + start * np.dtype(self.dtype).itemsize
        return dataclasses.replace(self, offset=offset, size=max(end - start, 0))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Read the symbols.

        Raises:
          UserError: the file cannot be read, or has changed.
        """
        try:
            with self.file.open("rb", buffering=0) as file:
                symbols = np.fromfile(file, self.dtype, self.size, offset=self.offset)
                version = version_of(file.fileno())  # the path may name another file now
        except OSError as e:
            raise UserError(f"{self.file} cannot be read ({one_line(e)}).") from e
        if version != self.version:
            raise UserError(f"{self.file} has changed since its text was opened.")
        return symbols if dtype is None else symbols.astype(dtype)


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts one after the other; one of them may be an array, such as a final newline."""

    parts: tuple[FilePart | np.ndarray, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __getitem__(self, where: slice) -> "Parts":
        start, end, _ = where.indices(len(self))
        parts = []
        for part in self.parts:
            inside = part[max(start, 0) : max(end, 0)]
            if len(inside):
                parts.append(inside)
            # For the next part, which `start` and `end` may lie in front of.
            start -= len(part)
            end -= len(part)
        return Parts(tuple(parts))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        none = np.empty(0, np.uint8)  # for no parts, which np.concatenate refuses
        symbols = np.concatenate([none, *map(np.asarray, self.parts)])
        return symbols if dtype is None else symbols.astype(dtype)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield all symbols in order, reading many at once."""
        for start in range(0, len(self), _BLOCK):
            yield np.asarray(self[start : start + _BLOCK])


def content_hash(splits: Mapping[str, Parts], name: str) -> str:
    """Return the hash of splits; one of text has that of the prepared corpus of equal documents.

    Args:
      name: of the symbols: "text", or the type of tokens.
    """
    digest = hashlib.sha256()
    for split, symbols in sorted(splits.items()):
        digest.update(f"{split} {name} {len(symbols)} ".encode())
        for block in symbols.blocks():
            digest.update(block.tobytes())
    return digest.hexdigest()[:16]


def first(splits: Mapping[str, Parts], most: int | None, unit: str) -> dict[str, Parts]:
    """Return the first symbols of each split; None: all of them."""
    splits = {split: symbols[:most] for split, symbols in splits.items()}
    for split, symbols in splits.items():
        check_size(len(symbols), split, unit)
    return splits
