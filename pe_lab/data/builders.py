"""Data sets of given rows, written by TFDS without TensorFlow: whole or not at all, and in equal
bytes each time.

A set is written in a folder of its own and then moved, so that two processes may write it at once.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds
from absl import logging
from tensorflow_datasets.core import writer
from tensorflow_datasets.proto import tf_example_pb2

VERSION = "1.0.0"
Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]  # split -> its rows


class Info(tfds.core.DatasetInfo):
    """The description of a data set that no bucket of TFDS has."""

    def initialize_from_bucket(self) -> None:
        """Do nothing: TFDS would leave an empty folder, `*tfds`, in the temporary directory."""


class RowsBuilder(tfds.core.GeneratorBasedBuilder):
    """The data set of given rows, in their order; a subclass says their features.

    Args:
      rows: with equal names and types.
    """

    VERSION = tfds.core.Version(VERSION)

    def __init__(self, *, rows: Rows, **kwargs: Any):
        self.rows = rows
        super().__init__(**kwargs)

    def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
        return {split: self._generate_examples(rows) for split, rows in self.rows.items()}

    def _generate_examples(self, rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
        yield from enumerate(rows)

    def _example_writer(self) -> writer.ExampleWriter:
        return _InOrder(super()._example_writer().file_format)


class _InOrder(writer.ExampleWriter):
    """TFDS writes the features of a row in an order that differs from process to process; this one
    by their names.
    """

    def write(self, path: Any, examples: Iterable[tuple[Any, bytes]]) -> Any:
        parsed = ((key, tf_example_pb2.Example.FromString(row)) for key, row in examples)
        return super().write(
            path, ((key, row.SerializeToString(deterministic=True)) for key, row in parsed)
        )


def write_once(make: Callable[..., RowsBuilder], name: str, folder: Path, there: Path) -> bool:
    """Writes a data set to `there`, inside `folder`, unless it is there; whether it is new.

    Args:
      make: from `config` (of that name) and `data_dir` to a builder.

    Raises:
      OSError: the folder cannot be written.
    """
    if there.exists():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".preparing-") as private:
        with _silence():
            builder = make(config=tfds.core.BuilderConfig(name=name), data_dir=private)
            builder.download_and_prepare(file_format="array_record")
        return _moved(Path(builder.data_dir), there)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """TFDS prints what it does, draws bars, and warns of a configuration that its class does not
    list; a cell speaks JSON there.
    """
    verbosity, nobody = logging.get_verbosity(), io.StringIO()
    logging.set_verbosity(logging.ERROR)
    try:
        with contextlib.redirect_stdout(nobody), contextlib.redirect_stderr(nobody):
            yield
    finally:
        logging.set_verbosity(verbosity)


def _moved(made: Path, there: Path) -> bool:
    """Puts a folder where it belongs; False if another process was first."""
    there.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(made, there)
    except OSError:
        if not there.is_dir():
            raise
        return False
    return True
