"""Progress of a sweep: a live table in a terminal, plain lines elsewhere."""

import dataclasses
import threading
import time

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pe_lab.sweeps import durations
from pe_lab.sweeps.launchers.base import Event

_PLAIN_INTERVAL = 10.0  # seconds between two lines of one run group
# Events after which no process trains or evaluates a run group.
_INACTIVE = ("queued", "elsewhere", "left", "died", "saved", "stopped", "ended")


@dataclasses.dataclass
class _GroupProgress:
    """A run group and what is known of its training.

    Attributes:
      state: the latest value of each key of its events.
      rated_steps: steps with a known rate, times members.
      rated_seconds: the time that they took, without compilation.
    """

    label: str
    total: int  # steps
    num_members: int
    step: int = 0
    state: Event = dataclasses.field(default_factory=dict)
    rated_steps: int = 0
    rated_seconds: float = 0.0
    started_at: float | None = None
    printed_at: float = 0.0
    is_active: bool = False
    has_ended: bool = False

    def add_rate(self, event: Event) -> None:
        """Add the steps since the last event, at the rate of training alone."""
        new_steps = max(0, event["step"] - self.step)  # a resumed group may go back
        steps = new_steps * self.num_members
        rate = event["steps_per_second"]
        if rate:
            self.rated_steps += steps
            self.rated_seconds += steps / rate

    def overhead(self) -> float:
        """Seconds since its start in which it did not train: compilation, evaluation."""
        if self.started_at is None:
            return 0.0
        return max(0.0, time.monotonic() - self.started_at - self.rated_seconds)


class Progress:
    """Collects the events of run groups and shows them.

    Args:
      groups: run group id -> (label, steps, members).
      console: for the output; None: stdout.
    """

    def __init__(
        self,
        groups: dict[str, tuple[str, int, int]],
        console: Console | None = None,
    ):
        self.groups = {group_id: _GroupProgress(*group) for group_id, group in groups.items()}
        self.console = console or Console()
        self.begun: list[_GroupProgress] = []  # in the order of their first events
        self.overheads: list[float] = []  # seconds of ended groups outside of training
        self.stopping = False
        self.lock = threading.Lock()
        self.live: Live | None = None
        if self.console.is_terminal and groups:
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
            if kind == "started":
                group.started_at = time.monotonic()
            elif kind == "progress":
                group.add_rate(event)
            group.step = event.get("step", group.step)
            if kind == "ended":
                if group.rated_seconds and not event.get("status"):
                    self.overheads.append(group.overhead())
                group.has_ended = True
                group.step = group.total
            group.is_active = kind not in _INACTIVE
            if not self.live:
                self._line(group, kind)

    def seconds_left(self) -> float | None:
        """Time of the remaining steps and evaluations; None before the first rate of training.

        A run group without a rate of its own is assumed to have the mean rate of the others. The
        time outside of training is assumed to be the mean of the ended run groups.
        """
        groups = self.groups.values()
        steps = sum(group.rated_steps for group in groups)
        seconds = sum(group.rated_seconds for group in groups)
        if not seconds:
            return None
        mean_rate = steps / seconds
        mean_overhead = sum(self.overheads) / max(1, len(self.overheads))
        seconds_left = 0.0
        for group in groups:
            if group.has_ended:
                continue
            seconds_left += max(0.0, mean_overhead - group.overhead())
            rate = mean_rate
            if group.rated_steps:
                rate = group.rated_steps / group.rated_seconds
            seconds_left += (group.total - group.step) * group.num_members / rate
        return seconds_left / max(1, sum(group.is_active for group in groups))

    def _time_left(self) -> str:
        seconds = self.seconds_left()
        groups = self.groups.values()
        if all(group.step == group.total for group in groups):
            return "evaluating" if any(group.is_active for group in groups) else ""
        if seconds is None:
            return "estimating time left"
        return f"{durations.in_words(seconds)} left"

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
        words = [*self._words(group), total]
        self._print("  ".join(filter(None, words)))

    def _print(self, line: str) -> None:
        try:
            self.console.print(line, highlight=False, soft_wrap=True, markup=False, emoji=False)
        # rich turns the error of a closed pipe into SystemExit, which would end a worker's thread.
        except (BrokenPipeError, SystemExit):
            self.console.quiet = True

    def _words(self, group: _GroupProgress) -> tuple[str, str, str, str]:
        state = group.state
        loss = state.get("loss")
        rate = state.get("steps_per_second")
        ended = "done"
        if state.get("status"):
            ended = f"FAILED: {state.get('error', 'see its log')}"
        step = f"{group.step}/{group.total}"
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
        activity = texts.get(event) or f"step {step} x {group.num_members}"
        loss_text = "" if loss is None else f"loss {loss:.4f}"
        rate_text = f"{rate:.0f} steps/s" if rate else ""
        return group.label, activity, loss_text, rate_text

    def _count(self) -> str:
        groups = self.groups.values()
        num_ended = sum(group.num_members for group in groups if group.has_ended)
        return f"{num_ended} of {sum(group.num_members for group in groups)} runs"

    def _table(self) -> Table:
        with self.lock:
            table = Table.grid(padding=(0, 2))
            for group in self.begun:
                has_failed = bool(group.state.get("status"))
                if not group.has_ended or has_failed:
                    # Text, because a label may hold brackets, which rich would read as markup.
                    table.add_row(*map(Text, self._words(group)))
            time_left = "stopping" if self.stopping else self._time_left()
            table.add_row(self._count(), time_left)
        return table
