"""The config of a study on a text, which `pe-lab new study` writes."""

import json
import string
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pe_lab.runs.errors import UserError
from pe_lab.runs.system import files

if TYPE_CHECKING:
    from pe_lab.tasks.language_model import LanguageModel

_TEMPLATES = Path(__file__).parent / "_templates"
# Of training windows. The test reads windows of four times the length.
_LENGTHS = (128, 64, 32, 16)
_EXAMPLES = 256  # of validation and test, at least as many as different windows


def unused_file(root: Path, name: str) -> Path:
    """Return the config of a new study, in `root`/configs if there is this folder.

    Raises:
      UserError: the file exists.
    """
    file = Path("configs" if (root / "configs").is_dir() else "", f"{name}.py")
    if (root / file).exists():
        raise UserError(f"{file} exists; take another name.")
    return root / file


def write(file: Path, path: str) -> None:
    """Write a config for a text.

    Raises:
      UserError: the text cannot be read or is too short.
    """
    within_documents, length = _windows(path)
    literal = json.dumps(path, ensure_ascii=False)
    values = {
        "name": file.stem,
        "file": file.as_posix(),
        "path": literal[1:-1],
        "path_literal": literal,
        "within": within_documents,
        "inside": ", which stays within a document" if within_documents else "",
        "length": length,
        "double": 2 * length,
        "longest": 4 * length,
        "scored": length // 2,
        "examples": _EXAMPLES,
    }
    text = (_TEMPLATES / "study_text.txt").read_text(encoding="utf-8")
    files.write_text(file, string.Template(text).substitute(values))


def _windows(path: str) -> tuple[bool, int]:
    """Return whether windows stay within documents, and the training length that fits a text."""
    from pe_lab.tasks.language_model import LanguageModel

    for within_documents in (True, False):
        task = LanguageModel(path=path, within_documents=within_documents)
        lengths = [length for length in _LENGTHS if _has_windows(task, 4 * length)]
        # Windows that stay within short documents are short, so longer ones across them come first.
        if lengths and (lengths[0] == _LENGTHS[0] or not within_documents):
            return within_documents, lengths[0]
    raise UserError(
        f"The text {path} is too short for a study: validation and test need {_EXAMPLES} windows "
        f"of {4 * _LENGTHS[-1]} bytes."
    )


def _has_windows(task: "LanguageModel", size: int) -> bool:
    """Whether windows of `size` bytes fit, and validation and test have enough different ones."""
    counts = []
    for split in ("validation", "test"):
        data = task.data(split)
        sizes = np.diff(data["ends"]) if task.within_documents else data["size"]
        counts.append(int(np.maximum(sizes - size + 1, 0).sum()))
    return size <= (task.max_length or 0) and min(counts) >= _EXAMPLES
