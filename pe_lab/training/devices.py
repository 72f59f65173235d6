"""Many devices in one process: replicas shard over them, and, where asked for, the batch of each
replica.

A mesh has two axes. Along "replicas" every device trains replicas of its own, so a replica's
numbers are those that it has on one device. Along "batch" devices train the same replicas, each on
its part of every batch, and sum what they find.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from pe_lab.runs.errors import UserError

REPLICAS, BATCH = "replicas", "batch"


def for_batch(asked: int) -> int:
    """Devices for a replica's batch, where so many are asked for: those, or fewer if this process
    lacks them.
    """
    return max(n for n in range(1, len(jax.local_devices()) + 1) if asked % n == 0)


def check(asked: int) -> None:
    """That a training has the devices that it asks for.

    Raises:
      UserError: it has not.
    """
    if for_batch(asked) < asked:
        raise UserError(
            f"config.execution.batch_devices asks for {asked} devices; this process has "
            f"{len(jax.local_devices())}."
        )


def mesh(num_replicas: int, batch_devices: int) -> Mesh:
    """Of this process's devices: `batch_devices` for a replica's batch, along the other axis as
    many as divide the replicas.
    """
    devices = jax.local_devices()
    most = len(devices) // batch_devices
    rows = max(n for n in range(1, most + 1) if num_replicas % n == 0)
    return Mesh(
        np.array(devices[: rows * batch_devices]).reshape(rows, batch_devices), (REPLICAS, BATCH)
    )


def side_by_side(inner: Callable, batch_devices: int, f: Callable, *args: Any) -> Any:
    """Maps a function of one replica over the replica axis of all arguments, by `inner` on each
    device.
    """
    over = mesh(len(jax.tree.leaves(args)[0]), batch_devices)
    if over.size == 1:
        return inner(f, *args)
    sharded = jax.shard_map(
        lambda *own: inner(f, *own),
        mesh=over,
        in_specs=P(REPLICAS),
        out_specs=P(REPLICAS),
        check_vma=False,
    )
    return sharded(*args)


def placed(tree: Any, batch_devices: int) -> Any:
    """Arrays with a replica axis where their replicas are computed."""
    return jax.device_put(tree, _sharding(tree, batch_devices))


def abstractly_placed(tree: Any, batch_devices: int) -> Any:
    """The same of leaves without values."""
    sharding = _sharding(tree, batch_devices)
    return jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding), tree
    )


def _sharding(tree: Any, batch_devices: int) -> NamedSharding:
    return NamedSharding(mesh(jax.tree.leaves(tree)[0].shape[0], batch_devices), P(REPLICAS))


def share(tree: Any, batch_devices: int) -> Any:
    """The part of [B, ...] leaves that this device of "batch" computes."""
    if batch_devices == 1:
        return tree

    def own(leaf):
        size = len(leaf) // batch_devices
        return jax.lax.dynamic_slice_in_dim(leaf, jax.lax.axis_index(BATCH) * size, size)

    return jax.tree.map(own, tree)


def total(tree: Any, batch_devices: int) -> Any:
    """The sum over the devices of "batch"."""
    return tree if batch_devices == 1 else jax.lax.psum(tree, BATCH)
