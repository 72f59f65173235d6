"""The run from which another run starts, with its optimizer and its step if training goes on."""

from collections.abc import Collection, Hashable, Sequence
from pathlib import Path

import jax
import numpy as np
import optax

from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.run import Run
from pe_lab.runs.studies import study_files
from pe_lab.training.setup import Setup
from pe_lab.training.state import TrainState
from pe_lab.training.trained_runs import TrainedRun, load
from pe_lab.training.warm_start import ParamPath, adopt, sources


def parent_of(run: Run, folder: Path) -> TrainedRun | None:
    """The finished run from which a run of the study in `folder` starts; None for a fresh start."""
    if run.init_from is None:
        return None
    parent_folder = study_files.folder_of(run.init_from.study, folder)
    parent = load(parent_folder, run.init_from.run_id)
    check_parent(run, parent.record)
    return parent


def check_parent(run: Run, parent: Record) -> None:
    """Check the settings of a run against those of the run from which it starts.

    Raises:
      UserError: the parent was trained on inputs which the run holds out, or the run keeps its
        optimizer and has another one.
    """
    train = parent["config"]["train"]
    excluded = train["exclude_held_out"]
    if excluded != run.train.exclude_held_out:
        raise UserError(
            f"The run {parent['run_id']} was trained with "
            f"config.train.exclude_held_out={excluded}, "
            f"and a run that starts from it has {run.train.exclude_held_out}: train it again, or "
            f"set both to the same value."
        )
    # Records from before there was a choice do not name it.
    optimizer = train.get("optimizer", {"name": "adamw"})["name"]
    if run.continues and optimizer != run.train.optimizer.name:
        raise UserError(
            f"The run {parent['run_id']} was trained with the optimizer {optimizer}, and a run "
            f"that keeps its optimizer has {run.train.optimizer.name}: set config.train.optimizer "
            f"to the same name."
        )


def steps_kept(runs: Sequence[Run], parents: Sequence[TrainedRun | None]) -> int:
    """The step at which the members of a run group begin: 0, or that at which their parents ended.

    Raises:
      UserError: the parents ended at different steps, or at the last step of the runs.
    """
    steps = {}
    for run, parent in zip(runs, parents, strict=True):
        if parent is None or not run.continues:
            return 0  # and so for all members
        steps[parent.step] = run.run_id
    first, *others = sorted(steps)
    if others:
        raise UserError(
            f"The runs that {steps[first]} and {steps[others[0]]} continue ended at the steps "
            f"{first} and {others[0]}, and the members of a run group share their step: set "
            f"config.execution.max_members to 1."
        )
    total = runs[0].train.steps
    if total <= first:
        raise UserError(
            f"The run that {steps[first]} continues has trained {first} steps, and "
            f"config.train.steps counts them too: it must be more than {first}, got {total}."
        )
    return first


def start(parent: TrainedRun, setup: Setup, run: Run, fresh: TrainState) -> dict[str, object]:
    """The fields of the first state that come from the parent, as NumPy arrays.

    Args:
      setup: of the run that starts.
      fresh: the first state of one member without a parent.
    """
    fields: dict[str, object] = {
        "params": adopt(parent.params, parent.setup, setup, fresh.params),
    }
    if run.continues:
        fields["optimizer"] = _adopt_optimizer(parent, setup, fresh.optimizer)
        fields["step"] = np.int32(parent.step)
    # A restored array belongs to one device, and the state may be on several.
    return jax.tree.map(np.asarray, fields)


def _adopt_optimizer(parent: TrainedRun, setup: Setup, fresh: optax.OptState) -> optax.OptState:
    """The state of the parent's optimizer, and a fresh one of parameters that are new."""
    source_of = sources(parent.setup, setup)
    old_paths = {source for source in source_of.values() if source is not None}
    old = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(parent.optimizer):
        old[_split(path, old_paths)] = leaf
    adopted = []
    for path, leaf in jax.tree_util.tree_leaves_with_path(fresh):
        where, param = _split(path, source_of.keys())
        # A counter belongs to no parameter and is always adopted.
        source = source_of[param] if param else ()
        if source is None:
            adopted.append(leaf)
        elif (where, source) in old:
            adopted.append(old[where, source])
        else:
            raise UserError(
                f"The optimizer of the run {parent.setup.run.run_id} has no state "
                f"{jax.tree_util.keystr(path, simple=True, separator='.')}: start without "
                f'keep="optimizer".'
            )
    return jax.tree.unflatten(jax.tree.structure(fresh), adopted)


def _split(
    path: tuple[Hashable, ...], params: Collection[ParamPath]
) -> tuple[tuple[Hashable, ...], ParamPath]:
    """A path into an optimizer's state as the place of a moment and the path of a parameter.

    The latter is empty for a state that belongs to no parameter, such as a counter.
    """
    names = tuple(str(getattr(part, "key", part)) for part in path)
    for i in range(len(path)):  # the longest suffix first
        if names[i:] in params:
            return path[:i], names[i:]
    return path, ()
