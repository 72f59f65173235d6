"""Checks the installation: versions, devices, packages, members.

    pe-lab doctor

It runs one computation on the first device. Exit status: 0; 1 if JAX cannot compute.
"""

import dataclasses
import importlib.metadata
import os
import platform
from importlib.util import find_spec
from pathlib import Path

import pe_lab
from pe_lab.runs.errors import described
from pe_lab.runs.plugins import other_packages, plugins
from pe_lab.runs.system import terminal

_PACKAGES = ("jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy", "pandas", "scipy")
# Extra -> the modules that it adds, and what needs it.
_EXTRAS = {
    "text": (("array_record", "tensorflow_datasets"), "text"),
    "laws": (("beartype", "pytest"), "pe-lab laws"),
    "report": (("vl_convert",), "pe-lab report"),
    "slurm": (("submitit",), "the slurm launcher"),
    "ray": (("ray",), "the ray launcher"),
    "writers": (("pyarrow", "safetensors", "tensorboardX", "trackio", "wandb"), "pe-lab export"),
    "mlflow": (("mlflow",), "pe-lab export --to=mlflow"),
}


@dataclasses.dataclass(frozen=True)
class Options:
    """It has no arguments."""


def run(options: Options) -> int:
    del options
    terminal.show(f"pe_lab {pe_lab.__version__} in {Path(pe_lab.__file__).parent}")
    terminal.show(f"Python {platform.python_version()}, {os.cpu_count()} CPU cores")
    terminal.show(", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES))
    _print_extras()
    _print_members()
    return _check_jax()


def _print_extras() -> None:
    """Print the optional packages, and how to install those that are missing."""
    terminal.show("optional packages:")
    for extra, (modules, use) in _EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        state = f"without {', '.join(missing)}" if missing else "installed"
        if len(missing) == len(modules):
            state = "not installed"
        command = f": pip install 'pe_lab[{extra}]'" if missing else ""
        terminal.show(f"  {extra:7}  {state}, for {use}{command}")


def _print_members() -> None:
    """Print the members that installed packages add, and those that a file of pe_lab hides."""
    for family in other_packages.FAMILIES:
        own = plugins.names(family)
        for name, path in other_packages.installed(family).items():
            hidden = f" is hidden by pe_lab's own {name}" if name in own else ""
            terminal.show(f"{family}: {name} = {path}{hidden}")


def _check_jax() -> int:
    """Print the devices and compute on the first one."""
    try:
        import jax

        from pe_lab.training import devices

        if (reason := devices.unusable()) is not None:
            terminal.show(reason)
            return 1
        terminal.show(f"JAX devices: {', '.join(map(str, jax.devices()))}")
        total = float(jax.numpy.arange(4.0).sum())
    except Exception as e:  # whatever is wrong with the installation
        terminal.show(f"JAX cannot compute: {described(e)}")
        return 1
    if total != 6:
        terminal.show(f"JAX computes 0 + 1 + 2 + 3 as {total:g}.")
        return 1
    terminal.show("JAX works.")
    return 0
