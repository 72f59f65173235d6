"""Code, versions and device, on which numbers depend in addition to the config."""

import datetime
import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal, get_args

import jax

import pe_lab
from pe_lab.runs.records.record_schema import JsonObject, Provenance
from pe_lab.runs.run import Run
from pe_lab.runs.settings.evaluation_settings import plain
from pe_lab.runs.system import jax_settings
from pe_lab.training import devices

_PACKAGE = Path(pe_lab.__file__).parent
_CODE = (":/pe_lab", ":/configs", ":/experiments")  # the folders whose changes make a run "dirty"
_GIT_SECONDS = 20.0  # git may hang on a file system of a network
_Key = Literal[
    "commit", "dirty", "code", "python", "versions", "device", "execution", "jax_settings"
]
# Parts in which a process may differ from the one that started the training.
_OF_PROCESS: tuple[_Key, ...] = get_args(_Key)


def provenance(run: Run) -> Provenance:
    """The provenance of numbers that this process computes now."""
    device = None if devices.unusable() else jax.devices()[0]
    return {
        "commit": commit(),
        "dirty": has_uncommitted_code(),
        "code": _code_digest(),
        "python": platform.python_version(),
        "versions": _versions(),
        "device": "none" if device is None else f"{device.platform}: {device.device_kind}",
        "execution": run.to_dict()["execution"],
        "sources": run.sources(),
        "jax_settings": jax_settings.recorded(),
        # Only a run that has been trained has read data; its record fills these in.
        "data": None,
        "corpus": None,
    }


def of_start(run: Run) -> Provenance:
    """The provenance of a training that starts now."""
    now = datetime.datetime.now(datetime.UTC)
    return {**provenance(run), "started": now.isoformat(timespec="seconds")}


def changes(before: JsonObject, now: Provenance) -> JsonObject:
    """The parts of a process in which `now` differs from the provenance `before`."""
    parts = {key: plain(now[key]) for key in _OF_PROCESS}
    return {key: value for key, value in parts.items() if before.get(key) != value}


def with_process(origin: Provenance, now: Provenance) -> Provenance:
    """The provenance of a record, with what differs in the process that adds rows to it."""
    before = list(origin.get("evaluated", []))
    parts = changes(origin, now)
    # One entry for each different process, not for each evaluation.
    known = [{key: values[key] for key in values if key != "started"} for values in before]
    if not parts or parts in known:
        return origin
    return {**origin, "evaluated": [*before, {"started": now["started"], **parts}]}


def commit(package: Path = _PACKAGE) -> str | None:
    """The commit of pe_lab's own checkout; None if it is not known."""
    return _git("rev-parse", "HEAD", package=package) if _is_tracked(package) else None


def has_uncommitted_code(package: Path = _PACKAGE, more: Sequence[str] = ()) -> bool | None:
    """Whether pe_lab, configs or experiments differ from the commit, or hold untracked files.

    None if git does not answer, or knows no commit.

    Args:
      more: patterns of git for other files that count.
    """
    if commit(package) is None:
        return None
    # A user's settings of git may hide untracked files.
    options = ("--porcelain", "--untracked-files=normal")
    changes = _git("status", *options, "--", *_CODE, *more, package=package)
    return None if changes is None else bool(changes)


def _is_tracked(package: Path) -> bool:
    """Whether the repository around pe_lab is its checkout, and not one that holds its packages."""
    root = _git("rev-parse", "--show-toplevel", package=package)
    if root is None or Path(root).resolve() != package.resolve().parent:
        return False
    return _git("ls-files", "--error-unmatch", "__init__.py", package=package) is not None


@functools.cache  # the code that this process has imported stays the same
def _code_digest(package: Path = _PACKAGE) -> str:
    """A hash of the files of pe_lab. Two states of a changed checkout have one commit."""
    content = hashlib.sha256()
    # Sorted, because the order of files depends on the file system.
    for file in sorted(package.rglob("*.py")):
        content.update(file.relative_to(package).as_posix().encode())
        content.update(file.read_bytes())
    return content.hexdigest()[:16]


@functools.cache
def _versions() -> dict[str, str]:
    packages = ("jax", "jaxlib", "flax", "optax", "numpy")
    versions = {name: metadata.version(name) for name in packages}
    return {"pe_lab": pe_lab.__version__, **versions}


@functools.cache
def _git(*args: str, package: Path) -> str | None:
    """The output of a git command in a folder; None if git is missing, hangs or refuses."""
    # Git's hooks set variables such as GIT_DIR, which name another repository.
    environment = {"GIT_OPTIONAL_LOCKS": "0"}  # others may use the checkout at this moment
    for name, value in os.environ.items():
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_"):
            environment[name] = value
    try:
        process = subprocess.run(
            ["git", *args],
            cwd=package.resolve(),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip()
