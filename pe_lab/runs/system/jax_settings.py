"""Settings of JAX outside of a config, on which draws, parameters and results depend.

The environment, a config and every imported module can change them. A process of pe_lab sets them
to STANDARD when it starts. A module that changes them is refused. They are not set in programs that
import parts of pe_lab: a training in such a program checks them.

JAX is not imported here: commands that need no JAX start faster.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.system import texts

STANDARD = MappingProxyType(
    {
        "jax_default_prng_impl": "threefry2x32",
        "jax_threefry_partitionable": True,
        "jax_random_seed_offset": 0,
        "jax_high_dynamic_range_gumbel": False,
        "jax_enable_x64": False,
        "jax_numpy_dtype_promotion": "standard",
        "jax_disable_jit": False,
        # They end a run with an error: one that diverges, or one in bfloat16.
        "jax_debug_nans": False,
        "jax_debug_infs": False,
        "jax_allow_f16_reductions": True,
    }
)
# They change the rounding of programs alone, and are recorded.
_VARIABLES = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "NVIDIA_TF32_OVERRIDE")
_RECORDED = (
    "jax_default_matmul_precision",
    "jax_disable_most_optimizations",
    "jax_use_direct_linearize",
)


def bind() -> None:
    """Give this process the standard settings, and the processes that it starts."""
    for name, value in STANDARD.items():
        os.environ[name.upper()] = str(value)  # JAX reads it when it is imported
    _set(STANDARD)


def current() -> JsonObject:
    """The settings that STANDARD names; before JAX is imported, those that it will read."""
    jax = sys.modules.get("jax")
    if jax is None:
        return {name: _from_environment(name, value) for name, value in STANDARD.items()}
    return {name: _plain(getattr(jax.config, name)) for name in STANDARD}


def recorded() -> JsonObject:
    """The settings that provenance has: those of STANDARD, and those that change the rounding."""
    jax: Any = sys.modules["jax"]
    settings = dict(current())
    for name in _RECORDED:
        settings[name] = _plain(jax.config.values[name])
    for name in _VARIABLES:
        if name in os.environ:
            settings[name] = texts.printable(os.environ[name])  # as a reader will have it
    return settings


def check() -> None:
    """Check that this process has the standard settings.

    Raises:
      UserError: it has others.
    """
    if changes := differing(current(), dict(STANDARD)):
        raise _refusal("This process", changes)


@contextlib.contextmanager
def kept(module: str) -> Iterator[None]:
    """Refuse a module that changes settings in the `with` block, and restore them.

    Raises:
      UserError: it has changed them.
    """
    before = current()
    try:
        yield
        if changes := differing(current(), before):
            raise _refusal(module, changes)
    finally:
        if current() != before:
            _set(before)


def differing(settings: JsonObject, other: JsonObject) -> JsonObject:
    """The settings of STANDARD that differ from other ones. A missing one is the standard."""
    changes = {}
    for name, standard in STANDARD.items():
        value = settings.get(name, standard)
        if value != other.get(name, standard):
            changes[name] = value
    return changes


def _refusal(who: str, changes: JsonObject) -> UserError:
    name, value = next(iter(changes.items()))
    return UserError(
        f"{who} sets {name} to {value!r}. pe_lab computes with {STANDARD[name]!r}, because equal "
        f"configs must give equal numbers: remove the setting."
    )


def _set(settings: JsonObject) -> None:
    jax = sys.modules.get("jax")
    if jax is not None:
        for name, value in settings.items():
            jax.config.update(name, value)


def _from_environment(name: str, standard: Any) -> object:
    text = os.environ.get(name.upper())
    if text is None:
        return standard
    if isinstance(standard, bool):
        return text.lower() in ("1", "on", "t", "true", "y", "yes")  # as JAX reads it
    return type(standard)(text)


def _plain(value: object) -> object:
    return getattr(value, "value", value)  # some are members of an enumeration
