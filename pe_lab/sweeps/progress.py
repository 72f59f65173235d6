"""Progress of a sweep: a live table in a terminal, plain lines elsewhere."""

import threading
import time

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pe_lab.sweeps import durations
from pe_lab.sweeps.launchers.base import Event

_PLAIN_INTERVAL = 10.0  # seconds between two lines of one run group


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
        self.groups = groups
        self.console = console or Console()
        self.steps = dict.fromkeys(groups, 0)
        self.state: dict[str, Event] = {}
        self.rated_steps: dict[str, int] = {}  # steps with a known rate, times members
        self.rated_seconds: dict[str, float] = {}  # the time that they took, without compilation
        self.started_at: dict[str, float] = {}
        self.overheads: list[float] = []  # seconds of ended groups outside of training
        self.active: set[str] = set()
        self.ended: set[str] = set()
        self.stopping = False
        self.printed_at: dict[str, float] = {}
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

    def event(self, group: str, event: Event) -> None:
        """Add one event of a run group; safe from any thread."""
        if event["event"] == "saving" and not self.stopping:
            self.stopping = True
            # Without the lock: the live display takes it to draw this line.
            self._print("stopping: workers are saving; Ctrl-C again ends them at once")
        with self.lock:
            state = self.state.setdefault(group, {})
            state.update(event)
            if event["event"] == "started":
                self.started_at[group] = time.monotonic()
            elif event["event"] == "progress":
                self._add_rate(group, event)
            self.steps[group] = event.get("step", self.steps[group])
            if event["event"] == "ended":
                if self.rated_seconds.get(group) and not event.get("status"):
                    self.overheads.append(self._overhead(group))
                self.ended.add(group)
                self.steps[group] = self.groups[group][1]
            self._set_active(group, event["event"])
            if not self.live:
                self._line(group, event["event"])

    def _add_rate(self, group: str, event: Event) -> None:
        """Add the steps since the run group's last event, at the rate of training alone."""
        _, _, num_members = self.groups[group]
        new_steps = max(0, event["step"] - self.steps[group])  # a resumed group may go back
        steps = new_steps * num_members
        rate = event["steps_per_second"]
        if rate:
            self.rated_steps[group] = self.rated_steps.get(group, 0) + steps
            self.rated_seconds[group] = self.rated_seconds.get(group, 0.0) + steps / rate

    def _set_active(self, group: str, event: str) -> None:
        if event in ("queued", "elsewhere", "left", "died", "saved", "stopped", "ended"):
            self.active.discard(group)
        else:
            self.active.add(group)

    def _overhead(self, group: str) -> float:
        """Seconds since the start of a run group that it did not train: compilation, evaluation."""
        if group not in self.started_at:
            return 0.0
        seconds = time.monotonic() - self.started_at[group]
        return max(0.0, seconds - self.rated_seconds.get(group, 0.0))

    def seconds_left(self) -> float | None:
        """Time of the remaining steps and evaluations; None before the first rate of training.

        A run group without a rate of its own is assumed to have the mean rate of the others. The
        time outside of training is assumed to be the mean of the ended run groups.
        """
        steps = sum(self.rated_steps.values())
        seconds = sum(self.rated_seconds.values())
        if not seconds:
            return None
        mean_rate = steps / seconds
        mean_overhead = sum(self.overheads) / max(1, len(self.overheads))
        seconds_left = 0.0
        for group, (_, total, num_members) in self.groups.items():
            if group in self.ended:
                continue
            seconds_left += max(0.0, mean_overhead - self._overhead(group))
            rate = mean_rate
            if self.rated_steps.get(group):
                rate = self.rated_steps[group] / self.rated_seconds[group]
            steps_left = (total - self.steps[group]) * num_members
            seconds_left += steps_left / rate
        return seconds_left / max(1, len(self.active))

    def _time_left(self) -> str:
        seconds = self.seconds_left()
        if all(self.steps[group] == total for group, (_, total, _) in self.groups.items()):
            return "evaluating" if self.active else ""
        if seconds is None:
            return "estimating time left"
        return f"{durations.in_words(seconds)} left"

    def _line(self, group: str, event: str) -> None:
        elapsed = time.monotonic() - self.printed_at.get(group, 0)
        is_recent = elapsed < _PLAIN_INTERVAL
        if event in ("started", "evaluating", "finished"):
            return
        # These two come every few seconds; all other events are printed at once.
        if event in ("progress", "elsewhere") and is_recent:
            return
        self.printed_at[group] = time.monotonic()
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

    def _words(self, group: str) -> tuple[str, str, str, str]:
        label, steps, members = self.groups[group]
        state = self.state.get(group, {})
        loss = state.get("loss")
        rate = state.get("steps_per_second")
        ended = "done"
        if state.get("status"):
            ended = f"FAILED: {state.get('error', 'see its log')}"
        step = f"{self.steps[group]}/{steps}"
        saving = "compiling, then saves"
        if self.steps[group]:
            saving = f"saving at step {step}"
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
        activity = texts.get(event) or f"step {step} x {members}"
        loss_text = "" if loss is None else f"loss {loss:.4f}"
        rate_text = f"{rate:.0f} steps/s" if rate else ""
        return label, activity, loss_text, rate_text

    def _count(self) -> str:
        sizes = {group: num_members for group, (_, _, num_members) in self.groups.items()}
        num_ended = sum(sizes[group] for group in self.ended)
        return f"{num_ended} of {sum(sizes.values())} runs"

    def _table(self) -> Table:
        with self.lock:
            table = Table.grid(padding=(0, 2))
            for group in self.state:
                has_failed = bool(self.state[group].get("status"))
                if group not in self.ended or has_failed:
                    # Text, because a label may hold brackets, which rich would read as markup.
                    table.add_row(*map(Text, self._words(group)))
            time_left = "stopping" if self.stopping else self._time_left()
            table.add_row(self._count(), time_left)
        return table
