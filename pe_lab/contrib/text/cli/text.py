"""Prepares a corpus of text, and describes it.

    pe-lab text notes/         # a folder or a file
    pe-lab text wiki/ --named  # with parts named train, validation and test
    pe-lab text stories        # a prepared data set, or a generated one
    pe-lab text django==5.2 --hash=sha256:1a47… --include='docs/*.txt'

The last form downloads the source distribution of a package with pip, which checks the hash. A path
inside it, in which * matches a / too, selects files; --include may be repeated. Prints the name for
`dataset=` of language_model, and documents, bytes and an excerpt of each split. Exit status: 0, or
2 for an error.
"""

import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli._arguments import argument, file_path, flag, whole_number
from pe_lab.contrib.text import packages
from pe_lab.data import files, sources
from pe_lab.runs.errors import UserError
from pe_lab.runs.paths import user_path

_EXCERPT = 60  # bytes
# ./notes, notes/ or notes.txt. The name of a data set has a dot in its version alone.
_LIKE_A_PATH = re.compile(r"[./~].*|.*/|[^:]*\.\w+")


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab text`."""

    source: str = argument("a folder, a file, a data set, or NAME==VERSION of a package")
    named: bool = flag("the names of files and folders state the splits")
    field: str | None = flag("the name of the text in rows that have several", str, default=None)
    hash: str | None = flag("of a package's archive: sha256:…", str, default=None)
    include: Sequence[str] = flag("files of a package", str, default=(), repeated=True)
    longer_than: int = flag("count documents of more bytes", whole_number(0), default=2048)
    data_dir: Path = flag("the folder of data sets", file_path, default=Path(".cache/datasets"))


def run(options: Options) -> int:
    is_package = packages.is_requirement(options.source)
    if (options.hash or options.include) and not is_package:
        raise UserError("--hash and --include are of a package: NAME==VERSION.")
    path = Path(user_path(options.source))
    is_path = path.exists()
    if not is_package and _LIKE_A_PATH.fullmatch(options.source):
        sources.check_exists(path)
    if options.named and not (is_package or is_path):
        raise UserError("--named is of a folder: a data set has its own splits.")
    name = options.source
    fields = () if options.field is None else (options.field,)
    if is_package or is_path:
        fields = ()  # the prepared corpus has one
    if is_package:
        print(f"Downloading {options.source} …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            patterns = options.include or ("*",)
            packages.download(options.source, options.hash, patterns, Path(folder))
            name = _prepared(Path(folder), options)
    elif is_path:
        name = _prepared(path, options)
    _describe(name, fields, options)
    return 0


def _prepared(path: Path, options: Options) -> str:
    from pe_lab.data import text  # TFDS takes a second to import

    texts = sources.files_of(path) if path.is_dir() else [path]
    if options.field is not None and all(map(files.has_one_document, texts)):
        raise UserError(
            f"--field is of files NAME.jsonl and NAME.parquet, also compressed: {path} has none."
        )
    print("Reading the documents …", file=sys.stderr, flush=True)
    rows = sources.documents(path, options.field or "text", "named" if options.named else None)
    return text.prepare(rows, options.data_dir)


def _describe(name: str, fields: Sequence[str], options: Options) -> None:
    from pe_lab.data import made, text

    if name in made.HASHES:
        name = text.prepare_made(name, options.data_dir)
    splits = text.read(name, options.data_dir, fields)
    print(f"dataset={name!r}")
    for split, rows in splits.items():
        sizes = [len(document) for (document,) in rows]
        num_longer = sum(size > options.longer_than for size in sizes)
        excerpt = rows[len(rows) // 2][0][:_EXCERPT].decode("utf-8", "replace")
        print(
            f"{split}: {len(sizes):,} documents, {sum(sizes):,} bytes; {num_longer:,} documents "
            f"of more than {options.longer_than:,} bytes; {excerpt!r}"
        )
