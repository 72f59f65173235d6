"""A finished run as an input: its parameters, whole or in the model of another run."""

import dataclasses
import functools
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.model.sites import Site, is_encoding
from pe_lab.model.stack import Stack
from pe_lab.model.transformer import Transformer
from pe_lab.runs import config, older_records, records, study_files
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import Cell, Run
from pe_lab.training import checkpoints, step
from pe_lab.training.step import Setup, State


def read_cell(file: Path) -> Cell:
    """A cell from the file that a sweep wrote."""
    runs = json.loads(file.read_text(encoding="utf-8"))["runs"]
    return Cell(tuple(config.from_dict(older_records.upgrade_config(values)) for values in runs))


def replicas_of(cell: Cell, first_steps: list[int]) -> dict[str, np.ndarray]:
    """What tells the runs of a cell apart, as NumPy arrays [R]: step.Replicas without a device."""
    runs = cell.runs
    values: dict[str, tuple[list[Any], type]] = {
        "seed": ([run.seed for run in runs], np.int32),
        "data_seed": ([run.data_seed for run in runs], np.int32),
        "first_step": (first_steps, np.int32),
        "learning_rate": ([run.train.learning_rate for run in runs], np.float32),
        "weight_decay": ([run.train.weight_decay for run in runs], np.float32),
    }
    return {name: np.array(numbers, dtype) for name, (numbers, dtype) in values.items()}


def shapes_of(made: Setup, num_replicas: int) -> State:
    """The state of a cell without values: what its checkpoint must look like."""
    replicas = replicas_of(Cell((made.run,)), [0])
    stacked = jax.tree.map(lambda r: jax.ShapeDtypeStruct((num_replicas,), r.dtype), replicas)
    return jax.eval_shape(functools.partial(step.init, made), stacked)


def point_of(state: State) -> dict[str, Any]:
    """What is kept of a state at a point of the curve: parameters, and the steps that each replica
    has trained.
    """
    return {"params": state["params"], "step": jnp.minimum(state["step"], state["stop_at"])}


@dataclasses.dataclass(frozen=True)
class Finished:
    """A run with a record and a checkpoint."""

    made: Setup
    record: dict[str, Any]
    params: Any

    @property
    def model(self) -> Transformer:
        """The run's model with its final parameters."""
        return self.made.model(self.params)


def load(folder: Path, run_id: str) -> Finished:
    """A run of the study in `folder` with its final parameters.

    Raises:
      UserError: there is no such run, it did not finish, or its checkpoint is gone or damaged.
    """
    path = records.path_of(folder, run_id)
    if not path.exists():
        raise UserError(f"There is no run {run_id} in {folder}.")
    record = records.read(path)
    state, cell = load_state(folder, record)
    replica = record["checkpoint"]["replica"]
    return Finished(
        step.setup(cell.runs[replica]),
        record,
        jax.tree.map(lambda leaf: leaf[replica], state["params"]),
    )


def load_state(folder: Path, record: dict[str, Any]) -> tuple[State, Cell]:
    """The final state of all replicas of a run's cell, and the cell."""
    cell, where, shapes = _kept(folder, record)
    run_id, place = record["run_id"], record["checkpoint"]
    found = checkpoints.restore(where, shapes)
    if found is None or int(found[0]["step"][place["replica"]]) != place["step"]:
        raise UserError(
            f"The checkpoint of {run_id} is gone: {where} does not hold step {place['step']}."
        )
    return found[0], cell


def _kept(folder: Path, record: dict[str, Any]) -> tuple[Cell, Path, State]:
    """The cell of a run, where its checkpoints are, and what a state of it looks like."""
    run_id, place = record["run_id"], record["checkpoint"]
    if record["status"] != "finished":
        raise UserError(f"The run {run_id} in {folder} has not finished, it {record['status']}.")
    if place is None:
        raise UserError(
            f"The run {run_id} kept no final parameters: config.checkpoints.keep_final was False."
        )
    file = folder / "cells" / f"{records.plain(place['cell'])}.json"
    if not file.exists():  # a published study has none
        raise UserError(f"The checkpoint of {run_id} is gone: {file} is missing.")
    cell = read_cell(file)
    return (
        cell,
        folder / "checkpoints" / place["cell"],
        shapes_of(step.setup(cell.run), len(cell.runs)),
    )


def through_training(folder: Path, record: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """The parameters of a run after so many steps, at every point of its curve that was kept; none
    where none were.

    One state after the other is read when it is asked for. A replica that has stopped before the
    others of its cell has its last parameters at all points from there on: they come once, with the
    steps that it trained.

    Raises:
      UserError: as for `load`, or a point is damaged.
    """
    _, where, shapes = _kept(folder, record)
    replica = record["checkpoint"]["replica"]
    found = checkpoints.points(where, jax.eval_shape(point_of, shapes))
    for trained, states in itertools.groupby(found, lambda point: int(point["step"][replica])):
        yield trained, jax.tree.map(lambda leaf: leaf[replica], next(states)["params"])


def trained_model(folder: Path, run_id: str) -> Transformer:
    """The model of a run with its final parameters, to be called or taken apart; errors as for
    `load`.
    """
    return load(folder, run_id).model


def parent_of(run: Run, folder: Path) -> Finished | None:
    """What a run of the study in `folder` starts from."""
    if run.init_from is None:
        return None
    parent = load(study_files.folder_of(run.init_from.study, folder), run.init_from.run_id)
    check_drawing(run, parent.record)
    return parent


def check_drawing(run: Run, parent: dict[str, Any]) -> None:
    """Refuse a parent that was trained on inputs which the run holds out.

    Args:
      parent: the record of the run that `run` starts from.
    """
    if parent["config"]["train"]["drawing"] != run.train.drawing:
        raise UserError(
            f"The run {parent['run_id']} was trained with config.train.drawing="
            f"{parent['config']['train']['drawing']}, and a run that starts from it has "
            f"{run.train.drawing}: train it again, or set both alike."
        )


def adopt(params: Any, of: Setup, into: Setup, fresh: Any = None) -> Any:
    """Parameters of one run in the model of another: the same backbone, encodings where they act on
    the same layers.

    Args:
      params: of one replica, or with a replica axis in front.
      fresh: parameters of `into`, for encodings that `of` has not; without them such an encoding is
        refused.

    Raises:
      UserError: the backbones differ, or an encoding's parameters do.
    """
    old, new = _by_path(params), None if fresh is None else _by_path(fresh)
    axes = jax.tree.leaves(params)[0].ndim - jax.tree.leaves(of.abstract_params)[0].ndim
    theirs, mine = _modules(of), {m.path: m for m in _modules(into)}
    wanted, adopted = _by_path(into.abstract_params), []
    for path, leaf in wanted.items():
        source: tuple[str, ...] | None = path
        if is_encoding(path):
            found = mine[path[:3]].among(theirs)
            source = None if found is None else (*found.path, *path[3:])
        if source is None:
            if new is None:
                raise UserError(
                    f"{mine[path[:3]].name} has parameters that the run {of.run.run_id} was not "
                    f"trained with."
                )
            adopted.append(new[path])
            continue
        has = tuple(old[source].shape[axes:]) if source in old else "missing"
        if has != leaf.shape:
            where = f"{'.'.join(path)} is {has} there and {leaf.shape} here"
            raise UserError(f"The model differs from that of the run {of.run.run_id}: {where}.")
        adopted.append(old[source])
    if left := sorted(
        ".".join(path) for path in old.keys() - wanted.keys() if not is_encoding(path)
    ):
        raise UserError(
            f"The model differs from that of the run {of.run.run_id}: it has no {left[0]}."
        )
    return jax.tree.unflatten(jax.tree.structure(into.abstract_params), adopted)


@dataclasses.dataclass(frozen=True)
class _Module:
    """An encoding of a model: where it stands in the parameters, and where it acts."""

    path: tuple[str, ...]  # stack, list, index
    role: str  # "input", "attention", "cross"
    name: str
    layers: frozenset[int]
    copy: int  # among those alike

    def among(self, modules: list["_Module"]) -> "_Module | None":
        """The same encoding of another model: it acts at least where this one does, and just there
        if one does.
        """
        mine = (self.path[0], self.role, self.name)
        alike = [
            m for m in modules if (m.path[0], m.role, m.name) == mine and m.layers >= self.layers
        ]
        alike.sort(key=lambda m: m.layers != self.layers)
        return alike[self.copy] if len(alike) > self.copy else None


def _modules(made: Setup) -> list[_Module]:
    found: list[_Module] = []

    def add(path: tuple[str, ...], role: str, encoding: Any, layers: frozenset[int]) -> None:
        name = step.name_of(encoding)
        copy = sum(
            (m.path[0], m.role, m.name, m.layers) == (path[0], role, name, layers) for m in found
        )
        found.append(_Module(path, role, name, layers, copy))

    stacks: dict[str, Stack] = made.abstract_model.stacks
    for name, stack in stacks.items():
        for i, input_encoding in enumerate(stack.input_encodings):
            add((name, "input_encodings", str(i)), "input", input_encoding, frozenset())
        for i, encoding in enumerate(stack.attention_encodings):
            own, across = (_layers_of(i, where) for where in (stack.layer_sites, stack.cross_sites))
            add(
                (name, "attention_encodings", str(i)),
                "attention" if own else "cross",
                encoding,
                own or across,
            )
    return found


def _layers_of(index: int, layers: tuple[tuple[Site, ...], ...]) -> frozenset[int]:
    """The layers on which an encoding acts."""
    return frozenset(i for i, sites in enumerate(layers) if index in [s.index for s in sites])


def _by_path(tree: Any) -> dict[tuple[str, ...], Any]:
    return {
        tuple(str(part.key) for part in path): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }
