"""Checkpoints of a training: one orbax checkpoint for all members of a run group.

The only file that uses orbax. Orbax commits by renaming, so a kill in the middle of a save leaves
the previous checkpoint. It keeps no checksums, and it reports an error of the machine, such as too
many open files, in the same way as damage. So two kinds of sha256 are kept here:

- of each file, in FILES. A checkpoint is damaged if a file differs. Every other error is one of the
  machine, and leaves the checkpoint in place.
- of the arrays, in orbax's metadata. It also guards checkpoints from before FILES.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding
from jaxtyping import PyTree

from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.system import files

State = TypeVar("State")
Notes = JsonObject  # JSON that belongs to a state
Arrays = dict[str, Any]  # by their path in the state

FILES = "sha256.json"  # sha256 of each file of a checkpoint, by its path
_NUM_STEPS = 2  # the older one is the fallback if the newest is damaged
_CURVE = "curve"  # folder of the points of a curve, inside of a run group's folder


class DamagedCheckpoint(Exception):  # noqa: N818
    """The content of a checkpoint differs from the saved one, or belongs to something else."""


def save(folder: Path, step: int, state: PyTree, notes: Notes) -> None:
    """Write folder/<step>. The step before it stays as a fallback.

    Args:
      notes: JSON that belongs to the state.
    """
    _write(folder, step, state, notes)
    # After the write: a kill between the two leaves one step too many, never too few.
    _keep_newest(folder, _NUM_STEPS)


def save_point(folder: Path, step: int, state: PyTree) -> None:
    """Write folder/curve/<step>, which is never removed."""
    _write(folder / _CURVE, step, state, None)


def points(folder: Path, like: State) -> Iterator[State]:
    """The states that `save_point` wrote, in order, read lazily.

    Raises:
      UserError: one is damaged, belongs to something else, or cannot be read on this machine.
    """
    for step in _steps(folder / _CURVE):
        path = folder.absolute() / _CURVE / str(step)
        try:
            state, _ = _read(path, like)
        except DamagedCheckpoint as e:
            raise UserError(
                f"{_damage(path, e)}. Remove it to look at training without this step."
            ) from e
        yield state


def _write(folder: Path, step: int, state: PyTree, notes: Notes | None) -> None:
    from orbax.checkpoint import v1 as ocp  # takes a second, which a start does not need

    path = folder.absolute() / str(step)  # orbax refuses relative paths
    leaves = _named(state)
    metadata = {"digest": _digest(leaves, notes), "notes": notes}
    # A training that is resumed writes the curve points after its checkpoint again.
    ocp.save(path, leaves, overwrite=True, custom_metadata=metadata)
    digests = {}
    for file in sorted(path.rglob("*")):
        if file.is_file():
            digests[str(file.relative_to(path))] = files.sha256(file)
    # A kill before this line leaves a checkpoint without FILES, which can be read.
    records.write_json(path / FILES, digests)


def keep_last(folder: Path) -> None:
    """Remove all but the newest step of a training that has ended."""
    _keep_newest(folder, 1)


def restore(
    folder: Path,
    like: State,
    set_aside: Callable[[str], None] | None = None,
) -> tuple[State, Notes | None] | None:
    """The newest state in `folder` and its notes; None if there is none.

    Args:
      like: a state of the wanted structure, shapes, dtypes and shardings, with or without values;
        without sharding, on one device.
      set_aside: receives a sentence about each damaged step, which is renamed, and the step before
        it is restored; None: damage is an error.

    Raises:
      UserError: the checkpoint is damaged or belongs to something else, or the machine cannot read
        it. Then it stays in place.
    """
    for step in reversed(_steps(folder)):
        path = folder.absolute() / str(step)
        try:
            return _read(path, like)
        except DamagedCheckpoint as e:
            damage = _damage(path, e)
            if set_aside is None:
                raise UserError(f"{damage}. Remove it, and the run group trains again.") from e
            renamed = records.set_aside(path)
            set_aside(
                f"{damage}; it is set aside as {renamed.name}, and the checkpoint before it, if "
                "there is one, is used."
            )
    return None


def paths(folder: Path) -> list[Path]:
    """The checkpoints of a run group: its last steps, and the points of its curve."""
    parents = (folder, folder / _CURVE)
    return [parent / str(step) for parent in parents for step in _steps(parent)]


def check(path: Path) -> None:
    """Check the content of one checkpoint, folder/<step> or folder/curve/<step>.

    Raises:
      DamagedCheckpoint: it has changed.
      UserError: the machine cannot read it.
    """
    if not _check_files(path):  # an older checkpoint has a digest of its arrays alone
        _arrays(path.absolute(), None)


def _damage(path: Path, why: Exception) -> str:
    return f"The checkpoint {path} is damaged ({one_line(why)[:200]})"


def _read(path: Path, like: State) -> tuple[State, Notes | None]:
    """The state and the notes of a checkpoint; errors as for `check`."""
    wanted = _named(like)
    arrays, notes = _arrays(path, wanted)
    # Orbax may return another order of the names than that of the tree.
    ordered = [arrays[name] for name in wanted]
    return jax.tree.unflatten(jax.tree.structure(like), ordered), notes


def _arrays(path: Path, wanted: Mapping[str, PyTree] | None) -> tuple[Arrays, Notes | None]:
    """The arrays by name and the notes of a checkpoint.

    Args:
      wanted: the arrays that it must have; None: those that it has, on one device.

    Raises:
      DamagedCheckpoint: its content has changed, or it has other arrays.
      UserError: the machine cannot read it.
    """
    has_digests = _check_files(path)
    try:
        return _loaded(path, wanted)
    # Caught first: the clause below would report it as an error of the machine.
    except DamagedCheckpoint:
        raise
    except Exception as e:  # orbax and its storage raise many types
        raise _unreadable(path, e, "" if has_digests else " If it is damaged, remove it.") from e


def _unreadable(path: Path, why: Exception, advice: str = "") -> UserError:
    return UserError(
        f"The checkpoint {path} cannot be read on this machine ({one_line(why)[:200]}). It stays "
        f"in place, and training continues from it when it can be read.{advice}"
    )


def _check_files(path: Path) -> bool:
    """Check the files of a checkpoint; False if it is an older one without their digests.

    Raises:
      DamagedCheckpoint: a file has changed.
      UserError: the machine cannot read one.
    """
    try:
        if not (path / FILES).exists():
            return False
        for name, digest in files.read_object(path / FILES).items():
            if files.sha256(path / name) != digest:
                raise DamagedCheckpoint(f"its file {name} has changed")
    # FileNotFoundError is an OSError, so damage is caught before errors of the machine.
    except (FileNotFoundError, ValueError) as e:
        raise DamagedCheckpoint(one_line(e)) from e
    except OSError as e:  # too many open files, perhaps
        raise _unreadable(path, e) from e
    return True


def _loaded(path: Path, wanted: Mapping[str, PyTree] | None) -> tuple[Arrays, Notes | None]:
    from orbax.checkpoint import v1 as ocp

    metadata = ocp.metadata(path)
    if metadata.metadata is None or metadata.custom_metadata is None:
        # Orbax has only logged the reason.
        raise ValueError("its metadata is unreadable")
    stored: Mapping[str, PyTree] = metadata.metadata  # type: ignore[assignment]
    if wanted is not None and _shapes(stored) != _shapes(wanted):
        raise DamagedCheckpoint("its arrays have other names, shapes or types")
    # Orbax would otherwise put arrays on the devices that saved them, which may be missing here.
    one_device = SingleDeviceSharding(jax.devices()[0])
    abstract = {}
    for name, leaf in (wanted or stored).items():
        sharding = one_device if wanted is None else leaf.sharding or one_device
        abstract[name] = jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
    arrays: Arrays = ocp.load(path, abstract)
    custom: JsonObject = metadata.custom_metadata
    if custom["digest"] != _digest(arrays, custom["notes"]):
        raise DamagedCheckpoint("its content does not match its digest")
    return arrays, custom["notes"]


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the remains of saves that were killed; no other process may save there."""
    for parent in (folder, folder / _CURVE):
        for path in parent.glob("*.orbax-checkpoint-tmp*"):
            shutil.rmtree(path, ignore_errors=True)


def _keep_newest(folder: Path, number: int) -> None:
    # A step that cannot be removed costs space, which is no reason to end a training.
    for step in _steps(folder)[:-number]:
        shutil.rmtree(folder / str(step), ignore_errors=True)


def _steps(folder: Path) -> list[int]:
    """The steps in a folder, in order. Other files do not have a number as their name."""
    try:
        names = files.names_in(folder)
    except OSError as e:
        raise _unreadable(folder, e) from e
    return sorted(int(name) for name in names if name.isdigit())


def _named(tree: PyTree) -> dict[str, PyTree]:
    """Leaves by their path, in the tree's order."""
    by_name = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        by_name[name] = leaf
    return by_name


def _shapes(leaves: Mapping[str, PyTree]) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    return {name: (tuple(leaf.shape), leaf.dtype) for name, leaf in leaves.items()}


def _digest(leaves: Mapping[str, PyTree], notes: Notes | None) -> str:
    notes_json = json.dumps(notes, sort_keys=True)
    digest = hashlib.sha256(notes_json.encode())
    for name in sorted(leaves):
        leaf = np.asarray(leaves[name])  # gathers the shards of several devices
        # Equal bytes of another type or shape are other arrays.
        digest.update(f"{name} {leaf.dtype} {leaf.shape}".encode())
        digest.update(leaf.tobytes())
    return digest.hexdigest()
