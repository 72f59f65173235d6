"""The setups of a study's run groups. A model is traced once for all groups that share it."""

from collections.abc import Hashable

from pe_lab.model.transformer import Transformer
from pe_lab.runs.run import Run
from pe_lab.training.build import build_setup
from pe_lab.training.setup import Setup


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
