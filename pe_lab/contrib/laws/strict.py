"""Strict settings of JAX and checks of types, under which laws and tests run.

Importing this module sets them. Import it before JAX and before the rest of pe_lab.
"""

import importlib.metadata
import os

from jaxtyping import install_import_hook

os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = (
    "1"  # laws compile much and run little: a third less time
)
# A quarter less again. Split modules would round differently in company.
_FLAGS = "--xla_cpu_parallel_codegen_split_count=1"
if importlib.metadata.version("jaxlib").startswith("0.10."):
    # Later versions have no such flag, and XLA ends the process at a flag that it does not know.
    _FLAGS += " --xla_cpu_use_fusion_emitters=false"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FLAGS}"
os.environ["JAX_PLATFORMS"] = os.environ.get("TEST_PLATFORMS", "cpu")  # see make test-gpu
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "standard"  # strict would break optax

install_import_hook(["pe_lab", "docs.build"], "beartype.beartype")
