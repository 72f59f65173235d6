"""Real text that the running system carries, for studies where nothing can be downloaded.

Licences and notes of packages (/usr/share/doc), manual pages (/usr/share/man), what Python packages
say of themselves and the docstrings of the standard library; and the messages of programs with
their translations, pairs for an encoder–decoder. What there is differs from system to system:
Python's own part is always there, a slim image has no manual pages, and where no package brings
catalogues there are no pairs. It is written into a folder once and then stays as it is: a corpus
that changed with every upgrade would be another one in every run.
"""

import ast
import gzip
import hashlib
import os
import struct
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path

from pe_lab.runs.errors import UserError, one_line, unknown

ROOT = Path("/usr/share")
_SHORTEST, _LONGEST = 500, 60_000  # bytes of a document
_MOST = 3_000_000  # bytes of each kind
_WORDS = (".md", ".rst", ".txt", "METADATA", "NOTICE")


def text(data_dir: Path, root: Path = ROOT) -> Path:
    """The folder of documents, extracted unless it is there; at most 12 million bytes.

    Args:
      root: where the system keeps what its packages share.
    """
    kinds = {
        "notes": lambda: _files(sorted([*root.glob("common-licenses/*"), *root.glob("doc/*/*")])),
        "manuals": lambda: _files(sorted(root.glob("man/man*/*"))),
        "packages": lambda: _files(_of_packages()),
        "docstrings": _docstrings,
    }
    return _extracted(
        data_dir / "installed" / "text",
        lambda: ((k, name, t) for k, of in kinds.items() for name, t in _some(of())),
    )


def catalogues(language: str, data_dir: Path, root: Path = ROOT) -> Path:
    """The folder of messages in English and in a language, DOMAIN.en and DOMAIN.<language>,
    extracted unless it is there.

    Args:
      language: "de"; its regions ("de_CH") where there is nothing of the language itself.

    Raises:
      UserError: no catalogue of the language is installed.
    """
    files: dict[str, list[Path]] = {}
    for place in (root / "locale", root / "locale-langpack", Path(sysconfig.get_path("purelib"))):
        for file in sorted(place.glob("**/LC_MESSAGES/*.mo")):
            files.setdefault(file.parent.parent.name, []).append(file)
    regions = (found for code, found in files.items() if code.startswith(f"{language}_"))
    mine = files.get(language) or [file for found in regions for file in found]
    if not mine:
        raise unknown(
            f"This system's catalogues of messages ({root}/locale and Python's packages)",
            language,
            files,
        )

    def written() -> Iterator[tuple[str, str, bytes]]:
        for file in mine:
            pairs = sorted(_messages(file))
            name = f"{file.stem}-{file.parent.parent.name}"
            for ending, side in (("en", 0), (language, 1)):
                yield "", f"{name}.{ending}", "".join(pair[side] + "\n" for pair in pairs).encode()

    return _extracted(data_dir / "installed" / f"messages-{language}", written)


def _extracted(folder: Path, content: Callable[[], Iterable[tuple[str, str, bytes]]]) -> Path:
    """Writes (subfolder, name, bytes) into a folder of its own, which is then moved; nothing if it
    is there.
    """
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".extracting-") as private:
            for kind, name, data in content():
                file = Path(private) / "whole" / kind / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            os.rename(Path(private) / "whole", folder)
    except OSError as e:
        if not folder.is_dir():  # else another process was first
            raise UserError(
                f"The folder {folder} cannot be written ({one_line(e)}): data_dir=FOLDER names "
                f"another."
            ) from e
    return folder


def _some(found: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """As many documents as a kind may have, no two alike: of the longer ones the beginning, the
    very short ones not.
    """
    total, seen = 0, set()
    for name, content in found:
        whole = (
            content
            if len(content) <= _LONGEST
            else content[: content.rfind(b"\n", 0, _LONGEST) + 1]
        )
        if len(whole) < _SHORTEST or whole in seen or not _is_utf8(whole):
            continue
        seen.add(whole)
        total += len(whole)
        if total > _MOST:
            return
        yield name, whole


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _files(files: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Name and content of files, unpacked; in the order of a hash of their names, so that a part is
    of all sorts.
    """
    for file in sorted(set(files), key=lambda file: hashlib.sha256(str(file).encode()).digest()):
        try:
            if file.is_file() and not file.is_symlink():
                yield (
                    "_".join(file.parts[-3:]),
                    gzip.decompress(file.read_bytes())
                    if file.suffix == ".gz"
                    else file.read_bytes(),
                )
        except (OSError, EOFError, ValueError):  # another's broken file is no reason to stop
            continue


def _of_packages() -> Iterator[Path]:
    """What installed Python packages say in words."""
    for package in metadata.distributions():
        for file in package.files or ():
            if file.name.endswith(_WORDS) or file.name.startswith(("LICENSE", "COPYING", "README")):
                yield Path(str(file.locate()))


def _docstrings() -> Iterator[tuple[str, bytes]]:
    """The docstrings of each module of the standard library, one after the other."""
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        owners = (
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        )
        yield (
            f"{file.stem}.txt",
            "\n\n".join(filter(None, map(ast.get_docstring, owners))).encode("utf-8", "replace"),
        )


def _messages(file: Path) -> set[tuple[str, str]]:
    """Messages of one line with their translations, of a gettext catalogue (GNU's format of .mo
    files).
    """
    try:
        data = file.read_bytes()
        order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
        count, ours, theirs = struct.unpack_from(f"{order}3I", data, 8)

        def texts(table: int) -> list[list[str]]:
            entries = (struct.unpack_from(f"{order}2I", data, table + 8 * i) for i in range(count))
            return [
                data[start : start + size].decode("utf-8").split("\0") for size, start in entries
            ]

        both = [
            (o[0].rpartition("\4")[2].strip(), t[0].strip())
            for o, t in zip(texts(ours), texts(theirs), strict=True)
        ]
    except (OSError, ValueError, struct.error):  # damaged, or not UTF-8
        return set()
    return {(o, t) for o, t in both if o and t and len(o.splitlines()) == len(t.splitlines()) == 1}
