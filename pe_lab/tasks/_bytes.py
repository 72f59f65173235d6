"""What the tasks on text share."""

from collections.abc import Mapping, Sequence

import numpy as np

from pe_lab.runs.errors import UserError
from pe_lab.tasks.base import Vocabulary

VOCABULARY = Vocabulary(256, tuple(chr(b) if 33 <= b < 127 else f"x{b:02x}" for b in range(256)))
_MOST = 2**31 - 2**20  # places in a split are int32, and a window reaches beyond


def joined(texts: Sequence[bytes], split: str) -> np.ndarray:
    """All texts of a split, one after the other.

    Raises:
      UserError: there are too many bytes.
    """
    if (size := sum(map(len, texts))) > _MOST:
        raise UserError(
            f"The split {split!r} has {size} bytes of text, more than the {_MOST} that can be "
            f"counted."
        )
    return np.frombuffer(b"".join(texts), np.uint8)


def alike(data: Mapping[str, Mapping[str, np.ndarray]], split: str) -> dict[str, np.ndarray]:
    """The arrays of a split; those of validation and test are of one size, as one compiled program
    measures both.

    What stands behind the end of the shorter is the largest number of its type.
    """
    own, other = data[split], data[{"validation": "test", "test": "validation"}.get(split, split)]
    return {
        name: np.pad(
            leaf,
            (0, max(len(other[name]) - len(leaf), 0)),
            constant_values=np.iinfo(leaf.dtype).max,
        )
        for name, leaf in own.items()
    }
