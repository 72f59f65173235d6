"""The static part of a run group, built once and closed over by its programs."""

import dataclasses
import functools
import hashlib

import jax
import numpy as np
from flax import nnx
from jaxtyping import ArrayLike, Int, PyTree

from pe_lab.encodings.base import AttentionEncoding, InputEncoding
from pe_lab.kernels import Kernels, choose
from pe_lab.model.sites import Site
from pe_lab.model.stack import Stack
from pe_lab.model.transformer import Transformer
from pe_lab.positions.base import PositionScheme
from pe_lab.runs.plugins import plugins
from pe_lab.runs.run import Run
from pe_lab.runs.settings.plugin import Plugin
from pe_lab.tasks.base import Task
from pe_lab.tasks.layouts import LAYOUTS, Layout
from pe_lab.training import devices, splits
from pe_lab.training.devices import Devices
from pe_lab.training.lengths.base import LengthDistribution
from pe_lab.training.optimizers.base import Optimizer


@dataclasses.dataclass(frozen=True)
class Placement:
    """An encoding module with the positions that it reads.

    Attributes:
      site: its position scheme and axis.
      streams: the stacks whose positions it reads.
    """

    encoding: InputEncoding | AttentionEncoding
    site: Site
    streams: tuple[str, ...]

    @property
    def name(self) -> str:
        """The word for the encoding in configs: the name of its file."""
        return type(self.encoding).__module__.rpartition(".")[2]

    @property
    def reads_positions(self) -> bool:
        # An encoding without heads acts nowhere, so its positions do not matter.
        return self.encoding.requirements.reads_positions and self.site.heads != ()


@dataclasses.dataclass(frozen=True)
class Setup:
    """The static part of a run group.

    Attributes:
      run: any run of the group.
      schemes: the study's position scheme, then those that encodings name.
      lengths: the distribution of training lengths.
      optimizer: how gradients become updates.
      abstract_model: the model without values.
      split_rule: the inputs that are held out for evaluation.
      trained_inputs: the inputs that training can draw; None: the splits of the task's data are
        disjoint.
    """

    run: Run
    task: Task
    layout: Layout
    schemes: tuple[PositionScheme, ...]
    lengths: LengthDistribution
    optimizer: Optimizer
    abstract_model: Transformer
    kernels: Kernels
    devices: Devices
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
        # The graph is static, so merging happens while a program is traced.
        return nnx.merge(nnx.graphdef(self.abstract_model), params)

    def initial_params(self, seed: Int[ArrayLike, ""]) -> PyTree:
        model = _model(self.run, self.task, self.layout, self.kernels, seed)
        # Plain dictionaries, so that checkpoints name arrays and no classes of Flax.
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
            placements += _placements_of(name, stack, streams)
        return tuple(placements)

    # Data

    @functools.cached_property
    def evaluated_task(self) -> Task:
        """The task that evaluation draws from; training draws from `task`."""
        return _evaluated_task(self.run, self.task)

    def data(self, split: str) -> PyTree:
        # On the device before the first step: the program takes it as an argument.
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

    def num_tokens(self, length: int) -> dict[str, int]:
        """Stack -> L of an example of this length."""
        return self.layout.num_tokens(self.task, length)


def assemble(
    run: Run,
    *,
    platform: str | None = None,
    abstract_model: Transformer | None = None,
) -> Setup:
    """Build the plugins that a run's config names. `build_setup` checks that they fit together.

    Args:
      platform: "cpu", "cuda", "tpu", …, for which programs are compiled; None: this process's.
      abstract_model: of another run with equal models, tasks, layouts and kernels; None: it is
        traced, which takes most of the time.

    Raises:
      UserError: an encoding, scheme or task refuses its arguments, the sizes or the lengths.
    """
    task = plugins.build("tasks", run.task)
    options = dataclasses.asdict(run.layout)
    layout = LAYOUTS[options.pop("name")](**options)
    rule = _split_rule(run, task)
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
    # Micro-batches loop up to traced numbers, and such loops cannot be batched over members.
    if vmapped:
        kernels = kernels.with_whole_batches()
    if abstract_model is None:
        # It has no values, so no parameters are drawn for it.
        abstract_model = nnx.eval_shape(lambda: _model(run, task, layout, kernels, 0))
    return Setup(
        run=run,
        task=task,
        layout=layout,
        schemes=tuple(schemes),
        lengths=plugins.build("training.lengths", run.train.lengths),
        optimizer=plugins.build("training.optimizers", run.train.optimizer),
        abstract_model=abstract_model,
        kernels=kernels,
        devices=Devices(vmapped, devices.for_batch(run.execution.batch_devices)),
        split_rule=rule,
        trained_inputs=_trained_inputs(run, task, rule),
    )


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


def _evaluated_task(run: Run, task: Task) -> Task:
    # A second task of equal arguments would read its data again.
    return task if run.evaluated_task == run.task else plugins.build("tasks", run.evaluated_task)


def _split_rule(run: Run, task: Task) -> splits.Rule:
    """The rule of the task that evaluation draws from."""
    if not run.train.exclude_held_out:
        return splits.Rule(None)
    return splits.rule(_evaluated_task(run, task))


def _trained_inputs(run: Run, task: Task, rule: splits.Rule) -> splits.Trained | None:
    # The checks refuse a training without examples.
    has_examples = task.max_length is None or run.train.min_length <= task.max_length
    if splits.has_data(task) or not has_examples:
        return None
    inputs = splits.trained(task, rule, run.train.min_length, run.train.max_length)
    return dataclasses.replace(inputs, everywhere=run.init_from is not None)


def _placements_of(
    name: str,
    stack: Stack,
    streams: tuple[str, ...],
) -> list[Placement]:
    """The encodings of a stack.

    Args:
      streams: all of the model; encodings of cross-attention read both.
    """
    across = {site.index for layer in stack.cross_sites for site in layer}
    inputs = zip(stack.input_encodings, stack.input_sites, strict=True)
    placements = [Placement(encoding, site, (name,)) for encoding, site in inputs]
    attention = zip(stack.attention_encodings, stack.attention_sites(), strict=True)
    for encoding, site in attention:
        read_streams = streams if site.index in across else (name,)
        placements.append(Placement(encoding, site, read_streams))
    return placements
