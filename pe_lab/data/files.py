"""Documents of files of text: plain, lines of JSON, or Parquet; compressed with gzip or Zstandard.

notes.txt  notes.txt.gz  notes.txt.zst    # one document
web.jsonl  web.jsonl.zst  web.parquet     # a document for each line or row
"""

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pe_lab.runs.errors import UserError, one_line

_COMPRESSIONS = (".gz", ".zst")
# Of a compressed text: text has a fifth of its bytes when it is compressed, and a file of zeros a
# thousandth. Small files may be anything.
_MOST_GROWTH = 100
_SMALL = 100_000_000  # bytes


def documents(file: Path, field: str = "text") -> Iterator[bytes]:
    """Yield the documents of a file.

    Args:
      field: the name of the text in a line of JSON or in a row of Parquet.

    Raises:
      UserError: the file cannot be read, is not UTF-8, or has a line or row without this text.
    """
    kind = _kind(file)
    if kind == ".parquet":
        texts = _of_rows(file, field)
    elif kind == ".jsonl":
        texts = _of_lines(file, field)
    else:
        yield utf8(file)
        return
    size = 0
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise UserError(f"The text {file} has no text {field!r} in its line or row {number}.")
        document = text.encode()
        size += len(document)
        if kind == ".parquet":  # whose values are compressed
            _check_growth(size, file)
        yield document


def has_one_document(file: Path) -> bool:
    """Whether the whole file is one document."""
    return _kind(file) not in (".jsonl", ".parquet")


def is_plain(file: Path) -> bool:
    """Whether the bytes of the file are its text."""
    return file.suffix not in _COMPRESSIONS and has_one_document(file)


def utf8(file: Path) -> bytes:
    """Return the bytes of a UTF-8 file, decompressed.

    Raises:
      UserError: the file cannot be read, or is not UTF-8.
    """
    try:
        is_compressed = file.suffix in _COMPRESSIONS
        content = _decompressed(file) if is_compressed else file.read_bytes()
    except OSError as e:
        raise UserError(f"The text {file} cannot be read ({one_line(e)}).") from e
    check_utf8([content], file)
    return content


def check_utf8(blocks: Iterable[Any], file: Path) -> None:
    """Raise a UserError unless the blocks of a file, one after the other, are UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    start = end = 0  # of the bytes that are not decoded yet
    try:
        for block in blocks:
            decoder.decode(bytes(block))
            end += memoryview(block).nbytes
            unfinished, _ = decoder.getstate()
            start = end - len(unfinished)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as e:
        where = f"invalid byte at offset {start + e.start}"
        raise UserError(f"The text {file} is not valid UTF-8 ({where}).") from e


def _kind(file: Path) -> str:
    """Return the suffix of a file without its compression."""
    inner = file.with_suffix("") if file.suffix in _COMPRESSIONS else file
    return inner.suffix


def _decompressed(file: Path) -> bytes:
    import pyarrow  # TFDS needs it

    with pyarrow.input_stream(str(file)) as stream:  # the suffix names the compression
        content: bytes = stream.read(_most_bytes(file) + 1)
    _check_growth(len(content), file)
    return content


def _most_bytes(file: Path) -> int:
    """Return how many bytes a compressed file may have: a few kilobytes can hold gigabytes."""
    return max(_SMALL, _MOST_GROWTH * file.stat().st_size)


def _check_growth(size: int, file: Path) -> None:
    if size > _most_bytes(file):
        raise UserError(
            f"The text {file} has more than {_most_bytes(file):,} bytes when it is decompressed, "
            f"{_MOST_GROWTH} times its own: decompress it, and name the plain file."
        )


def _of_lines(file: Path, field: str) -> Iterator[object]:
    for number, line in enumerate(utf8(file).splitlines(), start=1):
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as e:
            raise UserError(f"Line {number} of {file} is not JSON ({one_line(e)}).") from e
        yield row.get(field) if isinstance(row, dict) else None


def _of_rows(file: Path, field: str) -> Iterator[object]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(file) as rows:
            for batch in rows.iter_batches(columns=[field]):
                yield from batch.column(field).to_pylist()
    # A UnicodeDecodeError: Parquet does not check that its texts are UTF-8.
    except (OSError, KeyError, UnicodeDecodeError, pyarrow.ArrowException) as e:
        raise UserError(f"The text {file} cannot be read ({one_line(e)}).") from e
