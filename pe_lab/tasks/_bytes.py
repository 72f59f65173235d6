"""Shared parts of the tasks on text."""

from collections.abc import Mapping, Sequence

import numpy as np

from pe_lab.runs.errors import UserError
from pe_lab.tasks.base import Vocabulary


def _name(byte: int) -> str:
    """The visible ASCII character of a byte, or its hexadecimal digits, so never a space."""
    is_visible = 33 <= byte < 127
    return chr(byte) if is_visible else f"x{byte:02x}"


VOCABULARY = Vocabulary.of(*map(_name, range(256)))
_MOST = 2**31 - 2**20  # indices are int32, and a window reaches beyond the end of the text


def joined(texts: Sequence[bytes], split: str) -> np.ndarray:
    """Concatenate all texts of a split.

    Raises:
      UserError: there are too many bytes.
    """
    check_size(sum(map(len, texts)), split)
    return np.frombuffer(b"".join(texts), np.uint8)


def check_size(size: int, split: str, unit: str = "bytes") -> None:
    """Raise a UserError if a split has too many symbols."""
    if size > _MOST:
        raise UserError(
            f"The split {split!r} has {size} {unit} of text, more than the {_MOST} that can be "
            f"counted."
        )


def same_size(data: Mapping[str, Mapping[str, np.ndarray]], split: str) -> dict[str, np.ndarray]:
    """Return the arrays of a split, padded so that validation and test have equal sizes.

    One compiled program then evaluates both. The padding is the largest number of the array's type.
    """
    other_splits = {"validation": "test", "test": "validation"}
    other_split = other_splits.get(split, split)  # training data are not padded
    other = data[other_split]
    arrays = {}
    for name, array in data[split].items():
        num_missing = max(len(other[name]) - len(array), 0)
        widths = (0, num_missing)
        # The largest number keeps sorted arrays sorted.
        largest = np.iinfo(array.dtype).max
        arrays[name] = np.pad(array, widths, constant_values=largest)
    return arrays
