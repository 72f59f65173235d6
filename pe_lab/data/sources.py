"""Rows of text from a user's files, in the splits train, validation and test."""

import hashlib
import itertools
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pe_lab.data import files
from pe_lab.runs.errors import UserError, one_line

Row = Mapping[str, bytes]
Rows = Mapping[str, Sequence[Row]]  # split -> its rows
Splits = tuple[int, int, int] | str | None

_NAMES = {  # split -> the words of its files
    "train": {"train"},
    "validation": {"validation", "valid", "val", "dev"},
    "test": {"test"},
}
_HELD_OUT = 10  # percent of a corpus that each of validation and test gets


def documents(path: Path, field: str = "text", splits: Splits = None) -> Rows:
    """Return the rows {"text"} of a folder or a file.

    The documents of a folder are assigned to splits by the hash of their content, without
    duplicates, empty documents and hidden files; so are those of a file of several documents. A
    single document is cut at 80 and 90 percent.

    Args:
      field: the name of the text in lines of JSON and rows of Parquet (files.py).
      splits: how many bytes train, validation and test take from the start of a single document,
        one after the other; or "named": the files and folders whose names have the words train,
        validation (or valid, val, dev) and test are the splits, without hidden ones.

    Raises:
      UserError: there is no text, a link leads nowhere, a folder cannot be read, the text is not
        UTF-8, or it is too short for three splits.
    """
    check_exists(path)
    if isinstance(splits, str):  # "named"
        return _named(path, field)
    if path.is_file() and files.has_one_document(path):
        return _cut(path, splits)
    if splits is not None:
        raise UserError(f"splits={splits} cuts one file of plain text, and {path} is none.")
    # Duplicates count once. Tasks add a final line break, so it makes no other document.
    first_of: dict[bytes, bytes] = {}
    for text in _documents(path, field):
        first_of.setdefault(text if text.endswith(b"\n") else text + b"\n", text)
    groups = {text: [{"text": text}] for text in first_of.values()}
    return by_hash(groups, f"The {'file' if path.is_file() else 'folder'} {path}", "documents")


def check_exists(path: Path) -> None:
    if not path.exists():
        raise UserError(f"There is no file or folder of text at {path}.")


def _documents(path: Path, field: str) -> Iterator[bytes]:
    """Yield the documents of a file, or of the files of a folder, that are not empty."""
    is_empty = True
    for file in files_of(path):
        for text in files.documents(file, field):
            if text.strip():
                is_empty = False
                yield text
    if is_empty:
        raise UserError(f"The {'folder' if path.is_dir() else 'file'} {path} holds no text.")


def files_of(path: Path) -> list[Path]:
    """Return the files of a folder and of the folders below it, or a file itself, sorted.

    Hidden ones are left out. A link to a folder is followed, unless that is read anyway.

    Raises:
      UserError: a link leads nowhere, or a folder cannot be read.
    """
    found = []
    paths = [path]
    links: list[Path] = []  # to folders: they come last, so that a folder keeps its own path
    read = {*path.resolve().parents}  # a link to one of them is a loop
    try:
        while paths or links:
            entry = paths.pop() if paths else links.pop(0)
            check_exists(entry)
            if entry.is_file():
                found.append(entry)
            if not entry.is_dir() or entry.resolve() in read:
                continue
            read.add(entry.resolve())
            # Path.rglob takes a folder that cannot be read for an empty one.
            for inner in sorted(entry.iterdir()):
                if not inner.name.startswith("."):
                    is_link = inner.is_symlink() and inner.is_dir()
                    (links if is_link else paths).append(inner)
    except OSError as e:
        raise UserError(f"The folder {path} cannot be read ({one_line(e)}).") from e
    return sorted(found)


def _named(folder: Path, field: str) -> Rows:
    """Return the splits that the names of a folder's files and folders state."""
    rows: dict[str, list[Row]] = {}
    for split, entries in named_entries(folder).items():
        texts = (text for entry in entries for text in _documents(entry, field))
        rows[split] = [{"text": text} for text in texts]
        if not rows[split]:
            raise UserError(f"The folder {folder} has no file or folder of {split} by its name.")
    return rows


def named_entries(folder: Path) -> dict[str, list[Path]]:
    """Return the files and folders of each split whose names have its word, without hidden ones."""
    if not folder.is_dir():
        raise UserError(f"splits='named' reads a folder, and {folder} is none.")
    entries: dict[str, list[Path]] = {split: [] for split in _NAMES}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        words = re.split(r"[._-]", entry.name.lower())
        matches = [split for split, names in _NAMES.items() if not names.isdisjoint(words)]
        if len(matches) > 1:
            raise UserError(
                f"{entry} has the words of two splits in its name: {', '.join(matches)}."
            )
        for split in matches:
            entries[split].append(entry)
    return entries


def _cut(file: Path, sizes: tuple[int, int, int] | None = None) -> Rows:
    """Cut a file into splits: at these numbers of bytes, or at 80 and 90 percent of its characters.

    The sizes are exact, since those of enwik8 and text8 are published in bytes.
    """
    text = files.utf8(file)
    ends = bounds(text, f"The text {file}", "bytes", sizes)
    return {split: [{"text": text[start:end]}] for split, (start, end) in ends.items()}


def bounds(
    symbols: Any, description: str, unit: str, sizes: tuple[int, int, int] | None = None
) -> dict[str, tuple[int, int]]:
    """Return the start and the end of each split of symbols that are bytes or tokens.

    Args:
      symbols: bytes, or what gives an array of each slice.
      sizes: of the splits; None: 80, 10 and 10 percent, and bytes are cut between characters.
    """
    count = len(symbols)
    if sizes is None:
        ends = [count * percent // 100 for percent in (100 - 2 * _HELD_OUT, 100 - _HELD_OUT)]
        if unit == "bytes":
            ends = [_character_end(symbols, end) for end in ends]
        ends.append(count)
    else:
        ends = list(itertools.accumulate(sizes))
    starts = [0, *ends]
    if ends[-1] > count or not all(map(operator.lt, starts, ends)):
        amounts = "" if sizes is None else f" of {', '.join(map(str, sizes))} {unit}"
        raise UserError(
            f"{description} is too short for train, validation and test{amounts}: it has "
            f"{count} {unit}."
        )
    return dict(zip(_NAMES, zip(starts, ends, strict=False), strict=True))


def _character_end(text: Any, place: int) -> int:
    """Return the first end of a character that is not before a place."""
    following = bytes(np.asarray(text[place : place + 3]))  # a character has at most four bytes
    while following and following[0] & 0xC0 == 0x80:  # a continuation byte
        following = following[1:]
        place += 1
    return place


def by_hash(groups: Mapping[bytes, Sequence[Row]], where: str, unit: str) -> Rows:
    """Split groups of rows by the hash of their keys; the first tenths are held out."""
    if len(groups) < 3:
        count = f"{where} has {len(groups)} different {unit}"
        raise UserError(f"{count}: train, validation and test need at least one each.")
    # The hash makes the split independent of file names and of the order of files.
    order = sorted(groups, key=lambda key: hashlib.sha256(key).digest())
    num_held_out = max(1, len(order) * _HELD_OUT // 100)
    keys = {
        "train": order[2 * num_held_out :],
        "validation": order[num_held_out : 2 * num_held_out],
        "test": order[:num_held_out],
    }
    splits = {}
    for split, split_keys in keys.items():
        splits[split] = [row for key in split_keys for row in groups[key]]
    return splits
