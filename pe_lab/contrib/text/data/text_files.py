"""Texts of language_model that are read from their files: token ids, and plain files."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pe_lab.contrib.text.data import _tokens
from pe_lab.contrib.text.data._parts import FilePart, Parts, content_hash, first, version_of
from pe_lab.data import files, sources
from pe_lab.runs.errors import UserError
from pe_lab.runs.paths import user_path
from pe_lab.tasks.base import AnyArray
from pe_lab.tasks.language_model import SPLITS, LanguageModel


@dataclass(frozen=True, eq=False)
class TextFiles:
    """The splits of a task, its name in records, and what only tokens have.

    Attributes:
      bytes_per_token: of each split; None: unknown.
    """

    splits: Mapping[str, Parts]
    corpus: str
    vocabulary_size: int | None = None
    bytes_per_token: Mapping[str, float] | None = None

    def windows(self, bound: int, starts: AnyArray, splits: AnyArray) -> np.ndarray:
        """Read the windows at all starts, with zeros behind the text; [*starts, bound]."""
        starts, splits = np.asarray(starts), np.asarray(splits)
        windows = np.zeros((starts.size, bound), np.int32)
        for window, start, split in zip(windows, starts.flat, splits.flat, strict=True):
            content = self.splits[SPLITS[split]]
            symbols = np.asarray(content[int(start) : int(start) + bound])
            window[: len(symbols)] = symbols
        return windows.reshape(*starts.shape, bound)


def read(task: LanguageModel) -> TextFiles | None:
    """Open the files of a task, and check all of their symbols.

    Returns:
      None for a text that is prepared as a data set.

    Raises:
      UserError: the files have no such text.
    """
    if task.tokens is not None:
        tokens = _tokens.read(
            Path(user_path(task.tokens)),
            task.splits,
            task.token_type,
            task.vocabulary_size,
            task.bytes_per_token,
            task.max_tokens,
        )
        corpus = f"tokens/{tokens.content}"
        return TextFiles(tokens.splits, corpus, tokens.vocabulary_size, tokens.bytes_per_token)
    if task.path is None or not (task.on_demand or _needs_no_set(task.path, task.splits)):
        return None
    texts = _plain_file(Path(user_path(task.path)), task.splits)
    corpus = f"corpus/{content_hash(texts, 'text')}"
    if task.splits is None:
        texts = {split: _with_newline(text) for split, text in texts.items()}
    return TextFiles(first(texts, task.max_bytes, "bytes"), corpus)


def _needs_no_set(path: str, splits: sources.Splits) -> bool:
    """Whether a path is one plain file, and there is no TFDS, which would prepare a copy of it."""
    file = Path(user_path(path))
    is_one = file.is_file() and files.is_plain(file) and not isinstance(splits, str)
    return is_one and importlib.util.find_spec("tensorflow_datasets") is None


def _plain_file(file: Path, splits: sources.Splits) -> dict[str, Parts]:
    """Cut a file into the splits that it has in memory."""
    sources.check_exists(file)
    if not file.is_file() or not files.is_plain(file) or isinstance(splits, str):
        raise UserError(f"on_demand reads one plain file of text, and {file} is none.")
    version = version_of(file)
    text = Parts((FilePart(file, version, "u1", 0, version.size),))
    files.check_utf8(text.blocks(), file)
    ends = sources.bounds(text, f"The text {file}", "bytes", splits)
    return {split: text[start:end] for split, (start, end) in ends.items()}


def _with_newline(text: Parts) -> Parts:
    """Return a text with the final newline that it has in memory."""
    if bytes(np.asarray(text[-1:])) == b"\n":
        return text
    return Parts((*text.parts, np.frombuffer(b"\n", np.uint8)))
