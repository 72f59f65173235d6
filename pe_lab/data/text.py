"""Corpora of UTF-8 text as TFDS data sets, without TensorFlow.

    DATA_DIR/corpus/0123456789abcdef/1.0.0/    # array_record files of train, validation and test

The name of a corpus is a hash of its content. Tasks import this module late, since importing TFDS
takes a second.
"""

import hashlib
import importlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import tensorflow_datasets as tfds

from pe_lab.data import builders, made
from pe_lab.data.builders import Row, Rows
from pe_lab.runs.errors import UserError, one_line, unknown

_HELD_OUT = 10  # percent of a corpus that each of validation and test gets
_AT_ONCE = 10_000  # examples per read
_CUT = 5  # percent of a set's training examples that replace a missing validation or test split


def documents(path: Path) -> Rows:
    """Return the rows {"text"} of a folder or a file.

    The files of a folder are its documents. They are assigned to splits by the hash of their
    content, without duplicates, empty files and hidden files. A single file is cut at 80 and 90
    percent.

    Raises:
      UserError: there is no text, it is not UTF-8, or it is too short for three splits.
    """
    if path.is_file():
        return _cut(path)
    if not path.is_dir():
        raise UserError(f"There is no file or folder of text at {path}.")
    groups: dict[bytes, list[Row]] = {}  # by text, so that duplicates count once
    for file in sorted(path.rglob("*")):
        parts = file.relative_to(path).parts
        is_hidden = any(part.startswith(".") for part in parts)
        if is_hidden or not file.is_file():
            continue
        text = _utf8(file)
        if text.strip():
            groups[text] = [{"text": text}]
    if not groups:
        raise UserError(f"The folder {path} holds no text.")
    return _by_hash(groups, f"The folder {path}", "documents")


def pairs(source: str, target: str, folder: Path | None = None) -> Rows:
    """Return the rows {"source", "target"} of the lines of two files, or of the files of a folder.

    In a folder, lines of NAME.source belong to lines of NAME.target. Pairs are assigned to splits
    by the hash of their source, without duplicates and pairs with an empty side.

    Raises:
      UserError: files are missing, not UTF-8, not of equal length, or too short for three splits.
    """
    files = [(Path(source), Path(target))]
    if folder is not None:
        files = _matching_files(folder, source, target)
    groups: dict[bytes, list[Row]] = {}
    for source_file, target_file in files:
        source_lines = _utf8(source_file).splitlines()
        target_lines = _utf8(target_file).splitlines()
        if len(source_lines) != len(target_lines):
            raise UserError(
                f"{source_file} has {len(source_lines)} lines and {target_file} has "
                f"{len(target_lines)}: aligned files have equally many."
            )
        for source_line, target_line in zip(source_lines, target_lines, strict=True):
            if not source_line.strip() or not target_line.strip():
                continue
            row = {"source": source_line, "target": target_line}
            # Translations of equal lines belong to the same split.
            group = groups.setdefault(source_line, [])
            if row not in group:
                group.append(row)
    description = f"{source} and {target}" if folder is None else f"The folder {folder}"
    return _by_hash(groups, description, "pairs")


def _matching_files(folder: Path, source: str, target: str) -> list[tuple[Path, Path]]:
    """Return the pairs of files NAME.source and NAME.target of a folder."""
    source_files = sorted(folder.rglob(f"*.{source}"))
    if not source_files:
        raise UserError(f"The folder {folder} holds no files NAME.{source} and NAME.{target}.")
    pairs = []
    for file in source_files:
        name = file.name.removesuffix(source) + target
        pairs.append((file, file.with_name(name)))
    return pairs


def _utf8(file: Path) -> bytes:
    """Return the bytes of a UTF-8 file."""
    try:
        content = file.read_bytes()
        content.decode("utf-8")
    except OSError as e:
        raise UserError(f"The text {file} cannot be read ({one_line(e)}).") from e
    except UnicodeDecodeError as e:
        where = f"invalid byte at offset {e.start}"
        raise UserError(f"The text {file} is not valid UTF-8 ({where}).") from e
    return content


def _cut(file: Path) -> Rows:
    """Cut a file into splits, between characters."""
    text = _utf8(file)
    percents = {"train": 100 - 2 * _HELD_OUT, "validation": 100 - _HELD_OUT, "test": 100}
    parts = {}
    start = 0
    for split, percent in percents.items():
        end = len(text) * percent // 100
        while end < len(text) and text[end] & 0xC0 == 0x80:  # a continuation byte
            end += 1
        parts[split] = text[start:end]
        start = end
    if not all(parts.values()):
        raise UserError(
            f"The text {file} is too short for train, validation and test: it has {len(text)} "
            f"bytes."
        )
    return {split: [{"text": part}] for split, part in parts.items()}


def _by_hash(groups: Mapping[bytes, Sequence[Row]], where: str, unit: str) -> Rows:
    """Split groups of rows by the hash of their keys; the first tenths are held out."""
    if len(groups) < 3:
        count = f"{where} has {len(groups)} different {unit}"
        raise UserError(f"{count}: train, validation and test need at least one each.")
    # The hash makes the split independent of file names and of the order of files.
    order = sorted(groups, key=lambda key: hashlib.sha256(key).digest())
    num_held_out = max(1, len(order) * _HELD_OUT // 100)
    keys = {
        "train": order[2 * num_held_out :],
        "validation": order[num_held_out : 2 * num_held_out],
        "test": order[:num_held_out],
    }
    splits = {}
    for split, split_keys in keys.items():
        splits[split] = [row for key in split_keys for row in groups[key]]
    return splits


def prepare(rows: Rows, data_dir: Path) -> str:
    """Write a corpus unless it exists; return its name for `read`."""
    name = _hash(rows)
    destination = data_dir / "corpus" / name / builders.VERSION
    try:
        builders.write_once(rows, name, data_dir, destination)
    except OSError as e:
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
    module = importlib.import_module(f"pe_lab.data.made.{name}")
    groups: dict[bytes, list[Row]] = {}
    for row in module.rows():
        groups[next(iter(row.values()))] = [row]  # by its first text
    rows = _by_hash(groups, f"The corpus {name}", "rows")
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
    name: str, data_dir: Path, features: Sequence[str] = ()
) -> dict[str, list[tuple[bytes, ...]]]:
    """Return, for each split, the texts of every example of a prepared set, one per feature.

    A set without a validation or test split uses the end of its training split, a twentieth each.

    Args:
      name: the name in TFDS, "lm1b" or "wiki40b/en:1.3.0".
      features: the names of features; () for the only text feature, or the one called "text".

    Raises:
      UserError: the set is missing, has no text, or is not stored as array_record.
    """
    try:
        builder = tfds.core.read_only_builder.builder_from_files(name, data_dir=str(data_dir))
    except tfds.core.registered.DatasetNotFoundError as e:
        raise unknown(str(data_dir), name, [*made.HASHES, *names(data_dir)]) from e
    except ValueError as e:
        raise UserError(f"{name!r} is no name of a data set: {one_line(e)}") from e
    available = dict(builder.info.features.items())
    wanted_features = tuple(features) or _text_feature(name, available)
    texts = _texts(available)
    for feature in wanted_features:
        if feature not in texts:
            raise unknown(name, feature, texts)
    slices = _slices(name, builder.info.splits)
    for split_slice in slices.values():
        if not builder.info.splits[split_slice].num_examples:
            raise UserError(
                f"{name} has nothing in {split_slice}: train, validation and test need one example "
                f"each at least."
            )
    try:
        examples = {}
        for split, split_slice in slices.items():
            source = builder.as_data_source(split=split_slice)
            rows = _all(source)
            examples[split] = [tuple(row[feature] for feature in wanted_features) for row in rows]
        return examples
    except Exception as e:  # TFDS raises many types for formats that it cannot read
        raise UserError(
            f"{name} cannot be read without TensorFlow ({one_line(e)}): prepare it with "
            f"file_format='array_record'."
        ) from e


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
