"""Files of text from the source distribution of a package, pinned by a hash."""

import fnmatch
import importlib.util
import re
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from pe_lab.runs.errors import UserError, one_line

_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+")
_HASH = re.compile(r"sha256:[0-9a-f]{64}")


def is_requirement(source: str) -> bool:
    """Whether a source is NAME==VERSION."""
    return _REQUIREMENT.fullmatch(source) is not None


def download(requirement: str, sha256: str | None, patterns: Sequence[str], folder: Path) -> None:
    """Download a source distribution with pip, and extract the files that match into a folder.

    Args:
      sha256: of the archive, "sha256:…"; pip checks it.
      patterns: of paths inside the archive, such as "docs/*.txt"; * matches a / too.

    Raises:
      UserError: no hash, no pip, pip fails, the archive cannot be extracted, or no file matches.
    """
    if sha256 is None or not _HASH.fullmatch(sha256):
        raise UserError(
            f"{requirement} needs --hash=sha256:…, with 64 digits, so that all read one text."
        )
    with tempfile.TemporaryDirectory() as private:
        archive = _archive(requirement, sha256, Path(private))
        try:
            num_files = _extract(archive, patterns, folder)
        # Python 3.11.0 to 3.11.3 have no filter, which is a TypeError.
        except (tarfile.TarError, TypeError, OSError, EOFError, zlib.error) as e:
            raise UserError(f"{archive.name} cannot be extracted: {one_line(e)}.") from e
        if not num_files:
            raise UserError(f"{archive.name} has no file like {', '.join(patterns)}.")


def _extract(archive: Path, patterns: Sequence[str], folder: Path) -> int:
    """Extract the files that match into a folder; return their number."""
    with tarfile.open(archive) as files:
        members = [member for member in files if member.isfile() and _matches(member, patterns)]
        files.extractall(folder, members, filter="data")  # refuses paths outside
    return len(members)


def _archive(requirement: str, sha256: str, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise UserError(
            f"{requirement} needs pip in this environment. With another one: pip download "
            f"--no-deps --no-binary=:all: {requirement}, then give the unpacked folder."
        )
    pinned = folder / "requirements.txt"
    pinned.write_text(f"{requirement} --hash={sha256}\n", encoding="utf-8")
    options = ["--quiet", "--no-deps", "--no-binary=:all:", "--require-hashes"]
    command = [sys.executable, "-m", "pip", "download", *options]
    process = subprocess.run(
        [*command, f"--requirement={pinned}", f"--dest={folder}"],
        capture_output=True,
        text=True,
        check=False,
    )
    archives = [*folder.glob("*.tar.gz")]
    if process.returncode or len(archives) != 1:
        reason = " ".join(process.stderr.split()) or "there is no source distribution in .tar.gz"
        raise UserError(f"pip cannot download {requirement}: {reason}.")
    return archives[0]


def _matches(member: tarfile.TarInfo, patterns: Sequence[str]) -> bool:
    _, _, inner = member.name.partition("/")  # without NAME-VERSION
    return any(fnmatch.fnmatchcase(inner, pattern) for pattern in patterns)
