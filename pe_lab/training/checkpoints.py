"""Saving and restoring a training: one orbax checkpoint for all replicas of a cell, checked by
digest.

The only file that touches orbax. Orbax commits by renaming, so a kill in the middle of a save
leaves the previous checkpoint; it keeps no checksum of the data, so a sha256 goes into the metadata
here.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from pe_lab.runs import records
from pe_lab.runs.errors import UserError, one_line

_KEPT = 2
_CURVE = "curve"  # below a cell's folder: what is kept of every point of its curve


def save(folder: Path, step: int, state: Any, notes: Any) -> None:
    """Writes folder/<step>; of older steps the last stays, to fall back on. `notes` is JSON that
    belongs to the state.
    """
    _write(folder, step, state, notes)
    _remove_but(folder, _KEPT)


def save_point(folder: Path, step: int, state: Any) -> None:
    """Writes folder/curve/<step>, which stays as long as the folder does."""
    _write(folder / _CURVE, step, state, None)


def points(folder: Path, like: Any) -> Iterator[Any]:
    """The states that `save_point` has left, in order, each read when it is asked for.

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
                f"{_damage(path, e)}. Remove it, and training is looked at without this step."
            ) from e
        yield state


def _write(folder: Path, step: int, state: Any, notes: Any) -> None:
    from orbax.checkpoint import v1 as ocp  # here: a cell that begins needs none of its second

    leaves = _named(state)
    path = folder.absolute() / str(step)
    ocp.save(
        path,
        leaves,
        overwrite=True,
        custom_metadata={"digest": _digest(leaves, notes), "notes": notes},
    )


def keep_last(folder: Path) -> None:
    """Removes all but the newest step: of a training that has ended."""
    _remove_but(folder, 1)


def restore(
    folder: Path, like: Any, set_aside: Callable[[str], None] | None = None
) -> tuple[Any, Any] | None:
    """The newest state in `folder` and its notes; None if there is none.

    Args:
      like: a state of the wanted structure, shapes, dtypes and shardings, with or without values;
        without sharding, on one device.
      set_aside: what is damaged is renamed, said to this function, and the step before it restored;
        without, it is an error.

    Raises:
      UserError: the checkpoint is damaged or belongs to something else.
    """
    for step in reversed(_steps(folder)):
        path = folder.absolute() / str(step)
        try:
            return _read(path, like)
        except MemoryError:
            raise
        except Exception as e:  # whatever the storage layers raise on damaged bytes
            damage = _damage(path, e)
            if set_aside is None:
                raise UserError(f"{damage}. Remove it, and the cell trains again.") from e
            aside = records.set_aside(path)
            set_aside(
                f"{damage}; it is set aside as {aside.name}, and training goes on from what was "
                f"before it."
            )
    return None


def _damage(path: Path, why: Exception) -> str:
    return f"The checkpoint {path} is damaged ({one_line(why)[:200]})"


def _read(path: Path, like: Any) -> tuple[Any, Any]:
    from orbax.checkpoint import v1 as ocp

    wanted = _named(like)
    metadata = ocp.metadata(path)
    if metadata.metadata is None:
        raise ValueError("what it says of itself cannot be read")
    found = {k: (tuple(m.shape), m.dtype) for k, m in metadata.metadata.items()}  # type: ignore[attr-defined]
    if found != {k: (tuple(v.shape), v.dtype) for k, v in wanted.items()}:
        raise ValueError("its arrays have other names, shapes or types")
    here = SingleDeviceSharding(jax.devices()[0])
    leaves = ocp.load(
        path,
        {
            k: jax.ShapeDtypeStruct(v.shape, v.dtype, sharding=v.sharding or here)
            for k, v in wanted.items()
        },
    )
    stored: Any = metadata.custom_metadata
    if stored["digest"] != _digest(leaves, stored["notes"]):
        raise ValueError("its content does not match its digest")
    return jax.tree.unflatten(jax.tree.structure(like), [leaves[name] for name in wanted]), stored[
        "notes"
    ]


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def remove_unfinished(folder: Path) -> None:
    """What saves that were killed have left; of a folder where no other process saves."""
    for path in [
        *folder.glob("*.orbax-checkpoint-tmp*"),
        *(folder / _CURVE).glob("*.orbax-checkpoint-tmp*"),
    ]:
        shutil.rmtree(path, ignore_errors=True)


def _remove_but(folder: Path, number: int) -> None:
    for step in _steps(folder)[:-number]:
        shutil.rmtree(folder / str(step), ignore_errors=True)


def _steps(folder: Path) -> list[int]:
    return sorted(int(p.name) for p in folder.glob("*") if p.name.isdigit())


def _named(tree: Any) -> dict[str, Any]:
    """Leaves by their path, in the tree's order."""
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _digest(leaves: dict[str, Any], notes: Any) -> str:
    total = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name in sorted(leaves):
        leaf = np.asarray(leaves[name])
        total.update(f"{name} {leaf.dtype} {leaf.shape}".encode())
        total.update(leaf.tobytes())
    return total.hexdigest()
