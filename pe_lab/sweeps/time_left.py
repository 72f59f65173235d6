"""The time left of a sweep, from the wall time of its run groups and the plan of the rest."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

from pe_lab.sweeps.launchers.base import Event

# Events after which no process trains or evaluates a run group.
_INACTIVE = ("queued", "elsewhere", "left", "died", "saved", "stopped", "ended")


@dataclass(frozen=True)
class GroupPlan:
    """A run group before it starts.

    Attributes:
      train_seconds: the planned time of all its steps. A common factor does not matter.
      other_seconds: the planned time to start, compile and evaluate.
    """

    label: str
    steps: int
    num_members: int
    train_seconds: float
    other_seconds: float


@dataclass
class _Group:
    """The times of a run group so far.

    Attributes:
      trained_steps: steps whose time is known.
      trained_seconds: the time that they took, without compilation.
      trained_at_start: the `trained_seconds` of earlier processes.
      other_seconds: the time in which it did not train, in earlier processes.
    """

    plan: GroupPlan
    step: int = 0
    trained_steps: int = 0
    trained_seconds: float = 0.0
    started_at: float | None = None
    trained_at_start: float = 0.0
    other_seconds: float = 0.0
    is_active: bool = False
    has_ended: bool = False

    def add(self, event: Event, now: float) -> None:
        kind = event["event"]
        if kind == "started":
            self.started_at = now
            self.trained_at_start = self.trained_seconds
        elif kind == "progress":
            self._add_steps(event)
        self.step = event.get("step", self.step)
        self.has_ended = kind == "ended"
        is_active = kind not in _INACTIVE
        if self.is_active and not is_active:
            self.other_seconds = self.other_so_far(now)
            self.started_at = None
        self.is_active = is_active

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

    @property
    def planned_of_trained(self) -> float:
        """The planned time of the steps whose time is known."""
        return self.plan.train_seconds * self.trained_steps / max(1, self.plan.steps)


class TimeLeft:
    """Estimates the time left of run groups from their events."""

    def __init__(self, plans: Mapping[str, GroupPlan]):
        self._groups = {group_id: _Group(plan) for group_id, plan in plans.items()}
        self._ended: list[tuple[_Group, float]] = []  # and their seconds outside of training
        self._workers = 1

    def add(self, group_id: str, event: Event, now: float) -> None:
        """Add an event of a run group. `now` is a clock in seconds."""
        group = self._groups[group_id]
        group.add(event, now)
        # Between two groups a worker is idle, so the present number would make estimates jump.
        self._workers = max(self._workers, sum(g.is_active for g in self._groups.values()))
        if group.has_ended and not event.get("status") and group.trained_seconds:
            self._ended.append((group, group.other_seconds))

    def seconds(self, now: float) -> float | None:
        """Return the time until the last group ends; None before a time of training is known.

        The time of training and the time outside of it are planned apart, and each is scaled by
        its measured time.
        """
        planned = sum(group.planned_of_trained for group in self._groups.values())
        if not planned:
            return None
        trained = sum(group.trained_seconds for group in self._groups.values())
        scale = _Scale(trained / planned, self._other_scale(now), self._last_share())
        free: list[float] = []  # when each worker is free
        waiting: list[float] = []
        for group in self._groups.values():
            if group.has_ended:
                continue
            seconds = _left(group, scale, now)
            (free if group.is_active else waiting).append(seconds)
        free += [0.0] * (self._workers - len(free))
        heapq.heapify(free)
        for seconds in waiting:  # each by the next free worker
            heapq.heappush(free, heapq.heappop(free) + seconds)
        return max(free)

    def _other_scale(self, now: float) -> float:
        """Return the time outside of training in multiples of the planned one."""
        if self._ended:
            planned = sum(group.plan.other_seconds for group, _ in self._ended)
            return sum(seconds for _, seconds in self._ended) / planned
        begun = [group for group in self._groups.values() if group.is_active]
        return max([1.0, *(g.other_so_far(now) / g.plan.other_seconds for g in begun)])

    def _last_share(self) -> float:
        """Return the share of their steps at which groups end. A criterion may end them early."""
        if not self._ended:
            return 1.0
        steps = sum(group.plan.steps for group, _ in self._ended)
        return sum(group.step for group, _ in self._ended) / max(1, steps)


@dataclass(frozen=True)
class _Scale:
    train: float
    other: float
    last_share: float


def _left(group: _Group, scale: _Scale, now: float) -> float:
    """Return the seconds of a group's remaining steps, at its own rate if it has one, and of the
    rest.
    """
    other = scale.other * group.plan.other_seconds - group.other_so_far(now)
    train = scale.train
    if group.planned_of_trained:
        train = group.trained_seconds / group.planned_of_trained
    share = scale.last_share - group.step / max(1, group.plan.steps)
    return max(0.0, other) + max(0.0, share) * group.plan.train_seconds * train
