"""Columns of numbers and words that grow by rows, as a large study is read into them."""

from array import array
from collections.abc import Sequence

import numpy as np
import pandas as pd


class Codes(dict[str, int]):
    """The codes of words, from 0, in the order of their first use."""

    def __missing__(self, word: str) -> int:
        self[word] = code = len(self)
        return code


class Columns:
    """Columns that grow by rows. Words are kept as codes, so a row takes about 40 bytes."""

    def __init__(self, **kinds: str) -> None:
        """Args: the kind of each column: "i" whole numbers, "d" numbers, or "w" words."""
        self.kinds = kinds
        self.codes = {name: Codes() for name, kind in kinds.items() if kind == "w"}
        stored = {name: "i" if kind == "w" else kind for name, kind in kinds.items()}
        self.columns = {name: array(kind) for name, kind in stored.items()}

    def add(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Add rows. All rows of a record at once take a fifth of the time."""
        if rows:
            for name, values in zip(self.kinds, zip(*rows, strict=True), strict=True):
                codes = self.codes.get(name)
                of_column = values if codes is None else map(codes.__getitem__, values)
                self.columns[name].extend(of_column)

    def frame(self) -> pd.DataFrame:
        frame = {}
        for name, kind in self.kinds.items():
            # An array of kind "i" holds C's int, which need not be the default integer of NumPy.
            values = np.frombuffer(self.columns[name], dtype=np.intc if kind != "d" else float)
            if kind == "w":
                words = pd.Index(list(self.codes[name]), dtype="str")
                frame[name] = pd.Categorical.from_codes(values, words)
            else:
                frame[name] = values.astype(float if kind == "d" else int)
        return pd.DataFrame(frame)
