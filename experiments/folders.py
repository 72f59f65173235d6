"""Folders that a reader sees as they were or as they are to be, never half written."""

import shutil
from pathlib import Path

from pe_lab.runs.system.files import write_bytes


def replace_folder(source: Path, target: Path) -> None:
    """Make a copy of a folder the folder `target`.

    A kill in between leaves the old folder or the new one, and one of them as `target` or, until
    the next call, as .NAME.before.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    restore_folder(target)
    new, before = _remains(target)
    for remains in (new, before):
        shutil.rmtree(remains, ignore_errors=True)
    try:
        for file in sorted(source.rglob("*")):
            if file.is_file():
                write_bytes(new / file.relative_to(source), file.read_bytes())
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    if target.exists():
        target.rename(before)
    new.rename(target)
    shutil.rmtree(before, ignore_errors=True)


def restore_folder(target: Path) -> None:
    """Undo a call of `replace_folder` that was killed between its two renames."""
    _, before = _remains(target)
    if before.exists() and not target.exists():
        before.rename(target)


def _remains(target: Path) -> tuple[Path, Path]:
    """Return what a killed `replace_folder` may leave: the new folder and the one before."""
    return target.with_name(f".{target.name}.new"), target.with_name(f".{target.name}.before")
