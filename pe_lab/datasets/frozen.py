"""Frozen evaluation examples: data sets of TFDS that any program can read, with a hash of their content.

    FOLDER/frozen/copy-0123456789ab/1.0.0/    # array_record files, features.json, metadata.json

A set is written whole, never changed, and equal bytes each time: two processes may write it at once.
"""

import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds
from absl import logging
from tensorflow_datasets.core import writer
from tensorflow_datasets.proto import tf_example_pb2

from pe_lab.errors import UserError, one_line

VERSION = "1.0.0"
Row = Mapping[str, Any]  # names to arrays, or to rows
Rows = Mapping[str, Sequence[Row]]  # split -> its rows


class Frozen(tfds.core.GeneratorBasedBuilder):
    """The data set of given rows. Of an array the first axis may differ from row to row.

    Args:
      rows: with equal names and types.
      description: for whoever finds it.
      metadata: stored beside it, in JSON.
    """

    VERSION = tfds.core.Version(VERSION)

    def __init__(self, *, rows: Rows, description: str, metadata: dict[str, Any], **kwargs: Any):
        self.rows, self.described, self.metadata_ = rows, description, metadata
        super().__init__(**kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        first = next(row for rows in self.rows.values() for row in rows)
        return tfds.core.DatasetInfo(
            builder=self,
            description=self.described,
            features=_features(first),
            metadata=tfds.core.MetadataDict(self.metadata_),
            disable_shuffling=True,  # in the order of their index
        )

    def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
        return {split: self._generate_examples(rows) for split, rows in self.rows.items()}

    def _generate_examples(self, rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
        yield from enumerate(rows)

    def _example_writer(self) -> writer.ExampleWriter:
        return _InOrder(super()._example_writer().file_format)


class _InOrder(writer.ExampleWriter):
    """TFDS writes the features of a row in an order that differs from process to process; this one by their names."""

    def write(self, path: Any, examples: Iterable[tuple[Any, bytes]]) -> Any:
        parsed = ((key, tf_example_pb2.Example.FromString(row)) for key, row in examples)
        return super().write(path, ((key, row.SerializeToString(deterministic=True)) for key, row in parsed))


def _features(row: Row) -> tfds.features.FeaturesDict:
    def of(value: Any) -> Any:
        if isinstance(value, Mapping):
            return _features(value)
        return tfds.features.Tensor(shape=(None, *value.shape[1:]) if value.ndim else (), dtype=value.dtype.type)

    return tfds.features.FeaturesDict({name: of(value) for name, value in row.items()})


def content_hash(rows: Rows) -> str:
    """sha256 over all rows in their order: split, names, shapes, and values as whole numbers of eight bytes."""
    digest = hashlib.sha256()
    for split in sorted(rows):
        for row in rows[split]:
            for name, value in _leaves(row):
                digest.update(f"{split} {name} {value.shape} ".encode() + value.astype("<i8").tobytes())
    return digest.hexdigest()


def _leaves(row: Row, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    for name in sorted(row):
        if isinstance(row[name], Mapping):
            yield from _leaves(row[name], f"{prefix}{name}/")
        else:
            yield prefix + name, np.asarray(row[name])


@dataclasses.dataclass(frozen=True)
class Set:
    """A frozen set on disk: what it is of, and its rows when asked for."""

    path: Path
    about: dict[str, Any]
    sha256: str

    @property
    def version(self) -> str:
        return self.path.name

    @functools.cached_property
    def rows(self) -> Rows:
        """All of them, checked.

        Raises:
          UserError: they are not those that were written.
        """
        try:
            source = tfds.builder_from_directory(self.path).as_data_source()
            rows = {split: list(found) for split, found in source.items()}
            sound = content_hash(rows) == self.sha256
        except Exception as e:  # of whatever reads what is no data set any more
            raise UserError(f"The frozen examples in {self.path} are damaged ({one_line(e)}).") from e
        if not sound:
            raise UserError(f"The frozen examples in {self.path} are damaged (they do not match their hash).")
        return rows


def sets(folder: Path) -> list[Set]:
    """The frozen sets of a folder, of every version.

    Raises:
      UserError: one has no readable description.
    """
    found = []
    for path in sorted(folder.glob("frozen/*/*/metadata.json")):
        try:
            metadata = json.loads(path.read_text(encoding="utf-8"))
            found.append(Set(path.parent, metadata["about"], metadata["sha256"]))
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise UserError(f"The frozen examples in {path.parent} are damaged ({one_line(e)}).") from e
    return found


def write(folder: Path, name: str, about: dict[str, Any], description: str, rows: Rows) -> tuple[Set, bool]:
    """Writes a set, whole or not at all; whether it is new.

    Raises:
      UserError: the folder cannot be written, or holds other rows under that name.
    """
    there, made = folder / "frozen" / name / VERSION, {"about": about, "sha256": content_hash(rows)}
    new = not there.exists()
    if new:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder, prefix=".frozen-") as private:
                new = _moved(_prepared(Path(private), name, description, made, rows), there)
        except OSError as e:
            raise UserError(f"The folder {folder} cannot be written ({one_line(e)}). Give another: --out=FOLDER.") from e
    (found,) = (each for each in sets(folder) if each.path == there)
    if found.sha256 != made["sha256"]:
        raise UserError(f"{there} holds other examples than the task draws today: move it away, or give another --out=FOLDER.")
    return found, new


def _prepared(folder: Path, name: str, description: str, metadata: dict[str, Any], rows: Rows) -> Path:
    """Writes a set where nobody looks; its folder."""
    config = tfds.core.BuilderConfig(name=name)
    with _silence():
        builder = Frozen(rows=rows, description=description, metadata=metadata, config=config, data_dir=folder)
        builder.download_and_prepare(file_format="array_record")
    return Path(builder.data_dir)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """TFDS prints what it does, draws bars, and warns of a configuration that its class does not list."""
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
