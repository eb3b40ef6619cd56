"""A progress bar on standard error."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tutelage.errors import InputError
from tutelage.safe_console import SafeConsole
from tutelage.text import format_value

_REDRAW_SECONDS = 0.1  # between two drawings


ProgressOption = bool | Callable[[float], None]


class ProgressBar:
    """A bar with the remaining time, erased when the work is done, and not drawn unless on a terminal.

    Call it with the number of finished runs, and with ``total`` where that was not known before.
    It is redrawn by these calls, not by a thread: the engine forks this process for its workers.
    """

    def __init__(self, total: float) -> None:
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


@contextlib.contextmanager
def show_progress(progress: ProgressOption, total: float) -> Iterator[Any]:
    """Give what is to be called with the number of finished runs: a bar for True, None for False, or the function.

    Raises ``InputError`` for anything else.
    """
    if progress is True:
        with ProgressBar(total) as bar:
            yield bar
    elif progress is False:
        yield None
    elif callable(progress):
        yield progress
    else:
        raise InputError(
            f"Invalid progress {format_value(progress)}: use True for a bar, or a function that gets a count."
        )
