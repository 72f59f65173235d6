"""Pairs of lines of two files, or of the files of a folder, in the splits of a corpus."""

import codecs
from pathlib import Path

from pe_lab.data import files
from pe_lab.data.sources import Row, Rows, by_hash, files_of
from pe_lab.runs.errors import UserError


def pairs(source: str, target: str, folder: Path | None = None) -> Rows:
    """Return the rows {"source", "target"} of the lines of two files, or of the files of a folder.

    In a folder, lines of NAME.source belong to lines of NAME.target. Pairs are assigned to splits
    by the hash of their source, without duplicates and pairs with an empty side.

    Raises:
      UserError: files are missing, cannot be read, are not UTF-8, not of equal length, or too short
        for three splits.
    """
    file_pairs = [(Path(source), Path(target))]
    if folder is not None:
        file_pairs = _matching_files(folder, source, target)
    groups: dict[bytes, list[Row]] = {}
    for source_file, target_file in file_pairs:
        source_lines, target_lines = _lines(source_file), _lines(target_file)
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
    return by_hash(groups, description, "pairs")


def _lines(file: Path) -> list[bytes]:
    """Return the lines of a file. A carriage return within a line is a part of it."""
    content = files.utf8(file).removeprefix(codecs.BOM_UTF8).removesuffix(b"\n")
    return [line.removesuffix(b"\r") for line in content.split(b"\n")]


def _matching_files(folder: Path, source: str, target: str) -> list[tuple[Path, Path]]:
    """Return the pairs of files NAME.source and NAME.target of a folder, without hidden ones."""
    source_files = [file for file in files_of(folder) if file.name.endswith(f".{source}")]
    if not source_files:
        raise UserError(f"The folder {folder} holds no files NAME.{source} and NAME.{target}.")
    pairs = []
    for file in source_files:
        name = file.name.removesuffix(source) + target
        pairs.append((file, file.with_name(name)))
    return pairs
