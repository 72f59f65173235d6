"""The static part of a run group, built once and closed over by its programs."""

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from typing import Literal

import jax
import numpy as np
from flax import nnx
from jaxtyping import ArrayLike, Int, PyTree

from pe_lab.kernels import Kernels, choose
from pe_lab.model.flops import forward_flops
from pe_lab.model.transformer import Transformer
from pe_lab.positions.base import PositionScheme
from pe_lab.runs import plugins
from pe_lab.runs.plugins import Plugin
from pe_lab.runs.run import Run
from pe_lab.tasks.base import Task
from pe_lab.tasks.layouts import LAYOUTS, Layout
from pe_lab.training import checks, devices, leaks, splits
from pe_lab.training.lengths.base import LengthDistribution, shares
from pe_lab.training.placements import Placement, placements_of


@dataclasses.dataclass(frozen=True)
class Setup:
    """The static part of a run group.

    Attributes:
      run: any run of the group.
      schemes: the study's position scheme, then those that encodings name.
      lengths: the distribution of training lengths.
      abstract_model: the model without values.
      vmapped: members train as one batch; otherwise one after the other.
      batch_devices: the number of devices that share the batch of a member.
      split_rule: the inputs that are held out for evaluation.
      trained_inputs: the inputs that training can draw; None: the splits of the task's data are
        disjoint.
    """

    run: Run
    task: Task
    layout: Layout
    schemes: tuple[PositionScheme, ...]
    lengths: LengthDistribution
    abstract_model: Transformer
    kernels: Kernels
    vmapped: bool
    batch_devices: int
    split_rule: splits.Rule
    trained_inputs: splits.Trained | None

    @property
    def scheme(self) -> PositionScheme:
        """The study's position scheme."""
        return self.schemes[0]

    @property
    def scheme_names(self) -> tuple[str, ...]:
        return tuple(plugin.name for plugin in _scheme_plugins(self.run))

    # The model

    def model(self, params: PyTree) -> Transformer:
        return nnx.merge(nnx.graphdef(self.abstract_model), params)

    def initial_params(self, seed: Int[ArrayLike, ""]) -> PyTree:
        model = _model(self.run, self.task, self.layout, self.kernels, seed)
        return nnx.to_pure_dict(nnx.state(model, nnx.Param))

    @functools.cached_property
    def abstract_params(self) -> PyTree:
        """The parameters of one member without values."""
        return nnx.to_pure_dict(nnx.state(self.abstract_model, nnx.Param))

    @functools.cached_property
    def placements(self) -> tuple[Placement, ...]:
        """Every encoding module."""
        streams = tuple(self.num_tokens(self.run.train.max_length))
        placements: list[Placement] = []
        for name, stack in self.abstract_model.stacks.items():
            placements += placements_of(name, stack, streams)
        return tuple(placements)

    # Members

    def over_members(
        self, f: Callable[[PyTree], PyTree], num_members: int
    ) -> Callable[[PyTree], PyTree]:
        """Map a function of one member over the member axis of its argument, on all devices."""
        return devices.over_members(f, num_members, self.batch_devices, vmapped=self.vmapped)

    # Data

    @functools.cached_property
    def evaluated_task(self) -> Task:
        """The task that evaluation draws from; training draws from `task`."""
        return plugins.build("tasks", self.run.evaluated_task)

    def data(self, split: str) -> PyTree:
        """The data of a split, from which the task draws its examples; None for most tasks."""
        return jax.device_put(self.task.data(split))

    @functools.cached_property
    def data_digest(self) -> str | None:
        """sha256 of the data of all splits; None for a task that draws from keys alone."""
        data = [self.task.data(split) for split in ("train", "validation", "test")]
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(data)]
        digest = hashlib.sha256()
        for leaf in leaves:
            # Equal bytes of another type or shape are other data.
            digest.update(f"{leaf.dtype}{leaf.shape}".encode())
            digest.update(leaf.tobytes())
        return digest.hexdigest() if leaves else None

    # Lengths and positions

    def length_shares(self, num_steps: int) -> dict[int, float]:
        """The relative frequency of each training length, in the first steps of the training."""
        first, last = self.run.train.min_length, self.run.train.max_length
        by_index = shares(self.lengths, first, last, num_steps)
        return dict(zip(range(first, last + 1), by_index.tolist(), strict=True))

    def num_tokens(self, length: int) -> dict[str, int]:
        """Stack -> L of an example of this length; the stack that answers is last."""
        return self.layout.num_tokens(self.task, length)

    def context_lengths(self, length: int, train: bool) -> dict[str, int]:
        """Stack -> tokens that share one range of positions, for examples up to this length."""
        count = 1
        if train and not self.layout.document_mask:
            count = self.layout.examples_per_context
        return {stack: count * n for stack, n in self.num_tokens(length).items()}

    def largest_position(self, placement: Placement, length: int, train: bool) -> int | float:
        """The largest position that an encoding can meet in examples of this length."""
        site = placement.site
        scheme = self.schemes[site.scheme]
        axes = range(scheme.num_axes) if site.axis is None else [site.axis]
        context_lengths = self.context_lengths(length, train)
        parts = self.layout.parts(self.task, length)
        bounds = []
        # These structures may number the tokens of the other stream.
        numbers_all = scheme.follows in ("coupled", "grid")
        for stack in context_lengths if numbers_all else placement.streams:
            num_tokens = context_lengths[stack]
            num_examples = num_tokens // sum(parts[stack])
            context_parts = parts[stack] * num_examples
            bounds += [scheme.bound_on(axis, num_tokens, train, context_parts) for axis in axes]
        return max(bounds)

    # Information about targets

    @property
    def reveals_target_length(self) -> bool:
        """Whether the layout, positions that are read, or an encoding reveal the target length."""
        reads_length = any(p.encoding.requirements.reads_length for p in self.placements)
        return self.layout.reveals_target_length or self.revealed is not None or reads_length

    @property
    def revealed(self) -> Literal["length", "answer"] | None:
        """The part of a target that its positions reveal, if an encoding reads them."""
        if self.revealing_schemes("answer"):
            return "answer"
        return "length" if self.revealing_schemes("length") else None

    def revealing_schemes(self, what: Literal["length", "answer"]) -> list[str]:
        """Names of the schemes that encodings read and that reveal this."""
        indices = {p.site.scheme for p in self.placements if p.reads_positions}
        names = []
        for index in sorted(indices):
            revealed = leaks.revealed(self.task, self.layout, self.schemes[index])
            if revealed == what:
                names.append(self.scheme_names[index])
        return names

    # Cost

    @functools.cached_property
    def step_flops(self) -> int:
        """Mean floating-point operations of a step over all steps of a training."""
        return self.mean_step_flops(self.run.train.steps)

    def mean_step_flops(self, num_steps: int) -> int:
        """Return the mean floating-point operations of one member's step without padding.

        A step costs three forward passes. Lengths that depend on the step are those of the first
        steps of the training.
        """
        train, model = self.run.train, self.run.model
        fewest_loops = train.min_loops or model.num_loops
        models = []
        for num_loops in range(fewest_loops, model.num_loops + 1):
            models.append(dataclasses.replace(model, num_loops=num_loops))
        vocabularies = self.layout.vocabularies(self.task)
        num_contexts = train.batch_size
        num_examples = self.layout.examples_per_context
        if self.layout.document_mask:  # examples that do not see each other are contexts of one
            num_contexts *= num_examples
            num_examples = 1
        forward, total_share = 0.0, 0.0
        for length, share in self.length_shares(num_steps).items():
            tokens = {stack: num_examples * n for stack, n in self.num_tokens(length).items()}
            of_models = [forward_flops(looped, vocabularies, tokens) for looped in models]
            forward += share * sum(of_models) / len(of_models)
            total_share += share
        mean_forward = int(forward // total_share)
        return 3 * mean_forward * num_contexts


def build_setup(
    run: Run,
    *,
    trained: bool = True,
    platform: str | None = None,
    abstract_model: Transformer | None = None,
) -> Setup:
    """Build the plugins that a run's config names, and check that they fit together.

    Args:
      trained: the run is trained with this setup; otherwise it is only evaluated.
      platform: "cpu", "cuda", "tpu", …, for which programs are compiled; None: this process's.
      abstract_model: of another run with equal models, tasks, layouts and kernels; None: it is
        traced, which takes most of the time.

    Raises:
      UserError: an encoding, scheme or task refuses its arguments, the sizes or the lengths.
    """
    task = plugins.build("tasks", run.task)
    options = dataclasses.asdict(run.layout)
    layout = LAYOUTS[options.pop("name")](**options)
    rule = _split_rule(run)
    schemes = []
    for plugin in _scheme_plugins(run):
        scheme = plugins.build("positions", plugin, num_layers=run.model.num_layers)
        schemes.append(scheme)
    if platform is None:
        platform = jax.default_backend()
    vmapped = run.execution.members == "vmap"
    if run.execution.members == "auto":
        vmapped = platform != "cpu"  # a CPU trains one member after the other faster
    kernels = choose(run.execution.kernels, platform)
    if vmapped:
        kernels = kernels.with_whole_batches()
    if abstract_model is None:
        # It has no values, so no parameters are drawn for it.
        abstract_model = nnx.eval_shape(lambda: _model(run, task, layout, kernels, 0))
    setup = Setup(
        run=run,
        task=task,
        layout=layout,
        schemes=tuple(schemes),
        lengths=plugins.build("training.lengths", run.train.lengths),
        abstract_model=abstract_model,
        kernels=kernels,
        vmapped=vmapped,
        batch_devices=devices.for_batch(run.execution.batch_devices),
        split_rule=rule,
        trained_inputs=_trained_inputs(run, task, rule),
    )
    checks.check(setup, trained)
    return setup


def _model(
    run: Run,
    task: Task,
    layout: Layout,
    kernels: Kernels,
    seed: Int[ArrayLike, ""],
) -> Transformer:
    model = run.with_shared_scheme().model
    key = jax.random.key(seed)
    return Transformer(model, layout.vocabularies(task), kernels=kernels, key=key)


def _scheme_plugins(run: Run) -> tuple[Plugin, ...]:
    """The position schemes of a run, each once, in the order of the sites' indices."""
    return (run.positions, *run.with_shared_scheme().model.schemes)


def _split_rule(run: Run) -> splits.Rule:
    """The rule of the task that evaluation draws from: frozen examples follow it too."""
    if not run.train.exclude_held_out:
        return splits.Rule(None)
    return splits.rule(plugins.build("tasks", run.evaluated_task))


def _trained_inputs(run: Run, task: Task, rule: splits.Rule) -> splits.Trained | None:
    # `checks.check` refuses a training without examples.
    has_examples = task.max_length is None or run.train.min_length <= task.max_length
    if splits.has_data(task) or not has_examples:
        return None
    inputs = splits.trained(task, rule, run.train.min_length, run.train.max_length)
    return dataclasses.replace(inputs, everywhere=run.init_from is not None)
