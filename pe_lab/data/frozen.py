"""Frozen evaluation examples: data sets of TFDS that any program can read, with a hash of their
content.

    FOLDER/frozen/copy-0123456789ab/2.0.0/    # array_record files, features.json, metadata.json

A set is written whole and never changed.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

from pe_lab.data import builders
from pe_lab.data.builders import Row, Rows
from pe_lab.runs.errors import UserError, one_line

VERSION = "2.0.0"  # since 2.0.0 training does not draw the inputs of evaluation


class Frozen(builders.RowsBuilder):
    """The data set of given rows. Of an array the first axis may differ from row to row.

    Args:
      rows: names to arrays, or to rows.
      description: for whoever finds it.
      metadata: stored beside it, in JSON.
    """

    VERSION = tfds.core.Version(VERSION)

    def __init__(self, *, description: str, metadata: dict[str, Any], **kwargs: Any):
        self.described, self.metadata_ = description, metadata
        super().__init__(**kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        first = next(row for rows in self.rows.values() for row in rows)
        return builders.Info(
            builder=self,
            description=self.described,
            features=_features(first),
            metadata=tfds.core.MetadataDict(self.metadata_),
            disable_shuffling=True,  # in the order of their index
        )


def _features(row: Row) -> tfds.features.FeaturesDict:
    def of(value: Any) -> Any:
        if isinstance(value, Mapping):
            return _features(value)
        return tfds.features.Tensor(
            shape=(None, *value.shape[1:]) if value.ndim else (), dtype=value.dtype.type
        )

    return tfds.features.FeaturesDict({name: of(value) for name, value in row.items()})


def content_hash(rows: Rows) -> str:
    """sha256 over all rows in their order: split, names, shapes, and values as whole numbers of
    eight bytes.
    """
    digest = hashlib.sha256()
    for split in sorted(rows):
        for row in rows[split]:
            for name, value in _leaves(row):
                digest.update(
                    f"{split} {name} {value.shape} ".encode() + value.astype("<i8").tobytes()
                )
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
        return _read(self.path, self.sha256)


def _read(path: Path, sha256: str) -> Rows:
    try:
        source = tfds.builder_from_directory(path).as_data_source()
        rows = {split: list(found) for split, found in source.items()}
        sound = content_hash(rows) == sha256
    except Exception as e:  # of whatever reads what is no data set any more
        raise _damaged(path, f"they cannot be read: {one_line(e)}") from e
    if not sound:
        raise _damaged(path, "they do not match their hash")
    return rows


def _damaged(path: Path, why: str) -> UserError:
    return UserError(
        f"The frozen examples in {path} are damaged ({why}): remove that folder and freeze them "
        f"again."
    )


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
            raise _damaged(path.parent, f"their description cannot be read: {one_line(e)}") from e
    return found


def write(
    folder: Path,
    name: str,
    about: dict[str, Any],
    description: str,
    rows: Rows,
    symbols: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Set, bool]:
    """Writes a set, whole or not at all; whether it is new. One that is there is checked.

    Args:
      symbols: of prompt and target, how a reader writes them; for whoever reads the set.

    Raises:
      UserError: the folder cannot be written, or holds other rows under that name, or damaged ones.
    """
    there, made = (
        folder / "frozen" / name / VERSION,
        {"about": about, "sha256": content_hash(rows), "symbols": symbols},
    )
    make = functools.partial(Frozen, rows=rows, description=description, metadata=made)
    try:
        new = builders.write_once(make, name, folder, there)
    except OSError as e:
        raise UserError(
            f"The folder {folder} cannot be written ({one_line(e)}). Give another: --out=FOLDER."
        ) from e
    (found,) = (each for each in sets(folder) if each.path == there)
    if found.sha256 != made["sha256"]:
        raise UserError(
            f"{there} holds other examples than the task draws today: move it away, or give "
            f"another --out=FOLDER."
        )
    if not new:
        _read(found.path, found.sha256)
    return found, new
