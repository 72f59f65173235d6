"""Parameters of a finished run in the model of another run."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import jax
from jaxtyping import PyTree

from pe_lab.model.sites import Site, is_encoding
from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.run import Run
from pe_lab.runs.settings.evaluation_settings import Override
from pe_lab.runs.studies import study_files
from pe_lab.training.build import build_setup
from pe_lab.training.setup import Setup
from pe_lab.training.trained_runs import TrainedRun, load

ParamPath = tuple[str, ...]


def parent_of(run: Run, folder: Path) -> TrainedRun | None:
    """The finished run from which a run of the study in `folder` starts; None for a fresh start."""
    if run.init_from is None:
        return None
    parent_folder = study_files.folder_of(run.init_from.study, folder)
    parent = load(parent_folder, run.init_from.run_id)
    check_held_out(run, parent.record)
    return parent


def check_held_out(run: Run, parent: Record) -> None:
    """Refuse a parent that was trained on inputs which the run holds out.

    Args:
      parent: the record of the run from which `run` starts.
    """
    excluded = parent["config"]["train"]["exclude_held_out"]
    if excluded != run.train.exclude_held_out:
        raise UserError(
            f"The run {parent['run_id']} was trained with "
            f"config.train.exclude_held_out={excluded}, "
            f"and a run that starts from it has {run.train.exclude_held_out}: train it again, or "
            f"set both to the same value."
        )


def overridden(setup: Setup, override: Override) -> Setup:
    """The setup of a trained run group with an evaluation override.

    Raises:
      UserError: the override does not fit the model, or needs parameters that were not trained.
    """
    new_setup = build_setup(setup.run.with_override(override), trained=False)
    adopt(setup.abstract_params, setup, new_setup)
    # The override may have another task than training drew its inputs from.
    return dataclasses.replace(new_setup, trained_inputs=setup.trained_inputs)


def _check_backbone(old: Run, new: Run) -> None:
    """Check the settings of the model that change no shape of a parameter."""
    for name in ("num_heads", "activation", "norm_position", "scale_embeddings", "scale_logits"):
        before, now = getattr(old.model, name), getattr(new.model, name)
        if before != now:
            raise UserError(
                f"The model differs from the model of the run {old.run_id}: config.model.{name} is "
                f"{before!r} there and {now!r} here."
            )


def adopt(params: PyTree, old_setup: Setup, new_setup: Setup, fresh: PyTree = None) -> PyTree:
    """Parameters of one run in the model of another.

    The backbones must be the same. An encoding adopts the parameters of the encoding of the same
    name that acted at least on its layers and heads.

    Args:
      params: of one member, or with a member axis in front.
      fresh: new parameters of `new_setup`, for encodings that the old model lacks; None: such an
        encoding is refused.

    Raises:
      UserError: the backbones differ, or an encoding's parameters do.
    """
    _check_backbone(old_setup.run, new_setup.run)
    old = _by_path(params)
    new = None if fresh is None else _by_path(fresh)
    first_old = jax.tree.leaves(old_setup.abstract_params)[0]
    num_member_axes = jax.tree.leaves(params)[0].ndim - first_old.ndim
    old_modules = _modules(old_setup)
    new_modules = {module.path: module for module in _modules(new_setup)}
    run_id = old_setup.run.run_id
    new_leaves = _by_path(new_setup.abstract_params)
    adopted = []
    for path, leaf in new_leaves.items():
        source: ParamPath | None = path
        if is_encoding(path):
            # A path begins with the path of its module: stack, list and index.
            old_module = new_modules[path[:3]].find_in(old_modules)
            source = None if old_module is None else (*old_module.path, *path[3:])
        if source is None:  # an encoding that the old model lacks
            if new is None:
                name = new_modules[path[:3]].name
                raise UserError(
                    f"{name} has parameters that the run {run_id} was not trained with."
                )
            adopted.append(new[path])
            continue
        shape: tuple[int, ...] | str = "missing"
        if source in old:
            shape = tuple(old[source].shape[num_member_axes:])
        if shape != leaf.shape:
            raise UserError(
                f"The model differs from the model of the run {run_id}: "
                f"{'.'.join(path)} is {shape} there and {leaf.shape} here."
            )
        adopted.append(old[source])
    # An encoding of the old model may be left out, but no part of its backbone.
    only_old = [path for path in old.keys() - new_leaves.keys() if not is_encoding(path)]
    if only_old:
        names = sorted(".".join(path) for path in only_old)
        raise UserError(
            f"The model differs from the model of the run {run_id}: it has no {names[0]}."
        )
    structure = jax.tree.structure(new_setup.abstract_params)
    return jax.tree.unflatten(structure, adopted)


@dataclasses.dataclass(frozen=True)
class _Module:
    """An encoding module of a model.

    Attributes:
      path: stack, list and index, the start of its parameters' paths.
      role: "input", "attention" or "cross".
      layers: on which it acts; empty at the input.
      heads: on which it acts; all at the input.
      copy: its number among modules that agree in everything else.
    """

    path: ParamPath
    role: str
    name: str
    layers: frozenset[int]
    heads: frozenset[int]
    copy: int = 0

    @property
    def kind(self) -> tuple[str, str, str]:
        return self.path[0], self.role, self.name

    def is_copy_of(self, other: "_Module") -> bool:
        """Whether both are the same encoding on the same layers and heads."""
        same_place = self.layers == other.layers and self.heads == other.heads
        return self.kind == other.kind and same_place

    def find_in(self, modules: Sequence["_Module"]) -> "_Module | None":
        """The same encoding of another model, which acts where this one acts, or on more.

        Modules with exactly the same layers come first, then those with the same heads.
        """
        candidates = []
        for module in modules:
            acts_here = module.layers >= self.layers and module.heads >= self.heads
            if module.kind == self.kind and acts_here:
                candidates.append(module)
        # The sort is stable, so equal candidates keep the order of the config.
        candidates.sort(key=lambda m: (m.layers != self.layers, m.heads != self.heads))
        if len(candidates) <= self.copy:
            return None
        return candidates[self.copy]


def _modules(setup: Setup) -> list[_Module]:
    modules: list[_Module] = []
    placements = iter(setup.placements)
    all_heads = range(setup.run.model.num_heads)

    def add(path: ParamPath, role: str, layers: frozenset[int]) -> None:
        placement = next(placements)
        heads = placement.site.heads
        acts_on = frozenset(all_heads if heads is None else heads)
        module = _Module(path, role, placement.name, layers, acts_on)
        copy = sum(m.is_copy_of(module) for m in modules)
        modules.append(dataclasses.replace(module, copy=copy))

    for name, stack in setup.abstract_model.stacks.items():
        for i in range(len(stack.input_encodings)):
            add((name, "input_encodings", str(i)), "input", frozenset())
        for i in range(len(stack.attention_encodings)):
            layers = _layers_of(i, stack.layer_sites)
            # Both attentions of a decoder layer share one list of modules.
            role = "attention" if layers else "cross"
            layers = layers or _layers_of(i, stack.cross_sites)
            add((name, "attention_encodings", str(i)), role, layers)
    return modules


def _layers_of(
    index: int,
    layers: tuple[tuple[Site, ...], ...],
) -> frozenset[int]:
    """The layers on which an encoding acts."""
    acts_on = []
    for layer, sites in enumerate(layers):
        if any(site.index == index for site in sites):
            acts_on.append(layer)
    return frozenset(acts_on)


def _by_path(tree: PyTree) -> dict[ParamPath, PyTree]:
    by_path = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        names = tuple(str(part.key) for part in path)
        by_path[names] = leaf
    return by_path
