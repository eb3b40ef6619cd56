"""A progress bar on standard error."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tutelage.cli.printing import SafeConsole

_REDRAW_SECONDS = 0.1  # between two drawings


class ProgressBar:
    """A bar with the remaining time, erased when the work is done, and not drawn unless on a terminal.

    Call it with the number of finished runs, and with ``total`` where that was not known before.
    It is redrawn by these calls, not by a thread: the engine forks this process for its workers.
    """

    def __init__(self, total: int) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("runs, remaining"),
            TimeRemainingColumn(),
        )
        disabled = not sys.stderr.isatty()
        self.progress = Progress(
            *columns, console=SafeConsole(stderr=True), transient=True, disable=disabled, auto_refresh=False
        )
        self.drawn = 0.0
        self.task = self.progress.add_task("preparing", total=total)

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def __call__(self, done: float, *, total: float | None = None, what: str = "simulating") -> None:
        now = time.monotonic()
        due = now - self.drawn >= _REDRAW_SECONDS
        self.drawn = now if due else self.drawn
        self.progress.update(self.task, completed=done, total=total, description=what, refresh=due)

    def describe(self, what: str) -> None:
        """Show the name of the work that follows."""
        self.progress.update(self.task, description=what, refresh=True)
