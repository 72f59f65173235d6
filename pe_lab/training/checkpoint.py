"""Checkpoints of a training: one orbax checkpoint for all members of a run group.

The only file that uses orbax. Orbax commits by renaming, so a kill in the middle of a save leaves
the previous checkpoint. It keeps no checksum of the data, so a sha256 goes into the metadata here.
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

from pe_lab.runs import records
from pe_lab.runs.errors import UserError, one_line

State = TypeVar("State")
Notes = Mapping[str, Any]  # JSON that belongs to a state

_NUM_STEPS = 2
_CURVE = "curve"  # folder of the points of a curve, inside of a run group's folder


def save(folder: Path, step: int, state: PyTree, notes: Notes) -> None:
    """Write folder/<step>. The step before it stays as a fallback.

    Args:
      notes: JSON that belongs to the state.
    """
    _write(folder, step, state, notes)
    _keep_newest(folder, _NUM_STEPS)


def save_point(folder: Path, step: int, state: PyTree) -> None:
    """Write folder/curve/<step>, which is never removed."""
    _write(folder / _CURVE, step, state, None)


def points(folder: Path, like: State) -> Iterator[State]:
    """The states that `save_point` wrote, in order, read lazily.

    Raises:
      UserError: one is damaged or belongs to something else.
    """
    for step in _steps(folder / _CURVE):
        path = folder.absolute() / _CURVE / str(step)
        try:
            state, _ = _read(path, like)
        except MemoryError:
            raise
        except Exception as e:  # as in `restore`
            raise UserError(
                f"{_damage(path, e)}. Remove it to look at training without this step."
            ) from e
        yield state


def _write(folder: Path, step: int, state: PyTree, notes: Notes | None) -> None:
    from orbax.checkpoint import v1 as ocp  # takes a second, which a start does not need

    path = folder.absolute() / str(step)
    leaves = _named(state)
    metadata = {"digest": _digest(leaves, notes), "notes": notes}
    ocp.save(path, leaves, overwrite=True, custom_metadata=metadata)


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
      UserError: the checkpoint is damaged or belongs to something else.
    """
    for step in reversed(_steps(folder)):
        path = folder.absolute() / str(step)
        try:
            return _read(path, like)
        except MemoryError:  # a machine that is too small does not make a checkpoint damaged
            raise
        except Exception as e:  # the storage layers raise many types on damaged bytes
            damage = _damage(path, e)
            if set_aside is None:
                raise UserError(f"{damage}. Remove it, and the run group trains again.") from e
            renamed = records.set_aside(path)
            set_aside(
                f"{damage}; it is set aside as {renamed.name}, and training continues from the "
                "checkpoint before it."
            )
    return None


def _damage(path: Path, why: Exception) -> str:
    return f"The checkpoint {path} is damaged ({one_line(why)[:200]})"


def _read(path: Path, like: State) -> tuple[State, Notes | None]:
    from orbax.checkpoint import v1 as ocp

    wanted = _named(like)
    metadata = ocp.metadata(path)
    if metadata.metadata is None:
        raise ValueError("its metadata is unreadable")
    stored: Mapping[str, PyTree] = metadata.metadata  # type: ignore[assignment]
    if _shapes(stored) != _shapes(wanted):
        raise ValueError("its arrays have other names, shapes or types")
    # Orbax would otherwise put arrays on the devices that saved them, which may be missing here.
    one_device = SingleDeviceSharding(jax.devices()[0])
    abstract = {}
    for name, leaf in wanted.items():
        sharding = leaf.sharding or one_device
        abstract[name] = jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
    leaves = ocp.load(path, abstract)
    custom: Mapping[str, Any] = metadata.custom_metadata  # type: ignore[assignment]
    if custom["digest"] != _digest(leaves, custom["notes"]):
        raise ValueError("its content does not match its digest")
    ordered = [leaves[name] for name in wanted]
    state = jax.tree.unflatten(jax.tree.structure(like), ordered)
    return state, custom["notes"]


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """Remove the remains of saves that were killed; no other process may save there."""
    for parent in (folder, folder / _CURVE):
        for path in parent.glob("*.orbax-checkpoint-tmp*"):
            shutil.rmtree(path, ignore_errors=True)


def _keep_newest(folder: Path, number: int) -> None:
    for step in _steps(folder)[:-number]:
        shutil.rmtree(folder / str(step), ignore_errors=True)


def _steps(folder: Path) -> list[int]:
    """The steps in a folder, in order. Other files do not have a number as their name."""
    names = [path.name for path in folder.glob("*")]
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
        leaf = np.asarray(leaves[name])
        digest.update(f"{name} {leaf.dtype} {leaf.shape}".encode())
        digest.update(leaf.tobytes())
    return digest.hexdigest()
