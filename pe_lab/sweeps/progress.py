"""What runs, how fast, how well, and how long it will still take: live in a terminal, plain lines elsewhere."""

import threading
import time
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

_PLAIN_INTERVAL = 10.0  # seconds between two lines of one cell


class Progress:
    """Collects the events of cells and shows them.

    Args:
      cells: cell id -> (label, steps, replicas).
      console: where to; by default stdout.
    """

    def __init__(self, cells: dict[str, tuple[str, int, int]], console: Console | None = None):
        self.cells, self.console = cells, console or Console()
        self.steps = dict.fromkeys(cells, 0)
        self.state: dict[str, dict[str, Any]] = {}
        self.first_step: dict[str, int] = {}
        self.ended: set[str] = set()
        self.started = time.monotonic()
        self.shown: dict[str, float] = {}
        self.lock = threading.Lock()
        live = self.console.is_terminal and cells
        self.live = Live(console=self.console, refresh_per_second=4, get_renderable=self._table) if live else None

    def __enter__(self) -> "Progress":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.live.stop()

    def event(self, cell: str, event: dict[str, Any]) -> None:
        """Takes one event of a cell; safe from any thread."""
        with self.lock:
            state = self.state.setdefault(cell, {})
            state.update(event)
            self.steps[cell] = event.get("step", self.steps[cell])
            if event["event"] == "resumed":
                self.first_step[cell] = self.steps[cell]
            if event["event"] == "ended":
                self.ended.add(cell)
                self.steps[cell] = self.cells[cell][1]
            if not self.live:
                self._line(cell, event["event"])

    def seconds_left(self) -> float | None:
        """From the share of replica-steps that this process has seen done."""
        total = sum(steps * replicas for _, steps, replicas in self.cells.values())
        done = sum(self.steps[c] * self.cells[c][2] for c in self.cells)
        fresh = done - sum(self.first_step.get(c, 0) * self.cells[c][2] for c in self.cells)
        return (total - done) * (time.monotonic() - self.started) / fresh if fresh else None

    def _line(self, cell: str, event: str) -> None:
        recent = time.monotonic() - self.shown.get(cell, 0) < _PLAIN_INTERVAL
        if event in ("started", "evaluating", "finished") or (event in ("progress", "elsewhere") and recent):
            return
        self.shown[cell] = time.monotonic()
        words = [w for w in (*self._words(cell), f"{self._count()}, {_minutes(self.seconds_left())}") if w]
        self.console.print("  ".join(words), highlight=False, soft_wrap=True, markup=False, emoji=False)

    def _words(self, cell: str) -> tuple[str, str, str, str]:
        label, steps, replicas = self.cells[cell]
        state = self.state.get(cell, {})
        loss, rate = state.get("loss"), state.get("steps_per_second")
        ended = f"FAILED: {state.get('error', 'see its log')}" if state.get("status") else "done"
        doing: dict[str, str | None] = {
            "queued": f"waits in Slurm's queue as {state.get('job')}",
            "started": "starting and compiling",
            "evaluating": "evaluating",
            "damaged": state.get("why"),
            "elsewhere": "another sweep is at it",
            "left": "was asked to leave; it goes on later",
            "died": f"its worker was killed by signal {state.get('signal')}; it is tried once more",
            "ended": ended,
        }
        what = doing.get(state["event"]) or f"step {self.steps[cell]}/{steps} x {replicas}"
        return label, what, "" if loss is None else f"loss {loss:.4f}", f"{rate:.0f} steps/s" if rate else ""

    def _count(self) -> str:
        done, total = sum(self.cells[c][2] for c in self.ended), sum(r for _, _, r in self.cells.values())
        return f"{done} of {total} runs"

    def _table(self) -> Table:
        with self.lock:
            table = Table.grid(padding=(0, 2))
            for cell in self.state:
                if cell not in self.ended or self.state[cell].get("status"):
                    table.add_row(*map(Text, self._words(cell)))
            table.add_row(self._count(), _minutes(self.seconds_left()))
        return table


def _minutes(seconds: float | None) -> str:
    if seconds is None:
        return "time left unknown"
    return f"{seconds / 60:.1f} min left" if seconds >= 60 else f"{seconds:.0f} s left"
