"""Text of the operating system, for studies without downloads.

Documents are licenses and notes of packages (/usr/share/doc), manual pages (/usr/share/man),
documentation of Python packages and the docstrings of the standard library. Pairs of lines are the
messages of programs with their translations. The content differs between systems: Python's part
always exists, a slim image has no manual pages, and without message catalogues there are no pairs.
The text is written into a folder once and then stays the same, so that a system upgrade does not
change the corpus.
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
_DOCUMENTATION = (".md", ".rst", ".txt", "METADATA", "NOTICE")


def text(data_dir: Path, root: Path = ROOT) -> Path:
    """Return the folder of documents (at most 12 million bytes), written on the first call.

    Args:
      root: the system's folder of shared files.
    """
    kinds = {
        "notes": lambda: _files(sorted([*root.glob("common-licenses/*"), *root.glob("doc/*/*")])),
        "manuals": lambda: _files(sorted(root.glob("man/man*/*"))),
        "packages": lambda: _files(_of_packages()),
        "docstrings": _docstrings,
    }

    def documents() -> Iterator[tuple[str, str, bytes]]:
        for kind, files in kinds.items():
            for name, content in _some(files()):
                yield kind, name, content

    return _extracted(data_dir / "installed" / "text", documents)


def catalogues(language: str, data_dir: Path, root: Path = ROOT) -> Path:
    """Return the folder of messages in English and another language, written on the first call.

    The files are DOMAIN.en and DOMAIN.<language>.

    Args:
      language: for example "de"; its regions ("de_CH") are used if the language itself has none.

    Raises:
      UserError: no catalogue of the language is installed.
    """
    files: dict[str, list[Path]] = {}
    places = (root / "locale", root / "locale-langpack", Path(sysconfig.get_path("purelib")))
    for place in places:
        for file in sorted(place.glob("**/LC_MESSAGES/*.mo")):
            files.setdefault(file.parent.parent.name, []).append(file)
    catalogue_files = files.get(language, [])
    if not catalogue_files:
        for code, regional_files in files.items():
            if code.startswith(f"{language}_"):
                catalogue_files = catalogue_files + regional_files
    if not catalogue_files:
        raise unknown(
            f"This system's catalogues of messages ({root}/locale and Python's packages)",
            language,
            files,
        )

    def messages() -> Iterator[tuple[str, str, bytes]]:
        for file in catalogue_files:
            pairs = sorted(_messages(file))
            name = f"{file.stem}-{file.parent.parent.name}"
            for ending, side in (("en", 0), (language, 1)):
                lines = "".join(pair[side] + "\n" for pair in pairs)
                yield "", f"{name}.{ending}", lines.encode()

    return _extracted(data_dir / "installed" / f"messages-{language}", messages)


def _extracted(folder: Path, content: Callable[[], Iterable[tuple[str, str, bytes]]]) -> Path:
    """Write (subfolder, name, bytes) into a folder atomically, unless it exists."""
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".extracting-") as private:
            for kind, name, data in content():
                file = Path(private) / "content" / kind / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            os.rename(Path(private) / "content", folder)
    except OSError as e:
        if not folder.is_dir():  # otherwise another process was first
            raise UserError(
                f"The folder {folder} cannot be written ({one_line(e)}): data_dir=FOLDER names "
                f"another."
            ) from e
    return folder


def _some(documents: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Select different documents up to the limit of a kind.

    Long documents are cut at a line end, and very short ones are skipped.
    """
    total = 0
    seen = set()
    for name, content in documents:
        text = content
        if len(text) > _LONGEST:
            text = content[: content.rfind(b"\n", 0, _LONGEST) + 1]
        if len(text) < _SHORTEST or text in seen or not _is_utf8(text):
            continue
        seen.add(text)
        total += len(text)
        if total > _MOST:
            return
        yield name, text


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _files(files: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of files, decompressed.

    The order is a hash of their names, so that the first files are a mixture.
    """

    def hashed(file: Path) -> bytes:
        return hashlib.sha256(str(file).encode()).digest()

    for file in sorted(set(files), key=hashed):
        try:
            # A link would repeat the text of its target.
            if not file.is_file() or file.is_symlink():
                continue
            content = file.read_bytes()
            if file.suffix == ".gz":
                content = gzip.decompress(content)
        except (OSError, EOFError, ValueError):  # skip files that are damaged or not readable
            continue
        yield "_".join(file.parts[-3:]), content


def _of_packages() -> Iterator[Path]:
    """Yield the documentation files of installed Python packages."""
    for package in metadata.distributions():
        for file in package.files or ():
            is_notice = file.name.startswith(("LICENSE", "COPYING", "README"))
            if is_notice or file.name.endswith(_DOCUMENTATION):
                yield Path(str(file.locate()))


def _docstrings() -> Iterator[tuple[str, bytes]]:
    """Yield the docstrings of each module of the standard library."""
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        try:
            tree = ast.parse(file.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        docstrings = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstrings.append(ast.get_docstring(node) or "")
        content = "\n\n".join(filter(None, docstrings))
        yield f"{file.stem}.txt", content.encode("utf-8", "replace")


def _messages(file: Path) -> set[tuple[str, str]]:
    """Return the one-line messages of a gettext catalogue (a .mo file) with their translations."""
    try:
        data = file.read_bytes()
        # The magic number shows the byte order.
        order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
        count, originals, translations = struct.unpack_from(f"{order}3I", data, 8)

        def texts(table: int) -> Iterator[str]:
            for i in range(count):
                size, start = struct.unpack_from(f"{order}2I", data, table + 8 * i)
                yield data[start : start + size].decode("utf-8").split("\0")[0]

        pairs = list(zip(texts(originals), texts(translations), strict=True))
    except (OSError, ValueError, struct.error):  # damaged, or not UTF-8
        return set()
    messages = set()
    for original, translation in pairs:
        original = original.rpartition("\4")[2].strip()  # without its context
        translation = translation.strip()
        if len(original.splitlines()) == len(translation.splitlines()) == 1:
            messages.add((original, translation))
    return messages
