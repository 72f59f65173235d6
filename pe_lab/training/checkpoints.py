"""Saving and restoring a training: one orbax checkpoint for all replicas of a cell, checked by digest.

The only file that touches orbax. Orbax commits by renaming, so a kill in the middle of a save leaves
the previous checkpoint; it keeps no checksum of the data, so a sha256 goes into the metadata here.
"""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding
from orbax.checkpoint import v1 as ocp

from pe_lab.errors import UserError, one_line


def save(folder: Path, step: int, state: Any, notes: Any) -> None:
    """Writes folder/<step> and removes older steps. `notes` is JSON that belongs to the state."""
    leaves = _named(state)
    path = folder.absolute() / str(step)
    ocp.save(path, leaves, overwrite=True, custom_metadata={"digest": _digest(leaves, notes), "notes": notes})
    for old in _steps(folder):
        if old != step:
            shutil.rmtree(folder / str(old))


def restore(folder: Path, like: Any) -> tuple[Any, Any] | None:
    """The newest state in `folder` and its notes; None if there is none.

    Args:
      like: a state of the wanted structure, shapes and dtypes, with or without values.

    Raises:
      UserError: the checkpoint is damaged or belongs to something else.
    """
    if not (steps := _steps(folder)):
        return None
    path = folder.absolute() / str(steps[-1])
    wanted = _named(like)
    try:
        metadata = ocp.metadata(path)
        if metadata.metadata is None:
            raise ValueError("what it says of itself cannot be read")
        found = {k: (tuple(m.shape), m.dtype) for k, m in metadata.metadata.items()}  # type: ignore[attr-defined]
        if found != {k: (tuple(v.shape), v.dtype) for k, v in wanted.items()}:
            raise ValueError("its arrays have other names, shapes or types")
        here = SingleDeviceSharding(jax.devices()[0])
        leaves = ocp.load(path, {k: jax.ShapeDtypeStruct(v.shape, v.dtype, sharding=here) for k, v in wanted.items()})
        stored: Any = metadata.custom_metadata
        if stored["digest"] != _digest(leaves, stored["notes"]):
            raise ValueError("its content does not match its digest")
    except Exception as e:  # whatever the storage layers raise on damaged bytes
        raise UserError(f"The checkpoint {path} is damaged ({one_line(e)[:200]}). Remove it, and the cell trains again.") from e
    return jax.tree.unflatten(jax.tree.structure(like), [leaves[name] for name in wanted]), stored["notes"]


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _steps(folder: Path) -> list[int]:
    return sorted(int(p.name) for p in folder.glob("*") if p.name.isdigit())


def _named(tree: Any) -> dict[str, Any]:
    """Leaves by their path, in the tree's order."""
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _digest(leaves: dict[str, Any], notes: Any) -> str:
    total = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name in sorted(leaves):
        leaf = np.asarray(leaves[name])
        total.update(f"{name} {leaf.dtype} {leaf.shape}".encode())
        total.update(leaf.tobytes())
    return total.hexdigest()
