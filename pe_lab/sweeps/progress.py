"""Progress of a sweep: a live table in a terminal, plain lines elsewhere."""

import dataclasses
import threading
import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pe_lab.runs.system import terminal
from pe_lab.sweeps.launchers.base import Event
from pe_lab.sweeps.time_left import GroupPlan, TimeLeft

_PLAIN_INTERVAL = 10.0  # seconds between two lines of one run group
_LABEL = 32  # characters up to which the labels of plain lines are aligned
_ACTIVITY = 20
_EVALUATES = ("evaluating", "finished", "ended")


@dataclasses.dataclass
class _GroupProgress:
    """A run group as it is shown.

    Attributes:
      state: the latest value of each key of its events.
    """

    plan: GroupPlan
    step: int = 0
    state: dict[str, Any] = dataclasses.field(default_factory=dict)
    printed_at: float = 0.0
    has_ended: bool = False

    @property
    def has_failed(self) -> bool:
        return bool(self.state.get("status"))


class Progress:
    """Collects the events of run groups and shows them.

    Args:
      plans: of the run groups by their ids.
      done: number of runs that are finished already.
      console: for the output; None: stdout.
    """

    def __init__(
        self, plans: Mapping[str, GroupPlan], done: int = 0, console: Console | None = None
    ):
        self.groups = {group_id: _GroupProgress(plan) for group_id, plan in plans.items()}
        self.done = done
        self.time_left = TimeLeft(plans)
        longest = max((len(plan.label) for plan in plans.values()), default=0)
        self.label_width = min(longest, _LABEL)
        self.console = console or Console()
        self.begun: list[_GroupProgress] = []  # in the order of their first events
        self.stopping = False
        self.lock = threading.Lock()
        self.live: Live | None = None
        if self.console.is_terminal and plans:
            self.live = Live(console=self.console, refresh_per_second=4, get_renderable=self._table)

    def __enter__(self) -> "Progress":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.live.stop()

    def event(self, group_id: str, event: Event) -> None:
        """Add one event of a run group; safe from any thread."""
        kind = event["event"]
        if kind == "saving" and not self.stopping:
            self.stopping = True
            # Without the lock: the live display takes it to draw this line.
            self._print("stopping: workers are saving; Ctrl-C again ends them at once")
        with self.lock:
            group = self.groups[group_id]
            if not group.state:
                self.begun.append(group)
            group.state.update(event)
            self.time_left.add(group_id, event, time.monotonic())
            group.step = event.get("step", group.step)
            if kind == "ended":
                group.has_ended = True
                group.step = group.plan.steps
            if not self.live:
                self._line(group, kind)

    def _time_left(self) -> str:
        seconds = self.time_left.seconds(time.monotonic())
        groups = self.groups.values()
        if all(group.has_ended for group in groups):
            return ""
        if all(group.state.get("event") in _EVALUATES for group in groups):
            return "evaluating"
        if seconds is None:
            return "estimating the time left"
        return f"about {terminal.rough_duration(seconds)} left"

    def _line(self, group: _GroupProgress, event: str) -> None:
        is_recent = time.monotonic() - group.printed_at < _PLAIN_INTERVAL
        if event in ("started", "evaluating", "finished"):
            return
        # These two come every few seconds; all other events are printed at once.
        if event in ("progress", "elsewhere") and is_recent:
            return
        group.printed_at = time.monotonic()
        total = self._count()
        time_left = "" if self.stopping else self._time_left()
        if time_left:
            total += f", {time_left}"
        label, activity, *numbers = self._words(group)
        words = [label.ljust(self.label_width), activity.ljust(_ACTIVITY), *numbers, total]
        self._print("  ".join(filter(None, words)))

    def _print(self, line: str) -> None:
        try:
            self.console.print(line, highlight=False, soft_wrap=True, markup=False, emoji=False)
        # rich turns the error of a closed pipe into SystemExit, which would end the sweep.
        except (BrokenPipeError, SystemExit):
            self.console.quiet = True

    def _words(self, group: _GroupProgress) -> tuple[str, str, str, str]:
        state = group.state
        loss = state.get("loss")
        rate = state.get("steps_per_second")
        ended = "done"
        if state.get("status"):
            ended = f"FAILED: {state.get('error', 'see its log')}"
        steps = str(group.plan.steps)
        step = f"{group.step:{len(steps)}}/{steps}"
        saving = f"saving at step {step}" if group.step else "compiling, then saves"
        texts: dict[str, str | None] = {
            "queued": f"waits in the queue as {state.get('job')}",
            "started": "starting and compiling",
            "evaluating": "evaluating",
            "damaged": state.get("why"),
            "elsewhere": "locked by another sweep",
            "left": "preempted, will resume",
            "saving": saving,
            "saved": f"saved at step {step}",
            "stopped": "stopped; it continues from its last checkpoint",
            "died": f"its worker was killed by signal {state.get('signal')}; it is tried once more",
            "ended": ended,
        }
        event = state["event"]
        if self.stopping and event == "progress":
            event = "saving"
        activity = texts.get(event) or f"step {step} x {group.plan.num_members}"
        loss_text = "" if loss is None else f"loss {loss:.4f}"
        rate_text = f"{rate:4.0f} steps/s" if rate else ""
        return group.plan.label, activity, loss_text, rate_text

    def _count(self) -> str:
        groups = self.groups.values()
        num_ended = sum(group.plan.num_members for group in groups if group.has_ended)
        total = sum(group.plan.num_members for group in groups)
        return f"{self.done + num_ended} of {self.done + total} runs done"

    def _table(self) -> Group:
        with self.lock:
            table = Table.grid(padding=(0, 2))
            for _ in range(4):  # the label, what the group does, its loss and its rate
                table.add_column(no_wrap=True, overflow="ellipsis")
            for group in self.begun:
                if not group.has_ended or group.has_failed:
                    style = "red" if group.has_failed else ""
                    # Text, because a label may hold brackets, which rich would read as markup.
                    table.add_row(*(Text(words, style) for words in self._words(group)))
            time_left = "stopping" if self.stopping else self._time_left()
            total = ", ".join(filter(None, [self._count(), time_left]))
            return Group(table, Text(total, "bold"))
