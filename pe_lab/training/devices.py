"""Several devices in one process: members shard over them, and a member's batch if requested.

The precision of a device's products is set here too, and the folder of its compiled programs.

A mesh has two axes. Along "members" every device trains its own members, so a member's numbers do
not depend on the number of devices. Along "batch" devices train the same members, each on its part
of every batch, and sum their gradients.
"""

import dataclasses
import functools
import hashlib
import os
import platform
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jaxtyping import PyTree

from pe_lab.kernels import microbatches
from pe_lab.runs.errors import UserError, described

MEMBERS, BATCH = "members", "batch"
_CACHE = "jax_compilation_cache_dir"


def compute_float32_products() -> None:
    """Let products of float32 arrays be those of float32 on GPUs and TPUs too.

    JAX's default rounds the factors to TF32 on a GPU, and to bfloat16 on a TPU. Training calls this
    once in its process, and so does every process that loads trained parameters.
    """
    if jax.default_backend() != "cpu":  # a CPU does not round them, and its programs stay the same
        jax.config.update("jax_default_matmul_precision", "highest")


def for_batch(batch_devices: int) -> int:
    """Devices for a member's batch: as many as the config says, or fewer if there are not enough.

    Fewer must divide the number in the config.
    """
    numbers = range(1, len(jax.local_devices()) + 1)
    return max(n for n in numbers if batch_devices % n == 0)


def check(batch_devices: int) -> None:
    """Check that this process has the devices that a training needs.

    Raises:
      UserError: it has fewer.
    """
    if for_batch(batch_devices) < batch_devices:
        raise UserError(
            f"config.execution.batch_devices asks for {batch_devices} devices; this process has "
            f"{len(jax.local_devices())}."
        )


def unusable() -> str | None:
    """Return why JAX has no device, as one sentence; None if it has one."""
    try:
        jax.devices()
    except Exception as e:  # AssertionError, RuntimeError, or what a backend raises
        platforms = os.environ.get("JAX_PLATFORMS", "")
        return (
            f"JAX finds no device with JAX_PLATFORMS={platforms!r} ({described(e)}): install JAX "
            f"for this device, or unset the variable."
        )
    return None


def mesh(num_members: int, batch_devices: int) -> Mesh:
    """A mesh of this process's devices: `batch_devices` along one axis.

    The other axis has as many devices as divide the number of members.
    """
    devices = jax.local_devices()
    most_rows = len(devices) // batch_devices
    # Every device needs the same number of members.
    rows = max(n for n in range(1, most_rows + 1) if num_members % n == 0)
    used = np.array(devices[: rows * batch_devices])
    grid = used.reshape(rows, batch_devices)
    return Mesh(grid, (MEMBERS, BATCH))


@dataclasses.dataclass(frozen=True)
class Devices:
    """How members and their batches use the devices of this process.

    Attributes:
      vmapped: the members of a device train as one batch; otherwise one after the other.
      batch_devices: the number of devices that share the batch of a member.
    """

    vmapped: bool
    batch_devices: int

    def over_members(
        self, f: Callable[[PyTree], PyTree], num_members: int
    ) -> Callable[[PyTree], PyTree]:
        """Map a function of one member over the member axis of its argument, on all devices."""
        # lax.map: on a CPU, members side by side leave the core's cache and train slower.
        mapped = jax.vmap(f) if self.vmapped else functools.partial(jax.lax.map, f)
        all_devices = mesh(num_members, self.batch_devices)
        if all_devices.size == 1:
            return mapped
        return jax.shard_map(
            mapped,
            mesh=all_devices,
            in_specs=P(MEMBERS),
            out_specs=P(MEMBERS),
            check_vma=False,
        )

    def placed(self, tree: PyTree) -> PyTree:
        """Arrays with a member axis, on the devices that compute their members."""
        return jax.device_put(tree, self._sharding(tree))

    def abstractly_placed(self, tree: PyTree) -> PyTree:
        """`placed` for leaves without values."""
        sharding = self._sharding(tree)

        def place(leaf: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

        return jax.tree.map(place, tree)

    def _sharding(self, tree: PyTree) -> NamedSharding:
        num_members = len(jax.tree.leaves(tree)[0])
        return NamedSharding(mesh(num_members, self.batch_devices), P(MEMBERS))

    def share(self, batch: microbatches.Divisible) -> PyTree:
        """The examples of a batch that this device of the "batch" axis computes."""
        if self.batch_devices == 1:
            return batch
        size = len(batch.masks[0]) // self.batch_devices  # without a rest, see specs/checks.py
        # The axis has a name inside of shard_map only.
        first = jax.lax.axis_index(BATCH) * size
        return batch.select(first + jnp.arange(size))

    def total(self, tree: PyTree) -> PyTree:
        """The sum over the devices of the "batch" axis."""
        return tree if self.batch_devices == 1 else jax.lax.psum(tree, BATCH)


def use_compilation_cache(enabled: bool) -> None:
    """Let JAX read and keep compiled programs, or not. Call it before the first compilation.

    Compiling takes most of the time of a short run. Run groups that differ in seeds, learning rates
    or study, and not in a shape, compile equal programs, and all but the first read them from a
    folder. The programs are the same, so results do not depend on the cache.

    JAX's environment variables take precedence: JAX_COMPILATION_CACHE_DIR, and the variables of the
    smallest compilation time and entry size.
    """
    cache = cache_folder()
    # Without a home there is no safe folder, unless JAX's variable names one.
    if cache is None and _CACHE.upper() not in os.environ:
        enabled = False
    jax.config.update("jax_enable_compilation_cache", enabled)
    if not enabled:
        return
    values = {
        _CACHE: str(cache),
        # JAX would leave out programs that compile in less than a second, and a group has several.
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        # At 0, JAX lets a file system set its own minimum.
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in values.items():
        if name.upper() not in os.environ:
            jax.config.update(name, value)


def cache_folder() -> Path | None:
    """The folder of compiled programs in the user's cache directory; None without a home.

    A folder in the temporary directory would not do: another user could put programs there.
    """
    caches = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache"))
    if not caches.is_absolute():  # also "~/.cache", where the user has no entry and no HOME
        return None
    return caches / "pe_lab" / "jax" / _instructions()


def _instructions() -> str:
    """A name for the instructions of this machine's CPU.

    A program for a CPU uses all of them. Machines of a cluster may share a home but have different
    CPUs, where the program fails with an illegal instruction; JAX's key does not tell them apart.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux: the home is on this machine
        lines = []
    features = [line for line in lines if line.startswith(("flags", "Features"))]  # x86, Arm
    text = " ".join([platform.machine(), *features[:1]])  # each core repeats the line
    return hashlib.sha256(text.encode()).hexdigest()[:8]
