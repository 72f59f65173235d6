"""JAX's persistent compilation cache, shared by the processes of all run groups.

Compiling takes most of the time of a short run. Run groups that differ in seeds, learning rates or
study, and not in a shape, compile equal programs, and all but the first read them from a folder.
The programs are the same, so results do not depend on the cache.
"""

import hashlib
import os
import platform
from pathlib import Path

import jax

_FOLDER = "jax_compilation_cache_dir"


def use(enabled: bool) -> None:
    """Let JAX read and keep compiled programs, or not. Call it before the first compilation.

    JAX's environment variables take precedence: JAX_COMPILATION_CACHE_DIR, and the variables of the
    smallest compilation time and entry size.
    """
    cache = folder()
    # Without a home there is no safe folder, unless JAX's variable names one.
    if cache is None and _FOLDER.upper() not in os.environ:
        enabled = False
    jax.config.update("jax_enable_compilation_cache", enabled)
    if not enabled:
        return
    values = {
        _FOLDER: str(cache),
        # JAX would leave out programs that compile in less than a second, and a group has several.
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        # At 0, JAX lets a file system set its own minimum.
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in values.items():
        if name.upper() not in os.environ:
            jax.config.update(name, value)


def folder() -> Path | None:
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
