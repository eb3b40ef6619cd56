"""How far long work has come, for people who watch standard error on a terminal."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_REST = 0.1  # seconds between two drawings


class Bar:
    """A bar with the remaining time, gone when the work is done; nothing at all where no terminal is.

    Called with how many of ``total`` runs have been played, and with ``total`` where it is known only then.
    It is drawn when it is told something, not by a thread of its own: work that is spread over processes then
    starts as copies of this one (``workers.py``).
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
            *columns, console=Console(stderr=True), transient=True, disable=disabled, auto_refresh=False
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

    def __call__(self, played: float, *, total: float | None = None, what: str = "playing") -> None:
        now = time.monotonic()
        due = now - self.drawn >= _REST
        self.drawn = now if due else self.drawn
        self.progress.update(self.task, completed=played, total=total, description=what, refresh=due)

    def say(self, what: str) -> None:
        """Name the next piece of work."""
        self.progress.update(self.task, description=what, refresh=True)
