"""Corpora of UTF-8 text as TFDS data sets, without TensorFlow.

    DATA_DIR/corpus/0123456789abcdef/1.0.0/    # array_record files of train, validation and test

The name of a corpus is a hash of its content. Tasks import this module late, since importing TFDS
takes a second.
"""

import contextlib
import hashlib
import importlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pe_lab.runs.errors import UserError, one_line, unknown

try:
    import tensorflow_datasets as tfds
except ModuleNotFoundError as e:
    raise UserError("Text needs tensorflow-datasets: pip install 'pe_lab[text]'.") from e

from pe_lab import parts
from pe_lab.data import builders, made
from pe_lab.data.sources import Row, Rows, by_hash

_AT_ONCE = 10_000  # examples per read
_CUT = 5  # percent of a set's training examples that replace a missing validation or test split


def prepare(rows: Rows, data_dir: Path) -> str:
    """Write a corpus unless it exists; return its name for `read`."""
    name = _hash(rows)
    destination = data_dir / "corpus" / name / builders.VERSION
    try:
        builders.write_once(rows, name, data_dir, destination)
    except (OSError, RuntimeError) as e:  # array_record raises the second for a full disk
        raise UserError(
            f"The folder {data_dir} cannot be written ({one_line(e)}): data_dir=FOLDER names "
            f"another."
        ) from e
    return f"corpus/{name}"


def prepare_made(name: str, data_dir: Path) -> str:
    """Write a corpus that code makes unless it exists; return its name for `read`.

    Args:
      name: a key of `made.HASHES`.

    Raises:
      UserError: the code makes another text than it should.
    """
    sha256 = made.HASHES[name]
    corpus = f"corpus/{sha256}"
    if (data_dir / corpus / builders.VERSION).exists():
        return corpus
    path = parts.module("data.made", name)
    assert path is not None  # each name of HASHES has its file
    module = importlib.import_module(path)
    groups: dict[bytes, list[Row]] = {}
    for row in module.rows():
        groups[next(iter(row.values()))] = [row]  # by its first text
    rows = by_hash(groups, f"The corpus {name}", "rows")
    if _hash(rows) != sha256:
        raise UserError(
            f"The corpus {name} has the hash {_hash(rows)}, not {sha256}: the code that makes it "
            f"has changed. Give another text another name."
        )
    return prepare(rows, data_dir)


def _hash(rows: Rows) -> str:
    digest = hashlib.sha256()
    for split in sorted(rows):
        for row in rows[split]:
            for name, text in sorted(row.items()):
                digest.update(f"{split} {name} {len(text)} ".encode() + text)
    return digest.hexdigest()[:16]


def read(
    name: str, data_dir: Path, features: Sequence[str] = (), max_bytes: int | None = None
) -> dict[str, list[tuple[bytes, ...]]]:
    """Return, for each split, the texts of every example of a prepared set, one per feature.

    A set without a validation or test split uses the end of its training split, a twentieth each.

    Args:
      name: the name in TFDS, "lm1b" or "wiki40b/en:1.3.0".
      features: the names of features; () for the only text feature, or the one called "text".
      max_bytes: no example is read behind so many bytes of a split.

    Raises:
      UserError: the set is missing, has no text, or is not stored as array_record.
    """
    try:
        tfds.core.naming.parse_builder_name_kwargs(name)
    except ValueError as e:
        raise UserError(
            f"{name!r} is not the name of a data set, such as lm1b or wiki40b/en:1.3.0."
        ) from e
    try:
        with _classes_of_tfds_alone():
            builder = tfds.core.read_only_builder.builder_from_files(name, data_dir=str(data_dir))
            available = dict(builder.info.features.items())
            slices = _slices(name, builder.info.splits)
            splits = builder.info.splits
            sizes = [splits[split_slice].num_examples for split_slice in slices.values()]
    except UserError:  # which is a ValueError, too
        raise
    except tfds.core.registered.DatasetNotFoundError as e:
        raise unknown(str(data_dir), name, [*made.HASHES, *names(data_dir)]) from e
    except Exception as e:  # a description of the set that is damaged
        raise UserError(f"{name!r} is no data set that can be read: {one_line(e)}") from e
    wanted_features = tuple(features) or _text_feature(name, available)
    texts = _texts(available)
    for feature in wanted_features:
        if feature not in texts:
            raise unknown(name, feature, texts)
    for split_slice, size in zip(slices.values(), sizes, strict=True):
        if not size:
            raise UserError(
                f"{name} has nothing in {split_slice}: train, validation and test need one example "
                f"each at least."
            )
    try:
        examples: dict[str, list[tuple[bytes, ...]]] = {}
        for split, split_slice in slices.items():
            source = builder.as_data_source(split=split_slice)
            size = 0
            examples[split] = []
            for row in _all(source):
                if max_bytes is not None and size >= max_bytes:
                    break
                texts_of_row = tuple(row[feature] for feature in wanted_features)
                size += sum(map(len, texts_of_row))
                examples[split].append(texts_of_row)
        return examples
    except Exception as e:  # TFDS raises many types for formats that it cannot read
        raise _unreadable(name, e) from e


def _unreadable(name: str, error: Exception) -> UserError:
    advice = "prepare it with file_format='array_record'"
    if name.startswith("corpus/"):  # `prepare` wrote it so: it is damaged
        advice = "remove its folder, and prepare the text again"
    return UserError(f"{name} cannot be read without TensorFlow ({one_line(error)}): {advice}.")


_class_from_name = tfds.features.FeatureConnector.cls_from_name


@contextlib.contextmanager
def _classes_of_tfds_alone() -> Iterator[None]:
    """Within it, TFDS reads no set that has a feature of another package's class."""
    connector: Any = tfds.features.FeatureConnector
    before = vars(connector)["cls_from_name"]
    connector.cls_from_name = _class_of_tfds
    try:
        yield
    finally:
        connector.cls_from_name = before


def _class_of_tfds(name: str) -> type[tfds.features.FeatureConnector]:
    """Return the class that a file of a set names for a feature.

    TFDS itself imports the module of any name, from features.json and from dataset_info.json.

    Raises:
      UserError: it is not a class of TFDS.
    """
    if not name.startswith("tensorflow_datasets."):
        raise UserError(
            f"The set has a feature of the class {name}, which is not of tensorflow_datasets: "
            f"reading a set imports no other code."
        )
    return _class_from_name(name)


def _all(source) -> Iterator[Mapping[str, bytes]]:
    """Yield the examples of a source in order, reading many at once."""
    for first in range(0, len(source), _AT_ONCE):
        indices = range(first, min(first + _AT_ONCE, len(source)))
        yield from source.__getitems__(list(indices))


def names(data_dir: Path) -> list[str]:
    """Return the names of the prepared sets of a folder."""
    return sorted(
        str(file.parent.parent.relative_to(data_dir))
        for file in data_dir.glob("[!.]*/**/dataset_info.json")
    )


def _texts(features: Mapping[str, tfds.features.FeatureConnector]) -> list[str]:
    """Return the names of the text features."""
    texts = [name for name, kind in features.items() if isinstance(kind, tfds.features.Text)]
    return sorted(texts)


def _text_feature(name: str, features: Mapping[str, tfds.features.FeatureConnector]) -> tuple[str]:
    texts = _texts(features)
    if "text" not in texts and len(texts) != 1:
        raise UserError(
            f"{name} needs one feature of text, or one called 'text'; it has: "
            f"{', '.join(texts) or 'none'}."
        )
    return ("text" if "text" in texts else texts[0],)


def _slices(name: str, splits: Collection[str]) -> dict[str, str]:
    """Map each split to its slice of a set with these splits, in the syntax of TFDS."""
    if "train" not in splits:
        raise unknown(name, "train", splits)
    slices = {}
    end = 100  # percent of the training split
    for split in ("validation", "test"):
        if split in splits:
            slices[split] = split
        else:
            slices[split] = f"train[{end - _CUT}%:{end}%]"
            end -= _CUT
    return {"train": f"train[:{end}%]", **slices}
