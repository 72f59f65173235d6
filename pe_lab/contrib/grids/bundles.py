"""A row of the suite as one archive: its study, its records, and the files of its classes.

    manifest.json       the label, the version of pe_lab, and the sha256 of every other file
    study.json          as in a results folder
    records.jsonl.gz    all records, which hold their provenance
    cost.json           the time of a step, if it was measured
    sources/*.py        the file of each class that is not of pe_lab

Nothing in an archive is imported. The digests guard against accidents only: the sender of an
archive can rewrite them.
"""

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

import pe_lab
from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.plugins import plugin_sources
from pe_lab.runs.records import record_rows, records
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.system import files

SCHEMA_VERSION = 1
_MANIFEST = "manifest.json"
_STUDY, _COST = "study.json", "cost.json"
_SOURCE = re.compile(r"sources/[\w.]+\.py")
# What reading a damaged archive can raise; RuntimeError if a flipped bit marks a file as encrypted.
_DAMAGE = (
    EOFError,
    KeyError,
    OSError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others raise errors of their own
_TIME = (1980, 1, 1, 0, 0, 0)  # the same content gives the same archive


def write(folder: Path, label: str, file: Path) -> None:
    """Write the study of a results folder to an archive.

    Raises:
      UserError: a class has changed since the training of a run, or its file is gone.
    """
    check_label(label)
    of_runs = records.read_all(folder)
    content = {_STUDY: (folder / _STUDY).read_bytes()}
    if (folder / _COST).exists():
        content[_COST] = (folder / _COST).read_bytes()
    content[records.ARCHIVE] = records.archive(of_runs.values())
    for name, digest in _classes(of_runs.values(), folder).items():
        content[_source_name(name)] = _source(name, digest)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "label": label,
        "pe_lab": pe_lab.__version__,
        "files": {name: _sha256(data) for name, data in content.items()},
    }
    content[_MANIFEST] = json.dumps(manifest, indent=1).encode()
    with files.replacing(file) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(content.items()):
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)


def check_label(label: str) -> None:
    """Check that an archive can hold a row with this label.

    Raises:
      UserError: it is no name of a file.
    """
    files.plain_name(label, "a row: give it a label, as in mine=my_package.mine:Mine")


def unpack(file: Path, folder: Path) -> str:
    """Unpack an archive into an empty folder, check its digests, and return its label.

    Raises:
      UserError: it is no archive of a row, or a file is not the one that was packed.
    """
    try:
        content = _content(file)
        manifest = files.object_of(content.pop(_MANIFEST))
        version, label, digests = (manifest[key] for key in ("schema_version", "label", "files"))
    except _DAMAGE as e:
        raise UserError(f"{file} is no archive of `pe-lab suite --bundle` ({one_line(e)}).") from e
    if version != SCHEMA_VERSION:
        raise UserError(f"{file} has schema_version {version}; this pe_lab reads {SCHEMA_VERSION}.")
    if {name: _sha256(data) for name, data in content.items()} != digests:
        raise UserError(f"{file} is damaged: a file in it does not match its digest.")
    files.plain_name(str(label), f"a row, which {file} gives")
    for name, data in content.items():
        files.write_bytes(folder / name, data)
    _check_size(folder / records.ARCHIVE, file)
    for name, digest in _classes(records.read_all(folder).values(), file).items():
        source = content.get(_source_name(name))
        # The digests of records are the first digits of a hash.
        if source is None or _sha256(source)[: len(digest)] != digest:
            raise UserError(f"{file} lacks the file of {name} with which its runs were trained.")
    return str(label)


def _content(file: Path) -> dict[str, bytes]:
    """Return the files of an archive by name.

    Raises:
      ValueError: it has a file that is not part of a row, or its files are too large.
    """
    with zipfile.ZipFile(file) as archive:
        if sum(member.file_size for member in archive.infolist()) > files.MOST_BYTES:
            raise ValueError(f"its files have more than {files.MOST_BYTES:,} bytes")
        if any(member.compress_type not in _COMPRESSIONS for member in archive.infolist()):
            raise ValueError("it has a file of another compression")
        members = archive.namelist()
        if len(set(members)) < len(members):
            raise ValueError("it has two files of one name")
        known = {_MANIFEST, _STUDY, _COST, records.ARCHIVE}
        others = [name for name in members if name not in known and not _SOURCE.fullmatch(name)]
        if others:
            raise ValueError(f"it has a file {others[0]!r}")
        return {name: archive.read(name) for name in members}


def _check_size(archive: Path, file: Path) -> None:
    """Refuse records that are small only while they are compressed."""
    size = 0
    try:
        for line in files.compressed_lines(archive):
            size += len(line)
            if size > files.MOST_BYTES:
                raise ValueError(f"its records have more than {files.MOST_BYTES:,} bytes")
    except (OSError, ValueError) as e:
        raise UserError(f"{file} has no records that can be read ({one_line(e)}).") from e


def _classes(row_records: Iterable[Record], place: Path) -> dict[str, str]:
    """Return the digests of classes of other packages, by "encodings/package.module:Class".

    Args:
      place: of the records, for errors.

    Raises:
      UserError: a run does not name its sources, or two runs have different digests of a class.
    """
    digests: dict[str, str] = {}
    for record in row_records:
        if "sources" not in record["provenance"]:
            raise UserError(f"{place} has the run {record['run_id']}, whose sources are unknown.")
        for name, digest in record_rows.trained_sources(record).items():
            if ":" not in name or digest is None:
                continue
            if digests.setdefault(name, digest) != digest:
                raise UserError(
                    f"{place} has runs of two versions of {name}: train all runs of the row with "
                    f"one version, in another folder."
                )
    return digests


def _source(name: str, digest: str) -> bytes:
    """Return the file of a class, which must be the one of the training."""
    family, _, path = name.partition("/")
    if plugin_sources.source_digest(family, path) != digest:
        raise UserError(
            f"The file of {path} is gone or has changed since the runs were trained: restore it."
        )
    file = plugin_sources.file_of_class(family, path)
    assert file is not None  # it has a digest
    return file.read_bytes()


def _source_name(name: str) -> str:
    return f"sources/{name.partition('/')[2].replace(':', '.')}.py"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
