"""Parameters of a finished run in the model of another run."""

import dataclasses
from collections.abc import Sequence

import jax
from jaxtyping import PyTree

from pe_lab.model.sites import Site, is_encoding
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import Run
from pe_lab.runs.settings.evaluation_settings import Override
from pe_lab.training.build import build_setup
from pe_lab.training.setup import Setup

ParamPath = tuple[str, ...]

# Settings of the backbone that change no shape of a parameter.
_WITHOUT_PARAMETERS = (
    "num_heads",
    "activation",
    "norm_position",
    "scale_embeddings",
    "scale_logits",
    "sliding_window",
    "convolution_residual",
    "key_offset",
    "key_offset_layers",
    "loop_injection",
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
    for name in _WITHOUT_PARAMETERS:
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
    old = by_path(params)
    new = None if fresh is None else by_path(fresh)
    adopted = []
    for path, source in sources(old_setup, new_setup).items():
        if source is not None:
            adopted.append(old[source])
        elif new is not None:
            adopted.append(new[path])
        else:
            name = next(module.name for module in _modules(new_setup) if module.path == path[:3])
            raise UserError(
                f"{name} has parameters that the run {old_setup.run.run_id} was not trained with."
            )
    structure = jax.tree.structure(new_setup.abstract_params)
    return jax.tree.unflatten(structure, adopted)


def sources(old_setup: Setup, new_setup: Setup) -> dict[ParamPath, ParamPath | None]:
    """The path in the old model of each parameter of the new one, in the order of its leaves.

    It is None for an encoding that the old model lacks.

    Raises:
      UserError: the backbones differ, or an encoding's parameters do.
    """
    _check_backbone(old_setup.run, new_setup.run)
    old_leaves, new_leaves = (by_path(s.abstract_params) for s in (old_setup, new_setup))
    old_modules = _modules(old_setup)
    new_modules = {module.path: module for module in _modules(new_setup)}
    run_id = old_setup.run.run_id
    source_of: dict[ParamPath, ParamPath | None] = {}
    for path, leaf in new_leaves.items():
        source: ParamPath = path
        if is_encoding(path):
            # A path begins with the path of its module: stack, list and index.
            old_module = new_modules[path[:3]].find_in(old_modules)
            if old_module is None:
                source_of[path] = None
                continue
            source = (*old_module.path, *path[3:])
        shape: tuple[int, ...] | str = "missing"
        if source in old_leaves:
            shape = tuple(old_leaves[source].shape)
        if shape != leaf.shape:
            raise UserError(
                f"The model differs from the model of the run {run_id}: "
                f"{'.'.join(path)} is {shape} there and {leaf.shape} here."
            )
        source_of[path] = source
    # An encoding of the old model may be left out, but no part of its backbone.
    only_old = [path for path in old_leaves.keys() - new_leaves.keys() if not is_encoding(path)]
    if only_old:
        names = sorted(".".join(path) for path in only_old)
        raise UserError(
            f"The model differs from the model of the run {run_id}: it has no {names[0]}."
        )
    return source_of


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


def by_path(tree: PyTree) -> dict[ParamPath, PyTree]:
    """The parameters of a model by their path."""
    by_path = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        names = tuple(str(part.key) for part in path)
        by_path[names] = leaf
    return by_path
