"""Frozen evaluation examples: TFDS data sets for any program, with a hash of their content.

    FOLDER/frozen/copy-0123456789ab/2.0.0/    # array_record files, features.json, metadata.json

A set is written atomically and never changed.
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

# Since 2.0.0 the training data exclude the evaluation inputs.
VERSION = "2.0.0"


class Frozen(builders.RowsBuilder):
    """The data set of given rows. The first axis of an array may differ between rows.

    Args:
      rows: rows with names -> arrays, or names -> rows.
      description: a description for readers of the data set.
      metadata: stored with the data set, as JSON.
    """

    VERSION = tfds.core.Version(VERSION)

    def __init__(self, *, description: str, metadata: Mapping[str, object], **kwargs):
        self._description = description
        self._metadata = dict(metadata)
        super().__init__(**kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        first = next(row for rows in self.rows.values() for row in rows)
        return builders.Info(
            builder=self,
            description=self._description,
            features=_features(first),
            metadata=tfds.core.MetadataDict(self._metadata),
            disable_shuffling=True,  # keeps the order of the rows
        )


def _features(row: Row) -> tfds.features.FeaturesDict:
    features = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            features[name] = _features(value)
        else:
            # The first axis may differ between rows.
            shape = (None, *value.shape[1:]) if value.ndim else ()
            dtype = value.dtype.type
            features[name] = tfds.features.Tensor(shape=shape, dtype=dtype)
    return tfds.features.FeaturesDict(features)


def content_hash(rows: Rows) -> str:
    """Return the sha256 of all rows in order: split, names, shapes, and values as int64."""
    digest = hashlib.sha256()
    for split in sorted(rows):
        for row in rows[split]:
            for name, value in _leaves(row):
                # Names and shapes too, so that no two sets give the same bytes.
                heading = f"{split} {name} {value.shape} "
                values = value.astype("<i8")  # equal bytes on every machine
                digest.update(heading.encode())
                digest.update(values.tobytes())
    return digest.hexdigest()


def _leaves(row: Row, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    for name in sorted(row):
        value = row[name]
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}/")
        else:
            yield prefix + name, np.asarray(value)


@dataclasses.dataclass(frozen=True)
class Set:
    """A frozen set on disk; its rows are read on first use."""

    path: Path
    about: dict[str, Any]
    sha256: str

    @property
    def version(self) -> str:
        return self.path.name

    @functools.cached_property
    def rows(self) -> Rows:
        """The rows, verified against the hash.

        Raises:
          UserError: the rows are damaged.
        """
        return _read(self.path, self.sha256)


def _read(path: Path, sha256: str) -> Rows:
    try:
        source = tfds.builder_from_directory(path).as_data_source()
        rows = {split: list(examples) for split, examples in source.items()}
        is_valid = content_hash(rows) == sha256
    except Exception as e:  # TFDS and its readers raise many types for damaged files
        raise _damaged(path, f"they cannot be read: {one_line(e)}") from e
    if not is_valid:
        raise _damaged(path, "they do not match their hash")
    return rows


def _damaged(path: Path, why: str) -> UserError:
    return UserError(
        f"The frozen examples in {path} are damaged ({why}): remove that folder and freeze them "
        f"again."
    )


def sets(folder: Path) -> list[Set]:
    """Return the frozen sets of a folder, of every version.

    Raises:
      UserError: a set has no readable description.
    """
    frozen_sets = []
    for path in sorted(folder.glob("frozen/*/*/metadata.json")):
        try:
            metadata = json.loads(path.read_text(encoding="utf-8"))
            frozen_set = Set(path.parent, metadata["about"], metadata["sha256"])
            frozen_sets.append(frozen_set)
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise _damaged(path.parent, f"their description cannot be read: {one_line(e)}") from e
    return frozen_sets


def write(
    folder: Path,
    name: str,
    about: dict[str, Any],
    description: str,
    rows: Rows,
    symbols: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Set, bool]:
    """Write a set atomically, or verify an existing one; return it and whether it is new.

    Args:
      symbols: the names of prompt and target symbols, for readers of the set.

    Raises:
      UserError: the folder cannot be written, or has other or damaged rows under this name.
    """
    destination = folder / "frozen" / name / VERSION
    sha256 = content_hash(rows)
    metadata = {"about": about, "sha256": sha256, "symbols": symbols}
    make = functools.partial(Frozen, rows=rows, description=description, metadata=metadata)
    try:
        is_new = builders.write_once(make, name, folder, destination)
    except OSError as e:
        raise UserError(
            f"The folder {folder} cannot be written ({one_line(e)}). Give another: --out=FOLDER."
        ) from e
    result = next(frozen_set for frozen_set in sets(folder) if frozen_set.path == destination)
    if result.sha256 != sha256:
        raise UserError(
            f"{destination} holds other examples than the task draws today: move it away, or give "
            f"another --out=FOLDER."
        )
    if not is_new:
        _read(result.path, result.sha256)
    return result, is_new
