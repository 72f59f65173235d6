"""Corpora of UTF-8 text as data sets of TFDS, without TensorFlow.

    DATA_DIR/corpus/0123456789abcdef/1.0.0/    # array_record files of train, validation and test

A corpus is named by a hash of its content. TFDS takes a second to import: tasks import this late.
"""

import functools
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from pe_lab.data import builders
from pe_lab.data.builders import Row, Rows
from pe_lab.runs.errors import UserError, one_line, unknown

_HELD_OUT = 10  # percent of a corpus that each of validation and test gets
_AT_ONCE = 10_000  # examples that are read together
_CUT = 5  # percent of a foreign set's training that a split gets which it lacks


class Corpus(builders.RowsBuilder):
    """The data set of given rows of text."""

    def _info(self) -> tfds.core.DatasetInfo:
        features = tfds.features.FeaturesDict(
            {name: tfds.features.Text() for name in self.rows["train"][0]}
        )
        return builders.Info(builder=self, features=features, disable_shuffling=True)


def documents(path: Path) -> Rows:
    """Rows {"text"} of a folder, whose files are the documents, or of one file, cut at 80 and 90
    percent.

    A folder's documents fall into splits by the hash of their content; equal ones are taken once,
    empty and hidden files not at all.

    Raises:
      UserError: nothing is there, something is not UTF-8, or there is too little for three splits.
    """
    if path.is_file():
        return _cut(path)
    if not path.is_dir():
        raise UserError(f"There is no file or folder of text at {path}.")
    inside = (
        file
        for file in sorted(path.rglob("*"))
        if not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    found = [text for file in inside if file.is_file() and (text := _utf8(file)).strip()]
    if not found:
        raise UserError(f"The folder {path} holds no text.")
    return _by_hash({text: [{"text": text}] for text in found}, f"The folder {path}", "documents")


def pairs(source: str, target: str, folder: Path | None = None) -> Rows:
    """Rows {"source", "target"} of the lines of two files; with a folder, of its files NAME.source
    and NAME.target.

    Pairs fall into splits by the hash of their source; equal ones are taken once, those with an
    empty side not at all.

    Raises:
      UserError: files are missing, not UTF-8 or not of equal length, or there is too little for
        three splits.
    """
    groups: dict[bytes, list[Row]] = {}
    for left, right in (
        [(Path(source), Path(target))] if folder is None else _beside(folder, source, target)
    ):
        ours, theirs = (_utf8(file).splitlines() for file in (left, right))
        if len(ours) != len(theirs):
            raise UserError(
                f"{left} has {len(ours)} lines and {right} has {len(theirs)}: aligned files have "
                f"equally many."
            )
        for pair in zip(ours, theirs, strict=True):
            row, group = (
                dict(zip(("source", "target"), pair, strict=True)),
                groups.setdefault(pair[0], []),
            )
            if all(side.strip() for side in pair) and row not in group:
                group.append(row)
    where = f"{source} and {target}" if folder is None else f"The folder {folder}"
    return _by_hash({key: group for key, group in groups.items() if group}, where, "pairs")


def _beside(folder: Path, source: str, target: str) -> list[tuple[Path, Path]]:
    """The files of a folder that belong together."""
    lefts = sorted(folder.rglob(f"*.{source}"))
    found = [(left, left.with_name(left.name.removesuffix(source) + target)) for left in lefts]
    if not found:
        raise UserError(f"The folder {folder} holds no files NAME.{source} and NAME.{target}.")
    return found


def _utf8(file: Path) -> bytes:
    """The bytes of a file of text."""
    try:
        content = file.read_bytes()
        content.decode("utf-8")
    except OSError as e:
        raise UserError(f"The text {file} cannot be read ({one_line(e)}).") from e
    except UnicodeDecodeError as e:
        raise UserError(
            f"The text {file} is not UTF-8: its byte {e.start} starts no character."
        ) from e
    return content


def _cut(file: Path) -> Rows:
    """One file, cut by place, between characters."""
    text = _utf8(file)
    ends = []
    for percent in (100 - 2 * _HELD_OUT, 100 - _HELD_OUT, 100):
        end = len(text) * percent // 100
        while end < len(text) and text[end] & 0xC0 == 0x80:  # inside a character
            end += 1
        ends.append(end)
    parts = {
        split: text[a:b]
        for split, a, b in zip(("train", "validation", "test"), [0, *ends], ends, strict=False)
    }
    if not all(parts.values()):
        raise UserError(
            f"The text {file} is too short for train, validation and test: it has {len(text)} "
            f"bytes."
        )
    return {split: [{"text": part}] for split, part in parts.items()}


def _by_hash(groups: Mapping[bytes, Sequence[Row]], where: str, unit: str) -> Rows:
    """Groups of rows in the order of the hash of their key; the first tenths are held out."""
    if len(groups) < 3:
        raise UserError(
            f"{where} has {len(groups)} different {unit}: train, validation and test need at "
            f"least one each."
        )
    order = sorted(groups, key=lambda key: hashlib.sha256(key).digest())
    held = max(1, len(order) * _HELD_OUT // 100)
    keys = {"train": order[2 * held :], "validation": order[held : 2 * held], "test": order[:held]}
    return {
        split: [row for key in of_split for row in groups[key]] for split, of_split in keys.items()
    }


def prepare(rows: Rows, data_dir: Path) -> str:
    """Writes a corpus unless it is there; the name that `read` takes."""
    name = _hash(rows)
    try:
        builders.write_once(
            functools.partial(Corpus, rows=rows),
            name,
            data_dir,
            data_dir / "corpus" / name / builders.VERSION,
        )
    except OSError as e:
        raise UserError(
            f"The folder {data_dir} cannot be written ({one_line(e)}): data_dir=FOLDER names "
            f"another."
        ) from e
    return f"corpus/{name}"


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
    """Split -> the texts of every example of a prepared set, one for each feature.

    A set without validation or test gives the end of its training for them, a twentieth each.

    Args:
      name: as TFDS writes it, "lm1b" or "wiki40b/en:1.3.0".
      features: (): the one that holds text, or is called "text".

    Raises:
      UserError: it is not there, not of text, or not stored as array_record.
    """
    try:
        builder = tfds.core.read_only_builder.builder_from_files(name, data_dir=str(data_dir))
    except tfds.core.registered.DatasetNotFoundError as e:
        raise unknown(str(data_dir), name, names(data_dir)) from e
    has = dict(builder.info.features.items())
    asked = tuple(features) or _text_feature(name, has)
    if missing := [
        feature for feature in asked if not isinstance(has.get(feature), tfds.features.Text)
    ]:
        raise unknown(name, missing[0], _texts(has))
    slices = _slices(name, builder.info.splits)
    if empty := [which for which in slices.values() if not builder.info.splits[which].num_examples]:
        raise UserError(
            f"{name} has nothing in {empty[0]}: train, validation and test need one example each "
            f"at least."
        )
    try:
        sources = {split: builder.as_data_source(split=which) for split, which in slices.items()}
        return {
            split: [tuple(example[f] for f in asked) for example in _all(source)]
            for split, source in sources.items()
        }
    except Exception as e:  # TFDS raises what it likes for a format that it cannot read
        raise UserError(
            f"{name} cannot be read without TensorFlow ({one_line(e)}): prepare it with "
            f"file_format='array_record'."
        ) from e


def _all(source: Any) -> Iterator[Mapping[str, bytes]]:
    """The examples of a source, in its order; asked for one by one each would be a read of its
    own.
    """
    for first in range(0, len(source), _AT_ONCE):
        yield from source.__getitems__(list(range(first, min(first + _AT_ONCE, len(source)))))


def names(data_dir: Path) -> list[str]:
    """The prepared sets of a folder."""
    return sorted(
        str(file.parent.parent.relative_to(data_dir))
        for file in data_dir.glob("[!.]*/**/dataset_info.json")
    )


def _texts(features: Mapping[str, Any]) -> list[str]:
    return sorted(
        feature for feature, kind in features.items() if isinstance(kind, tfds.features.Text)
    )


def _text_feature(name: str, features: Mapping[str, Any]) -> tuple[str]:
    texts = _texts(features)
    if "text" not in texts and len(texts) != 1:
        raise UserError(
            f"{name} needs one feature of text, or one called 'text'; it has: "
            f"{', '.join(texts) or 'none'}."
        )
    return ("text" if "text" in texts else texts[0],)


def _slices(name: str, has: Collection[str]) -> dict[str, str]:
    """Split -> what TFDS calls it."""
    if "train" not in has:
        raise unknown(name, "train", has)
    slices, end = {split: split for split in ("validation", "test")}, 100
    for split in [s for s in slices if s not in has]:
        slices[split], end = f"train[{end - _CUT}%:{end}%]", end - _CUT
    return {"train": f"train[:{end}%]", **slices}
