"""Data sets of given rows of text, written by TFDS without TensorFlow, atomically and reproducibly.

A set is written into a temporary folder and then moved, so that two processes may write it at once.
Equal rows give equal bytes.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import tensorflow_datasets as tfds
from absl import logging
from tensorflow_datasets.core import writer
from tensorflow_datasets.proto import tf_example_pb2

from pe_lab.data.sources import Row, Rows

VERSION = "1.0.0"


class Info(tfds.core.DatasetInfo):
    """The description of a data set that is not in the TFDS bucket."""

    def initialize_from_bucket(self) -> None:
        """Do nothing, since TFDS would leave an empty folder in the temporary directory."""


class Corpus(tfds.core.GeneratorBasedBuilder):
    """The data set of given rows of text, in their order.

    Args:
      rows: rows with equal names.
    """

    VERSION = tfds.core.Version(VERSION)

    def __init__(self, *, rows: Rows, **kwargs):
        self.rows = rows
        super().__init__(**kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        texts = {name: tfds.features.Text() for name in self.rows["train"][0]}
        features = tfds.features.FeaturesDict(texts)
        # TFDS would order the examples by a hash of their keys.
        return Info(builder=self, features=features, disable_shuffling=True)

    def _split_generators(self, dl_manager) -> dict[str, Iterator[tuple[int, Row]]]:
        examples = {}
        for split, rows in self.rows.items():
            examples[split] = self._generate_examples(rows)
        return examples

    def _generate_examples(self, rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
        yield from enumerate(rows)

    def _example_writer(self) -> writer.ExampleWriter:
        return _InOrder(super()._example_writer().file_format)


class _InOrder(writer.ExampleWriter):
    """A writer with the features of a row sorted by name; TFDS's order differs by process."""

    def write(self, path, examples: Iterable[tuple[int, bytes]]):
        return super().write(path, map(self._sorted, examples))

    def _sorted(self, example: tuple[int, bytes]) -> tuple[int, bytes]:
        key, serialized = example
        row = tf_example_pb2.Example.FromString(serialized)
        return key, row.SerializeToString(deterministic=True)


def write_once(rows: Rows, name: str, folder: Path, destination: Path) -> None:
    """Write a data set to `destination`, inside `folder`, unless it exists.

    Raises:
      OSError: the folder cannot be written.
    """
    if destination.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".preparing-") as private:
        with _silence():
            config = tfds.core.BuilderConfig(name=name)
            builder = Corpus(rows=rows, config=config, data_dir=private)
            builder.download_and_prepare(file_format="array_record")
        _move(Path(builder.data_dir), destination)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Suppress the progress bars and warnings of TFDS; the caller writes JSON to stdout."""
    verbosity = logging.get_verbosity()
    sink = io.StringIO()
    logging.set_verbosity(logging.ERROR)
    try:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            yield
    finally:
        logging.set_verbosity(verbosity)


def _move(source: Path, destination: Path) -> None:
    """Move a folder, unless another process was first."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(source, destination)
    except OSError:
        # A rename onto a folder with content fails; then another process has written it.
        if not destination.is_dir():
            raise
