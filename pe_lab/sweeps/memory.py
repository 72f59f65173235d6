"""The memory that the states of run groups need at least, compared with this machine's."""

import os
from collections.abc import Iterable

from pe_lab.runs.run import RunGroup
from pe_lab.sweeps.setups import Setups
from pe_lab.training.costs import num_parameters
from pe_lab.training.setup import Setup

_ARRAYS = 3  # of the parameters' size: parameters, gradients and one moment; AdamW has two
_BYTES = 4  # of a float32


def note(groups: Iterable[RunGroup], setups: Setups) -> str | None:
    """Return a sentence if a run group needs more memory than this machine has, or None."""
    needed = [state_bytes(group, setups.of(group.run)) for group in groups]
    available = machine_bytes()
    largest = max(needed, default=0)
    if available is None or largest <= available:
        return None
    return (
        f"a run group needs at least {largest / 1e9:,.0f} GB for parameters, gradients and the "
        f"optimizer; this machine has {available / 1e9:,.0f} GB of memory"
    )


def state_bytes(group: RunGroup, setup: Setup) -> int:
    """Return the bytes that parameters, gradients and optimizer of all members have at least."""
    return len(group.runs) * _ARRAYS * _BYTES * num_parameters(setup.abstract_params)


def machine_bytes() -> int | None:
    """Return this machine's memory; None if the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
