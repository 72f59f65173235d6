"""A run as plain data: every setting of one training and its evaluation, and the run's id.

A `Run` is made from a user's config by `config.from_dict`, which checks every value and imports
the encodings, the position scheme and the task. `from_record` makes the same run from a record,
checks nothing and imports nothing. The groups of settings are in settings.py.
"""

import dataclasses
import functools
import hashlib
import json
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from pe_lab.runs.plugins import other_packages, plugin_sources
from pe_lab.runs.records.record_schema import JsonObject, MemberSettings
from pe_lab.runs.settings.declarations import older_values, removed_settings, setting
from pe_lab.runs.settings.evaluation_settings import Evaluate, Override, plain
from pe_lab.runs.settings.execution_settings import Checkpoints, Execution
from pe_lab.runs.settings.plugin import Plugin
from pe_lab.runs.settings.settings import LayoutSettings, Model, Train

# The groups of settings that change neither the weights nor the run's id.
_WITHOUT_EFFECT_ON_WEIGHTS = ("evaluate", "checkpoints", "execution", "evaluated_task")
DERIVED = ("evaluated_task",)  # fields of a run that no config holds
# The plugins of runs from before there was a choice, whose ids do not name them.
_UNIFORM = Plugin("uniform", ())
_ADAMW = Plugin("adamw", ())


@dataclass(frozen=True)
class InitFrom:
    """The run whose final parameters another run starts from.

    Attributes:
      study: the name of a folder next to this study's, a path, or "" for the same study.
      keep: "optimizer": its optimizer and its step too, so that its training goes on.
    """

    study: str
    run_id: str
    keep: Literal["parameters", "optimizer"] = "parameters"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training and its evaluation."""

    seed: int = setting(0, "Seed of the initial weights.", at_least=0)
    data_seed: int = setting(
        None, "Seed of batches, positions and dropout. None: the seed.", at_least=0
    )
    task: Plugin = setting(
        dict(name="copy"),
        'A file of pe_lab/tasks, or "package.module:Class", with its arguments.',
    )
    positions: Plugin = setting(dict(name="contiguous"), "A file of pe_lab/positions.")
    layout: LayoutSettings
    model: Model
    init_from: InitFrom | None = setting(
        None,
        'A run to start from: dict(study="exposure", select=dict(model=dict(encodings="rope"))). '
        'With keep="optimizer" its training goes on, up to train.steps in all.',
    )
    train: Train
    evaluate: Evaluate
    checkpoints: Checkpoints
    execution: Execution
    # The task that evaluation draws from: `task` with exact operands. The class of the task says
    # how, so it is stored.
    evaluated_task: Plugin

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, complete: `from_record` gives the same run back."""
        return plain(self)

    def identity(self) -> dict[str, object]:
        """Return all that determines the weights."""
        content = {}
        for field in dataclasses.fields(self):
            if field.name not in _WITHOUT_EFFECT_ON_WEIGHTS:
                content[field.name] = plain(getattr(self, field.name))
        content["model"]["encodings"] = [plain(e.settings()) for e in self.model.encodings]
        content["init_from"] = self.init_from and self.init_from.run_id
        if self.continues:
            content["keep"] = "optimizer"
        for group, cls in (("model", Model), ("train", Train)):
            # A setting that is new or removed must make no older run stale.
            content[group] |= removed_settings(cls)
            for name, value in older_values(cls).items():
                if content[group][name] == value:
                    del content[group][name]
        has_criterion = self.train.criterion is not None
        if has_criterion:  # then the measurements of the curve decide when training ends
            evaluate = self.evaluate
            content["curve"] = plain(
                [evaluate.curve_every, evaluate.curve_lengths, evaluate.curve_examples]
            )
        else:
            content["train"]["extra_steps"] = 0  # without a criterion they change nothing
        # The same settings have had another meaning: a decay over all steps.
        if self.train.decays_after_criterion:
            content["decay"] = "extra_steps"
        # Training leaves out the inputs that this task holds out, or ends by its curve.
        if (self.train.exclude_held_out or has_criterion) and self.evaluated_task != self.task:
            content["evaluated_task"] = plain(self.evaluated_task)
        schemes = [e.positions for e in self.model.encodings if e.reads_positions]
        # An encoding that names the run's own scheme reads the run's draws.
        if None not in schemes and self.positions not in schemes:
            content["positions"] = None  # no encoding reads the scheme of the run
        return content

    def with_override(self, override: Override) -> "Run":
        """The run as it would have been with an evaluation override."""
        model = _replaced(self.model, override, ("encodings", "num_loops", "logit_temperature"))
        run = _replaced(self, override, ("positions", "task", "evaluated_task"))
        return dataclasses.replace(run, model=model)

    def with_shared_scheme(self) -> "Run":
        """The run in which encodings that name the run's own scheme leave it open."""
        encodings = []
        for encoding in self.model.encodings:
            if encoding.positions == self.positions:
                encoding = dataclasses.replace(encoding, positions=None)
            encodings.append(encoding)
        model = dataclasses.replace(self.model, encodings=tuple(encodings))
        return dataclasses.replace(self, model=model)

    @property
    def continues(self) -> bool:
        """Whether the training of another run goes on, with its optimizer and its step."""
        return self.init_from is not None and self.init_from.keep == "optimizer"

    @functools.cached_property
    def run_id(self) -> str:
        """Hash of the identity, 16 hexadecimal digits."""
        return _hash(self.identity())

    def sources(self) -> dict[str, str | None]:
        """Return a hash of each plugin's file, and of each module that a user's plugin imports.

        Settings alone do not say which code was run.
        """
        by_family: list[tuple[str, Plugin]] = [("tasks", self.task), ("positions", self.positions)]
        if self.train.lengths != _UNIFORM:
            by_family.append(("training.lengths", self.train.lengths))
        if self.train.optimizer != _ADAMW:
            by_family.append(("training.optimizers", self.train.optimizer))
        for encoding in self.model.encodings:
            by_family.append(("encodings", encoding))
            if encoding.positions is not None:
                by_family.append(("positions", encoding.positions))
        names = [(family, part.name) for family, plugin in by_family for part in plugin.parts()]
        # Installed metrics measure every run.
        names += [("metrics", path) for path in other_packages.installed("metrics").values()]
        for _, name in list(names):
            if ":" in name:
                modules = plugin_sources.imported_modules(name.partition(":")[0])
                names += [(plugin_sources.MODULES, module) for module in modules]
        return {
            f"{family}/{name}": plugin_sources.source_digest(family, name) for family, name in names
        }

    def group_key(self) -> "Run":
        """The run without seeds and scalar hyperparameters, equal for all runs of a run group."""
        train = dataclasses.replace(self.train, learning_rate=0.0, weight_decay=0.0)
        # Members share a step, so trainings that go on do not join those that begin.
        init_from = InitFrom("", "", "optimizer") if self.continues else None
        return dataclasses.replace(self, seed=0, data_seed=0, train=train, init_from=init_from)

    def member_settings(self) -> MemberSettings:
        """The settings in which the members of a run group may differ."""
        return {
            "seed": self.seed,
            "data_seed": self.data_seed,
            "learning_rate": self.train.learning_rate,
            "weight_decay": self.train.weight_decay,
            "init_from": None if self.init_from is None else self.init_from.run_id,
        }


def _replaced(settings: Any, override: Override, names: Sequence[str]) -> Any:
    """Return settings in which the override replaces those that it names and sets."""
    values = {name: getattr(override, name) for name in names}
    changes = {name: value for name, value in values.items() if value is not None}
    return dataclasses.replace(settings, **changes)


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ in their member settings alone, and train in one compiled program."""

    runs: tuple[Run, ...]

    def __post_init__(self):
        keys = {run.group_key() for run in self.runs}
        if len(keys) != 1:
            raise ValueError(
                "The runs of a run group differ in seeds, learning rate and weight decay only."
            )

    @property
    def run(self) -> Run:
        """The first run. Its seeds and scalar hyperparameters hold for itself alone."""
        return self.runs[0]

    @property
    def group_id(self) -> str:
        """Hash of the run ids."""
        return _hash([run.run_id for run in self.runs])


def from_record(settings: JsonObject) -> Run:
    """Return the run of a record's "config". Nothing is checked and no JAX is imported."""
    return _typed(Run, settings)


def _typed(hint: Any, value: Any) -> Any:
    """Return a plain value as the dataclass, tuple or number that the hint names."""
    if value is None:
        return None
    if typing.get_origin(hint) is types.UnionType:
        # The first type that is not None decides; values of the others are plain and stay.
        options = typing.get_args(hint)
        hint = next(option for option in options if option is not types.NoneType)
    if typing.get_origin(hint) is tuple:
        item, _ = typing.get_args(hint)
        return tuple(_typed(item, part) for part in value)
    if not dataclasses.is_dataclass(hint):
        return value
    if isinstance(hint, type) and issubclass(hint, Plugin):
        return hint.from_dict(value)
    hints = get_type_hints(hint)
    # Fields of an override that are left out have their defaults.
    fields = {name: _typed(hints[name], value[name]) for name in hints if name in value}
    return hint(**fields)  # type: ignore[operator]


def _hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True)  # the order of settings is no part of an id
    return hashlib.sha256(text.encode()).hexdigest()[:16]
