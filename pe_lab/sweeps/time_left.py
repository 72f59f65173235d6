"""The time left of a sweep, from the wall time of its run groups and the plan of the rest."""

import dataclasses
import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from pe_lab.sweeps.launchers.base import Event

# Events after which no process trains or evaluates a run group.
_INACTIVE = ("queued", "elsewhere", "left", "died", "saved", "stopped", "ended")
_SIMILAR = 1.25  # planned times up to this factor apart are of one shape
_PRIOR = 0.1  # weight of the rate of other groups, as a share of a group's steps
_WORKER_SHARE = 0.25  # of a worker's first setup: its own start, such as the import of JAX


@dataclass(frozen=True)
class GroupPlan:
    """A run group before it starts.

    Attributes:
      train_seconds: the planned time of all its steps. A common factor does not matter.
      setup_seconds: the planned time before its first step, to start and compile.
      rest_seconds: the planned time outside of steps after that, to evaluate and save.
      evaluation_seconds: the part of it that is planned at the rate of training.
    """

    label: str
    steps: int
    num_members: int
    train_seconds: float
    setup_seconds: float
    rest_seconds: float
    evaluation_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        return self.setup_seconds + self.train_seconds + self.rest_seconds


@dataclass
class _Group:
    """The times of a run group so far.

    Attributes:
      trained_steps: steps whose time is known.
      trained_seconds: the time that they took, without compilation.
      trained_at_start: the `trained_seconds` of earlier processes.
      other_seconds: the time in which it did not train, in earlier processes.
      setup_seconds: the time before its first step; None: not known.
      paused_seconds: the time outside of steps between its setup and its last progress.
      is_first: of its worker, whose own start is part of the setup.
    """

    plan: GroupPlan
    step: int = 0
    trained_steps: int = 0
    trained_seconds: float = 0.0
    started_at: float | None = None
    trained_at_start: float = 0.0
    other_seconds: float = 0.0
    setup_seconds: float | None = None
    paused_seconds: float = 0.0
    is_first: bool = False
    is_training: bool = False
    is_active: bool = False
    has_ended: bool = False
    has_finished: bool = False

    def add(self, event: Event, now: float) -> None:
        kind = event["event"]
        if kind == "started":
            self.started_at = now
            self.trained_at_start = self.trained_seconds
        elif kind == "progress":
            self._add_steps(event)
            if self.setup_seconds is None:
                self.setup_seconds = self.other_so_far(now)
            self.paused_seconds = max(0.0, self.other_so_far(now) - self.setup_seconds)
        self.is_training = kind == "progress"
        self.step = event.get("step", self.step)
        self.has_ended = kind == "ended"
        is_active = kind not in _INACTIVE
        if self.is_active and not is_active:
            self.other_seconds = self.other_so_far(now)
            self.started_at = None
        self.is_active = is_active
        # A failed group says nothing about the time of others.
        is_done = self.has_ended and not event.get("status")
        self.has_finished = is_done and self.setup_seconds is not None

    def _add_steps(self, event: Event) -> None:
        new_steps = max(0, event["step"] - self.step)  # a resumed group may go back
        rate = event["steps_per_second"]
        if rate:
            self.trained_steps += new_steps
            self.trained_seconds += new_steps * self.plan.num_members / rate

    def other_so_far(self, now: float) -> float:
        """Seconds in which the group has started, compiled or evaluated."""
        if self.started_at is None:
            return self.other_seconds
        trained = self.trained_seconds - self.trained_at_start
        return self.other_seconds + max(0.0, now - self.started_at - trained)

    def rest_so_far(self, now: float) -> float:
        """Seconds outside of steps after the first one."""
        # The time since the last progress is one of steps.
        if self.setup_seconds is None or self.is_training:
            return self.paused_seconds
        return max(0.0, self.other_so_far(now) - self.setup_seconds)

    @property
    def share(self) -> float:
        """The share of its steps that are done."""
        return self.step / max(1, self.plan.steps)

    @property
    def planned_of_trained(self) -> float:
        """The planned time of the steps whose time is known."""
        return self.plan.train_seconds * self.trained_steps / max(1, self.plan.steps)


class TimeLeft:
    """Estimates the time left of run groups from their events.

    Training, setup and the rest are planned apart, and each is scaled by measured times: those of
    groups of the same shape, or of all groups while no group of the shape is measured.
    """

    def __init__(self, plans: Mapping[str, GroupPlan]):
        self._groups = {group_id: _Group(plan) for group_id, plan in plans.items()}
        self._shapes = _shapes(self._groups.values())
        self._workers = 0

    def add(self, group_id: str, event: Event, now: float) -> None:
        """Add an event of a run group. `now` is a clock in seconds."""
        group = self._groups[group_id]
        group.add(event, now)
        num_active = sum(group.is_active for group in self._groups.values())
        group.is_first = group.is_first or num_active > self._workers
        # Between two groups a worker is idle, so the present number would make estimates jump.
        self._workers = max(self._workers, num_active)

    def seconds(self, now: float) -> float | None:
        """Return the time until the last group ends; None before a time of training is known."""
        overall = _overall(list(self._groups.values()), now)
        if overall is None:
            return None
        left: dict[int, float] = {}
        for groups in self._shapes:
            scale = _scale(groups, now, overall)
            left |= {id(group): _left(group, scale, now) for group in groups}
        unfinished = [group for group in self._groups.values() if not group.has_ended]
        free = [left[id(group)] for group in unfinished if group.is_active]
        free += [0.0] * (max(1, self._workers) - len(free))
        heapq.heapify(free)  # when each worker is free
        for group in unfinished:
            if not group.is_active:  # each by the next free worker, in the order of the study
                heapq.heappush(free, heapq.heappop(free) + left[id(group)])
        return max(free)


def _shapes(groups: Iterable[_Group]) -> list[list[_Group]]:
    """Groups of equal numbers of steps and members, and similar planned times of training."""
    shapes: list[list[_Group]] = []
    sizes, most = None, 0.0
    for group in sorted(groups, key=lambda group: (_sizes(group), group.plan.train_seconds)):
        if _sizes(group) != sizes or group.plan.train_seconds > most:
            sizes, most = _sizes(group), _SIMILAR * group.plan.train_seconds
            shapes.append([])
        shapes[-1].append(group)
    return shapes


def _sizes(group: _Group) -> tuple[int, int]:
    return group.plan.steps, group.plan.num_members


@dataclass(frozen=True)
class _Scale:
    """Measured times in multiples of the planned ones.

    Attributes:
      last_share: the share of their steps at which groups end. A criterion may end them early.
    """

    train: float
    setup: float
    rest: float
    last_share: float


def _scale(groups: list[_Group], now: float, other: _Scale) -> _Scale:
    """Return the scale of some groups, with the values of another one where none is measured."""
    set_up = [group for group in groups if group.setup_seconds is not None]
    # The groups that wait find a worker that has started.
    later = [group for group in set_up if not group.is_first]
    share = 1.0 if later else 1 - _WORKER_SHARE
    set_up = later or set_up
    finished = [group for group in groups if group.has_finished]
    return _Scale(
        train=_mean((g.trained_seconds, g.planned_of_trained) for g in groups) or other.train,
        setup=_mean((share * (g.setup_seconds or 0.0), g.plan.setup_seconds) for g in set_up)
        or other.setup,
        rest=_mean((g.rest_so_far(now), g.plan.rest_seconds) for g in finished)
        or max(other.rest, _pauses(groups, now)),
        last_share=_mean((g.step, g.plan.steps) for g in finished) or other.last_share,
    )


def _overall(groups: list[_Group], now: float) -> _Scale | None:
    """Return the scale of all groups; None before a time of training is known."""
    if not any(group.planned_of_trained for group in groups):
        return None
    none_measured = _Scale(train=1.0, setup=1.0, rest=0.0, last_share=1.0)
    scale = _scale(groups, now, none_measured)
    if any(group.has_finished for group in groups):
        return scale
    # Before the first test, it is as much slower than planned as training and compilation.
    test = sum(group.plan.evaluation_seconds for group in groups)
    rest = sum(group.plan.rest_seconds for group in groups)
    seconds = scale.train * test + scale.setup * (rest - test)
    return dataclasses.replace(scale, rest=max(scale.rest, seconds / rest if rest else 0.0))


def _mean(pairs: Iterable[tuple[float | int, float | int]]) -> float:
    """Return the sum of measured values in multiples of that of planned ones; 0 if empty."""
    measured, planned = np.asarray([(0.0, 0.0), *pairs]).sum(axis=0).tolist()
    return measured / planned if planned else 0.0


def _pauses(groups: list[_Group], now: float) -> float:
    """Return the scale of the rest that follows from evaluations during training so far."""
    begun = [group for group in groups if group.is_active and group.share and group.trained_steps]
    scales = [g.rest_so_far(now) / g.share / g.plan.rest_seconds for g in begun]
    return max(scales, default=0.0)


def _left(group: _Group, scale: _Scale, now: float) -> float:
    """Return the seconds of a group that are left, at its own rate if it has one."""
    plan = group.plan
    # The first steps may be slow, so the rate of the shape counts too.
    prior = _PRIOR * plan.train_seconds
    seconds = group.trained_seconds + prior * scale.train
    train = seconds / (group.planned_of_trained + prior) if prior else scale.train
    share = max(0.0, scale.last_share - group.share)
    setup = 0.0
    if group.setup_seconds is None:
        setup = max(0.0, scale.setup * plan.setup_seconds - group.other_so_far(now))
    rest = max(0.0, scale.rest * plan.rest_seconds - group.rest_so_far(now))
    return setup + share * plan.train_seconds * train + rest
