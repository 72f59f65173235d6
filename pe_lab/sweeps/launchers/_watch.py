"""The watch over run groups that launchers share: their progress, and what follows their end."""

from pathlib import Path

from pe_lab.runs.records import run_group_files
from pe_lab.runs.system import locks
from pe_lab.sweeps.launchers.base import TIME_LIMIT, Event, OnEvent


class Watch:
    """Reports the progress of run groups, and decides which of them start again.

    Attributes:
      statuses: the exit status of each run group that has ended, by its id.
    """

    def __init__(self, folder: Path, on_event: OnEvent):
        self.statuses: dict[str, int] = {}
        self._folder = folder
        self._on_event = on_event
        self._died: set[Path] = set()
        self._latest: dict[Path, Event] = {}

    def begin(self, file: Path) -> None:
        """Begin to follow a run group, before its process starts.

        A progress file that exists now is of an earlier process, and holds no news.
        """
        self._latest[file] = run_group_files.read_progress(self._folder, file.stem)

    def follow(self, file: Path) -> None:
        """Report the progress file of a run group if it has changed."""
        # A file, because a task on another machine has no pipe to this process. It is replaced as a
        # whole, so a read never sees a part of it.
        progress = run_group_files.read_progress(self._folder, file.stem)
        if progress and progress != self._latest[file]:
            self._latest[file] = progress
            self._on_event(file.stem, progress)

    def starts_again(
        self, file: Path, status: int, *, is_elsewhere: bool = False, may_retry: bool = True
    ) -> bool:
        """Whether a run group starts again after the end of its process, which is then reported.

        A group that was preempted always does. One whose process died is tried once more.

        Args:
          is_elsewhere: another sweep holds its lock.
          may_retry: False for a process that was ended on purpose.
        """
        if status == locks.LATER:
            self._on_event(file.stem, {"event": "elsewhere" if is_elsewhere else "left"})
            return True
        # By a signal, for want of memory or on a machine that fails. Once more, and not
        # again and again, because a group that needs too much memory dies every time.
        has_died = status < 0 and status != TIME_LIMIT
        if has_died and may_retry and file not in self._died:
            self._died.add(file)
            self._on_event(file.stem, {"event": "died", "signal": -status})
            return True
        return False

    def end(self, file: Path, status: int, error: str | None = None) -> None:
        """Report the end of a run group that does not start again."""
        self.statuses[file.stem] = status
        reason = {} if error is None else {"error": error}
        self._on_event(file.stem, {"event": "ended", "status": status, **reason})
