"""The setups of a study's run groups, and the memory that their states need at least.

A model is traced once for all groups that share it.
"""

import os
from collections.abc import Hashable, Iterable

from pe_lab.model.transformer import Transformer
from pe_lab.runs.run import Run, RunGroup
from pe_lab.training.build import build_setup
from pe_lab.training.costs import num_parameters
from pe_lab.training.setup import Setup

_ARRAYS = 3  # of the parameters' size: parameters, gradients and one moment; AdamW has two
_BYTES = 4  # of a float32


class Setups:
    """Setups of runs, each built when it is first needed.

    Tracing a model takes most of the time. It depends on few of the settings, and so run groups
    that differ in steps, lengths or batches share one model.
    """

    def __init__(self) -> None:
        self._setups: dict[Hashable, Setup] = {}
        self._models: dict[Hashable, Transformer] = {}

    def of(self, run: Run) -> Setup:
        """Return the setup of a run, which all runs share that may be in one run group.

        Raises:
          UserError: an encoding, scheme or task refuses its arguments, the sizes or the lengths.
        """
        # Training from the parameters of a parent draws other inputs.
        key = (run.group_key(), run.init_from is not None)
        if key not in self._setups:
            self._setups[key] = self._build(run)
        return self._setups[key]

    def _build(self, run: Run) -> Setup:
        execution = run.execution
        # All that a model depends on.
        key = (run.with_shared_scheme().model, run.task, run.layout, execution)
        setup = build_setup(run, abstract_model=self._models.get(key))
        self._models[key] = setup.abstract_model
        return setup

    def built(self) -> list[Setup]:
        """Return all setups so far."""
        return list(self._setups.values())


def memory_note(groups: Iterable[RunGroup], setups: Setups) -> str | None:
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
