"""Strict settings for every test, before anything imports JAX."""

import os
from pathlib import Path

_CACHE = Path(__file__).parent.parent / ".cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"  # tests compile much and run little: a third less time
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "standard"  # strict would break optax

from jaxtyping import install_import_hook  # noqa: E402

install_import_hook("pe_lab", "beartype.beartype")


def pytest_collection_modifyitems(items):
    """Under `--dist=loadgroup` what shares compiled programs or a trained fixture runs in one process: a file, of the laws one member."""
    import pytest

    for item in items:
        name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
        by_member = item.path.name in ("test_laws.py", "test_properties.py") and item.path.parent.name == "encodings"
        item.add_marker(pytest.mark.xdist_group(f"law {name}" if by_member else str(item.path)))
