"""A run, frozen: the only reader of a ConfigDict, and the only door through which a run is made.

The dataclasses have no defaults: configs/base.py states every knob once. A plugin's arguments have
theirs, beside their citation, and are resolved into the run, so that a record is complete.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.labels import label
from pe_lab.runs.plugins import Plugin

# The stacks of each architecture, under the name of the layout that feeds it; "cross" is the
# decoder's second attention.
STACKS = {
    "decoder": ("decoder",),
    "encoder": ("encoder",),
    "encoder_decoder": ("encoder", "decoder", "cross"),
}
_NO_WEIGHTS = (
    "evaluate",
    "checkpoints",
    "execution",
)  # fields of a run that do not change what it learns
_NUM_VALIDATED = 8  # validation lengths by default
_WHERE = ("layers", "share", "stacks", "axis")  # keys of an encoding that say where it acts


@dataclass(frozen=True)
class Encoding(Plugin):
    """An encoding of the model; `layers` and `share` are None at the input."""

    layers: tuple[int, ...] | None  # the layers where it acts; None: all
    share: bool | None  # one module for all its layers, or one a layer
    stacks: (
        tuple[str, ...] | None
    )  # "encoder", "decoder", "cross"; None: every input, or every self-attention
    axis: (
        int | None
    )  # the axis that it reads of positions with several; None: it reads all that there are

    def to_dict(self) -> dict[str, Any]:
        where = {} if self.share is None else {"layers": self.layers, "share": self.share}
        return {**super().to_dict(), **where, "stacks": self.stacks, "axis": self.axis}

    def acts_in(self, stack: str) -> bool:
        """Whether it acts in a stack; in cross-attention only when asked for."""
        return stack != "cross" if self.stacks is None else stack in self.stacks


@dataclass(frozen=True)
class Layout:
    """How an example becomes tokens; which architecture reads them follows."""

    name: Literal["decoder", "encoder", "encoder_decoder"]
    end_token: bool
    examples_per_context: int
    document_mask: bool


@dataclass(frozen=True)
class Model:
    """Sizes, choices and encodings of the transformer."""

    width: int
    num_layers: int
    num_heads: int
    feedforward_width: int
    activation: Literal["relu", "gelu", "swiglu"]
    norm: Literal["layer", "rms"]
    norm_position: Literal["pre", "post"]
    dropout: float
    scale_embeddings: bool
    tied_output: bool
    qk_norm: bool
    logit_temperature: Literal["none", "log_n", "ssmax"]
    norm_after_attention: bool
    sliding_window: int | None
    sink_token: bool
    num_loops: int
    compute_dtype: Literal["float32", "bfloat16"]
    encodings: tuple[Encoding, ...]


@dataclass(frozen=True)
class Train:
    """Batches, lengths, loss and optimizer."""

    steps: int
    criterion: float | None
    extra_steps: int
    batch_size: int
    min_length: int
    max_length: int
    length_per: Literal["example", "step"]
    num_examples: int | None
    loss_reduction: Literal["token", "example"]
    learning_rate: float
    schedule: Literal["cosine", "linear", "constant"]
    warmup_steps: int
    final_rate_fraction: float
    beta1: float
    beta2: float
    epsilon: float
    weight_decay: float
    clip_norm: float
    encoding_rate_factor: float
    encoding_weight_decay: float
    drawing: int


@dataclass(frozen=True)
class Change:
    """What an evaluation puts in place of what a run was trained with; None: nothing."""

    label: str
    positions: Plugin | None
    encodings: tuple[Encoding, ...] | None

    def to_dict(self) -> dict[str, Any]:
        return _plain(self)

    def apply(self, run: "Run") -> "Run":
        """The run as it would have been with this change."""
        encodings = run.model.encodings if self.encodings is None else self.encodings
        model = dataclasses.replace(run.model, encodings=encodings)
        changed = dataclasses.replace(run, positions=self.positions or run.positions, model=model)
        _check_encodings(changed)
        return changed


@dataclass(frozen=True)
class Evaluate:
    """What is measured at the end, and on the way."""

    lengths: tuple[int, ...]
    validation_lengths: tuple[int, ...]  # resolved: None in a config becomes `validation_lengths`
    offsets: tuple[int, ...]
    changes: tuple[
        Change, ...
    ]  # resolved against the run: what a spec leaves open is as the run was trained
    exact_operands: Literal["longest", "all", "none"]
    num_examples: int
    batch_size: int
    curve_every: int
    curve_lengths: tuple[int, ...]
    curve_examples: int
    frozen: str | None

    @property
    def all_lengths(self) -> tuple[int, ...]:
        """Every length that is evaluated."""
        return (*self.lengths, *self.validation_lengths, *self.curve_lengths)


@dataclass(frozen=True)
class Checkpoints:
    """When a training is saved; the interval is in seconds."""

    interval: float
    keep_final: bool
    keep_curve: bool


@dataclass(frozen=True)
class Execution:
    """How it runs, which changes the speed and not the experiment."""

    replicas: Literal["auto", "map", "vmap"]
    kernels: Literal["auto", "reference"]
    remat: bool
    chunk_steps: int
    max_replicas: int
    batch_devices: int


@dataclass(frozen=True)
class InitFrom:
    """The run whose final parameters another starts from."""

    study: str  # its folder's name, beside this study's; a path; or "" for the same study
    run_id: str


@dataclass(frozen=True)
class Run:
    """One training: configs/base.py says what each knob means."""

    seed: int
    data_seed: int
    task: Plugin
    layout: Layout
    positions: Plugin
    model: Model
    train: Train
    evaluate: Evaluate
    checkpoints: Checkpoints
    execution: Execution
    init_from: InitFrom | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, complete: `from_dict` gives the same run back."""
        return _plain(self)

    def identity(self) -> dict[str, Any]:
        """All that determines the weights. Positions do only if some encoding reads them."""
        content = {
            f.name: _plain(getattr(self, f.name))
            for f in dataclasses.fields(self)
            if f.name not in _NO_WEIGHTS
        }
        content["init_from"] = self.init_from and self.init_from.run_id
        if self.train.drawing == 1:  # runs from before there was another keep their ids
            del content["train"]["drawing"]
        if (
            self.train.criterion is not None
        ):  # then what the curve measures decides when training ends
            content["curve"] = [
                self.evaluate.curve_every,
                self.evaluate.curve_lengths,
                self.evaluate.curve_examples,
            ]
        # Training leaves out what this task holds out, or ends by what the curve measures on it.
        depends = self.train.drawing > 1 or self.train.criterion is not None
        if depends and self.evaluated_task != self.task:
            content["evaluated_task"] = _plain(self.evaluated_task)
        classes: list[Any] = [plugins.find("encodings", e.name) for e in self.model.encodings]
        if not any(cls.requirements.reads_positions for cls in classes):
            content["positions"] = None
        return content

    @functools.cached_property
    def run_id(self) -> str:
        return _hash(self.identity())

    @functools.cached_property
    def evaluated_task(self) -> Plugin:
        """The task that evaluation draws from."""
        return self.evaluated_with(self.evaluate.exact_operands)

    def evaluated_with(self, exact_operands: str) -> Plugin:
        """Return the task that evaluation draws from with this setting of
        `evaluate.exact_operands`.
        """
        if exact_operands == "none":
            return self.task
        arguments = plugins.build("tasks", self.task).exact_arguments(exact_operands)
        return Plugin(
            self.task.name, tuple(sorted({**dict(self.task.arguments), **arguments}.items()))
        )

    def sources(self) -> dict[str, str | None]:
        """A hash of each plugin's file: settings alone do not say what was run."""
        named = [
            ("tasks", self.task),
            ("positions", self.positions),
            *(("encodings", e) for e in self.model.encodings),
        ]
        every = [(family, part) for family, plugin in named for part in plugin.parts()]
        return {
            f"{family}/{plugin.name}": plugins.source_digest(family, plugin.name)
            for family, plugin in every
        }

    def without_replica(self) -> "Run":
        """The run's cell: what is left when the seeds and the scalar hyperparameters are taken
        out.
        """
        train = dataclasses.replace(self.train, learning_rate=0.0, weight_decay=0.0)
        return dataclasses.replace(self, seed=0, data_seed=0, train=train, init_from=None)

    def replica(self) -> dict[str, Any]:
        """What tells the replicas of one cell apart."""
        return {
            "seed": self.seed,
            "data_seed": self.data_seed,
            "learning_rate": self.train.learning_rate,
            "weight_decay": self.train.weight_decay,
            "init_from": self.init_from and self.init_from.run_id,
        }


@dataclass(frozen=True)
class Cell:
    """Runs that differ in their replica only, and train in one compiled program."""

    runs: tuple[Run, ...]

    def __post_init__(self):
        if len({run.without_replica() for run in self.runs}) != 1:
            raise ValueError(
                "The runs of a cell differ in seeds, learning rate and weight decay only."
            )

    @property
    def run(self) -> Run:
        """The first run; its replica fields speak for itself alone."""
        return self.runs[0]

    @property
    def cell_id(self) -> str:
        return _hash([run.run_id for run in self.runs])


def from_dict(values: Mapping[str, Any]) -> Run:
    """A checked run from a config's values (ConfigDict.to_dict() or a record's "config").

    Raises:
      UserError: an unknown or missing key, argument, encoding, scheme or task; a value of the wrong
        type or out of range.
    """
    values = dict(values)
    values.pop("launcher", None)  # who starts a run's cell is nothing of the run
    if values.get("data_seed") is None:
        values["data_seed"] = values.get("seed")
    values = _with_validation_lengths(values)
    run = _build(Run, values, "")
    changes = tuple(change(spec, run) for spec in values["evaluate"]["changes"])
    run = dataclasses.replace(run, evaluate=dataclasses.replace(run.evaluate, changes=changes))
    _check(run)
    return run


def _with_validation_lengths(values: dict[str, Any]) -> dict[str, Any]:
    """The values with the default validation lengths where they hold None."""
    train, evaluate = values.get("train"), values.get("evaluate")
    if not isinstance(train, Mapping) or not isinstance(evaluate, Mapping):
        return values
    first, last = train.get("min_length"), train.get("max_length")
    if evaluate.get("validation_lengths", ()) is not None:
        return values
    if not isinstance(first, int) or not isinstance(last, int):
        return values
    lengths = validation_lengths(first, last)
    return {**values, "evaluate": {**evaluate, "validation_lengths": lengths}}


def validation_lengths(min_length: int, max_length: int) -> tuple[int, ...]:
    """All trained lengths, or `_NUM_VALIDATED` of them spread evenly where there are more."""
    last = min(_NUM_VALIDATED - 1, max_length - min_length)
    steps = [i * (max_length - min_length) // max(last, 1) for i in range(last + 1)]
    return tuple(min_length + step for step in steps)


def _build(cls: type, values: Any, path: str) -> Any:
    """A dataclass from a mapping, keys and types checked."""
    if not isinstance(values, Mapping):
        raise UserError(
            f"config.{path[:-1]} must hold {', '.join(f.name for f in dataclasses.fields(cls))}, "
            f"got {values!r}."
        )
    hints = get_type_hints(cls)
    for key in values:
        if key not in hints:
            raise unknown(f"config.{path}"[:-1] if path else "config", str(key), hints)
    if missing := hints.keys() - values.keys():
        advice = f" Change single keys with c.{path[:-1]}.update(...)." if path else ""
        raise UserError(
            f"config.{path}{sorted(missing)[0]} is missing: configs/base.py states every "
            f"key.{advice}"
        )
    return cls(**{k: _value(hint, values[k], f"{path}{k}") for k, hint in hints.items()})


def _value(hint: Any, value: Any, path: str) -> Any:
    if hint is Plugin:
        return plugins.resolve("tasks" if path == "task" else path, value)
    if path == "model.encodings":
        return encodings(value)
    if path == "evaluate.changes":
        if not isinstance(value, list | tuple):
            raise UserError(
                f"config.evaluate.changes is a tuple of dict(positions=..., encodings=...), got "
                f"{value!r}."
            )
        return ()  # from_dict resolves them against the run
    if path == "init_from":
        return None if value is None else _build(InitFrom, value, "init_from.")
    if dataclasses.is_dataclass(hint):
        return _build(hint, value, f"{path}.")  # type: ignore[arg-type]
    return plugins.checked(value, hint, f"config.{path}")


def change(spec: Any, run: Run) -> Change:
    """A change of a run's evaluation from dict(positions=dict(name=...), encodings=(dict(name=...),
    ...)), either left out.

    An encoding or scheme that the run has too keeps the arguments that the spec leaves open.

    Raises:
      UserError: it changes nothing, or what it names is wrong.
    """
    for key in spec if isinstance(spec, Mapping) else ():
        if key not in ("label", "positions", "encodings"):
            raise unknown("A change of an evaluation", str(key), ("positions", "encodings"))
    if not isinstance(spec, Mapping) or (
        spec.get("positions") is None and spec.get("encodings") is None
    ):
        raise UserError(
            f"One change of an evaluation is given as dict(positions=..., encodings=...), got "
            f"{spec!r}."
        )
    positions, replaced = spec.get("positions"), spec.get("encodings")
    said = spec.get("label") or " at ".join(
        label(part) for part in (replaced, positions) if part is not None
    )
    own = run.positions.to_dict()
    trained = [e.to_dict() for e in run.model.encodings]
    return Change(
        said,
        None if positions is None else plugins.resolve("positions", _completed(positions, [own])),
        None if replaced is None else encodings(replaced, trained),
    )


def _completed(spec: Any, trained: list[Mapping[str, Any]]) -> Any:
    """A spec with what it leaves open from the trained one of the same name, which is then used
    up.
    """
    for own in trained:
        if isinstance(spec, Mapping) and own["name"] == spec.get("name"):
            trained.remove(own)
            return {**own, **spec}
    return spec


def encodings(specs: Any, trained: Sequence[Mapping[str, Any]] = ()) -> tuple[Encoding, ...]:
    """The encodings of a model, checked, from a tuple of dict(name=..., ...); those of the
    `trained` fill what is left open.
    """
    if not isinstance(specs, list | tuple):
        raise UserError(f"Encodings are a tuple of dict(name=...), got {specs!r}.")
    left = list(trained)
    return tuple(_encoding(_completed(spec, left)) for spec in specs)


def _encoding(spec: Any) -> Encoding:
    if not isinstance(spec, Mapping):
        raise UserError(f"One of the encodings is given as dict(name=..., ...), got {spec!r}.")
    where = {k: spec[k] for k in _WHERE if spec.get(k) is not None}
    plugin = plugins.resolve("encodings", {k: v for k, v in spec.items() if k not in _WHERE})
    cls: Any = plugins.find("encodings", plugin.name)
    stacks = plugins.checked(
        where.pop("stacks", None), tuple[str, ...] | None, f"{plugin.name}'s stacks"
    )
    axis = plugins.checked(where.pop("axis", None), int | None, f"{plugin.name}'s axis")
    if axis is not None and axis < 0:
        raise UserError(f"{plugin.name}'s axis must be 0 or more, got {axis}.")
    if cls.requirements.site == "input":
        if where:
            raise UserError(f"{plugin.name} acts at the input: it takes no {sorted(where)[0]}.")
        return Encoding(plugin.name, plugin.arguments, None, None, stacks, axis)
    layers = plugins.checked(where.get("layers"), tuple[int, ...] | None, f"{plugin.name}'s layers")
    share = plugins.checked(
        where.get("share", not cls.requirements.per_layer), bool, f"{plugin.name}'s share"
    )
    return Encoding(plugin.name, plugin.arguments, layers, share, stacks, axis)


def _check(run: Run) -> None:
    model, train, evaluate = run.model, run.train, run.evaluate
    at_least_one = {
        "model.width": model.width,
        "model.num_layers": model.num_layers,
        "model.num_heads": model.num_heads,
        "model.feedforward_width": model.feedforward_width,
        "train.steps": train.steps,
        "train.batch_size": train.batch_size,
        "train.min_length": train.min_length,
        "evaluate.num_examples": evaluate.num_examples,
        "evaluate.batch_size": evaluate.batch_size,
        "evaluate.curve_every": evaluate.curve_every,
        "evaluate.curve_examples": evaluate.curve_examples,
        "execution.chunk_steps": run.execution.chunk_steps,
        "execution.max_replicas": run.execution.max_replicas,
        "execution.batch_devices": run.execution.batch_devices,
        "layout.examples_per_context": run.layout.examples_per_context,
        "model.num_loops": model.num_loops,
    }
    if model.sliding_window is not None:
        at_least_one["model.sliding_window"] = model.sliding_window
    if train.num_examples is not None:
        at_least_one["train.num_examples"] = train.num_examples
    for name, number in at_least_one.items():
        if number < 1:
            raise UserError(f"config.{name} must be at least 1, got {number}.")
    if model.width % model.num_heads:
        raise UserError(
            f"config.model.num_heads must divide the width {model.width}, got {model.num_heads}."
        )
    _check_ranges(run)
    for name, size in {"train": train.batch_size, "evaluate": evaluate.batch_size}.items():
        if size % (shared_by := run.execution.batch_devices):
            raise UserError(
                f"config.execution.batch_devices must divide config.{name}.batch_size {size}, got "
                f"{shared_by}."
            )
    if not 0 <= model.dropout < 1:
        raise UserError(f"config.model.dropout must be in [0, 1), got {model.dropout}.")
    if train.max_length < train.min_length:
        raise UserError(
            f"config.train.max_length must be at least min_length {train.min_length}, got "
            f"{train.max_length}."
        )
    if not evaluate.lengths:
        raise UserError("config.evaluate.lengths must hold a length.")
    _check_validation_lengths(run)
    if min(evaluate.lengths + evaluate.validation_lengths + evaluate.curve_lengths) < 1:
        raise UserError("config.evaluate's lengths must be at least 1.")
    if min(evaluate.offsets, default=-1) < 0:
        raise UserError(
            f"config.evaluate.offsets must hold an offset, and none below 0, got "
            f"{evaluate.offsets}."
        )
    if train.criterion is not None and not any(
        n <= train.max_length for n in evaluate.curve_lengths
    ):
        needs = f"config.evaluate.curve_lengths needs a length up to {train.max_length}"
        raise UserError(f"config.train.criterion is watched on the curve: {needs}.")
    _check_encodings(run)
    for each in evaluate.changes:
        each.apply(run)
    labels = [each.label for each in evaluate.changes]
    if twice := {label for label in labels if labels.count(label) > 1}:
        raise UserError(
            f"Two of config.evaluate.changes are called {min(twice)!r}: give one of them another "
            f"label."
        )


def _check_validation_lengths(run: Run) -> None:
    lengths, longest = run.evaluate.validation_lengths, run.train.max_length
    if not lengths or max(lengths) > longest:
        raise UserError(
            f"config.evaluate.validation_lengths must hold a length, and none beyond the training "
            f"length {longest}, got {lengths}."
        )


def _check_encodings(run: Run) -> None:
    """That encodings act on layers and in stacks that exist, as the layout has them."""
    stacks, depth = STACKS[run.layout.name], run.model.num_layers
    for e in run.model.encodings:
        if e.layers is not None and (
            not e.layers or sorted(set(e.layers) & set(range(depth))) != sorted(e.layers)
        ):
            raise UserError(
                f"{e.name}'s layers must be some of 0..{depth - 1}, each once, got {e.layers}."
            )
        has = [s for s in stacks if s != "cross" or e.share is not None]
        if e.stacks is not None and (not e.stacks or not set(e.stacks) <= set(has)):
            raise UserError(
                f"{e.name}'s stacks must be some of {', '.join(has)} in the {run.layout.name} "
                f"layout, got {e.stacks}."
            )


def _check_ranges(run: Run) -> None:
    train = run.train
    for name, seed in {"seed": run.seed, "data_seed": run.data_seed}.items():
        if not 0 <= seed < 2**31:
            raise UserError(f"config.{name} must be from 0 to {2**31 - 1}, got {seed}.")
    for name in ("learning_rate", "clip_norm", "epsilon"):
        if getattr(train, name) <= 0:
            raise UserError(f"config.train.{name} must be more than 0, got {getattr(train, name)}.")
    if train.criterion is not None and not 0 < train.criterion <= 1:
        raise UserError(
            f"config.train.criterion is an exact match, more than 0 and at most 1, got "
            f"{train.criterion}."
        )
    for name in (
        "extra_steps",
        "warmup_steps",
        "final_rate_fraction",
        "weight_decay",
        "encoding_rate_factor",
        "encoding_weight_decay",
    ):
        if getattr(train, name) < 0:
            raise UserError(f"config.train.{name} must be at least 0, got {getattr(train, name)}.")
    if train.drawing not in (1, 2):
        raise UserError(f"config.train.drawing must be 1 or 2, got {train.drawing}.")
    for name in ("beta1", "beta2"):
        if not 0 <= getattr(train, name) < 1:
            raise UserError(f"config.train.{name} must be in [0, 1), got {getattr(train, name)}.")


def _plain(value: Any) -> Any:
    if isinstance(value, Plugin):
        return _plain(value.to_dict())
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
