"""Progress on standard error: a bar on a terminal, elsewhere a line from time to time."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tutelage.errors import InputError
from tutelage.text import format_percent, format_rough_duration, format_value

if TYPE_CHECKING:
    from rich.progress import Progress

_REDRAW_SECONDS = 0.1  # between two drawings
_LINE_SECONDS = 10.0  # before the first line and between two lines


ProgressOption = bool | Callable[[float], None]


class ProgressBar:
    """A bar with the remaining time, erased when the work is done; where there is no terminal, lines.

    Call it with the number of finished runs, and with ``total`` where that was not known before.
    It is redrawn by these calls, not by a thread: the engine forks this process for its workers.
    """

    def __init__(self, total: float) -> None:
        self.bar = _make_bar(total) if sys.stderr.isatty() else None
        self.drawn = time.monotonic() - (_REDRAW_SECONDS if self.bar else 0.0)
        self.first: tuple[float, float] | None = None  # the time and the finished runs of the first call
        self.total = total

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def __call__(self, done: float, *, total: float | None = None, what: str = "simulating") -> None:
        self.total = self.total if total is None else total
        due = self._is_due()
        self._update(completed=done, total=total, description=what, refresh=due)
        self.first = self.first or (time.monotonic(), done)
        if due and not self.bar and done < self.total:
            self.print(f"{what}: {done:,.0f} of {self.total:,.0f} runs ({self._describe_share(done)})")

    def describe(self, what: str) -> None:
        """Show the name of the work that follows."""
        self._update(description=what, refresh=True)
        if not self.bar and self._is_due():
            self.print(what)

    def print(self, line: str) -> None:
        """Print a line, above the bar."""
        if self.bar:
            self.bar.console.print(line, markup=False, highlight=False)
        else:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    def _update(self, **values: Any) -> None:
        if self.bar:
            self.bar.update(self.bar.task_ids[0], **values)

    def _is_due(self) -> bool:
        now = time.monotonic()
        due = now - self.drawn >= (_REDRAW_SECONDS if self.bar else _LINE_SECONDS)
        self.drawn = now if due else self.drawn
        return due

    def _describe_share(self, done: float) -> str:
        """``24 %, about 3 min left``."""
        began, before = self.first or (0.0, 0.0)
        share = format_percent(done / self.total)
        if done <= before:
            return share
        left = (time.monotonic() - began) * (self.total - done) / (done - before)
        return f"{share}, about {format_rough_duration(left)} left"


def _make_bar(total: float) -> "Progress":
    """Return what draws the bar on a terminal; elsewhere rich's part for it is not imported."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tutelage.safe_console import SafeConsole

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs, remaining"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=SafeConsole(stderr=True), transient=True, auto_refresh=False)
    bar.add_task("preparing", total=total)
    return bar


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
