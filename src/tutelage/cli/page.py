"""Text for people: in colours on a terminal, plain and 80 columns wide in a pipe."""

import io
import os
import sys
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from tutelage.metrics import OverRuns
from tutelage.registry import split_top

_WIDTH = 80


class Page:
    """What is put on it is printed to standard output at once; in a pipe no line ends with spaces."""

    def __init__(self) -> None:
        self.plain = not sys.stdout.isatty() and not os.environ.get("FORCE_COLOR")

    def put(self, *things: RenderableType) -> None:
        """Print each thing; a string is printed as it is, without markup."""
        for thing in things:
            self._print(Text(thing) if isinstance(thing, str) else thing)

    def put_definitions(self, pairs: list[tuple[str, str]]) -> None:
        """Print words with what they mean, the words in a column of their own."""
        grid = Grid.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for word, meaning in pairs:
            grid.add_row(Text(word), Text(meaning))
        self.put(grid)

    def _print(self, thing: RenderableType) -> None:
        if not self.plain:
            Console(highlight=False).print(thing)
            return
        text = io.StringIO()
        Console(file=text, highlight=False, width=_WIDTH, color_system=None).print(thing)
        sys.stdout.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def grid(*names: str, first: str | None = None, width: int | None = None) -> Grid:
    """A table without lines: columns to the right, after a first one to the left, of ``width`` at most."""
    table = Grid(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False, pad_edge=False)
    if first is not None:
        table.add_column(first, overflow="fold", max_width=width)
    for name in names:
        table.add_column(name, no_wrap=True, justify="right")
    return table


def number(value: float) -> str:
    """At least three digits and the whole part: 0.0123, 1.23, 12.3, 123, 123,456; a million is 1.000M."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:#.4g}M" if size < 1e10 else f"{value:.3e}"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def broken(spec: str) -> Text:
    """A SPEC with its arguments one below the other, where a row has two lines anyway."""
    name, parenthesis, rest = spec.partition("(")
    return Text(f"{name}{parenthesis}" + ",\n  ".join(split_top(rest[:-1], ",")) + ")" if rest else spec)


def with_band(over: OverRuns, ends: Callable[[float], str] = number) -> Text:
    """The mean and, below it, where 80 % of the runs lie, its ends written by ``ends``."""
    if over.sd is None or over.q10 == over.q90 == over.mean:
        return Text(number(over.mean))
    return Text.assemble(number(over.mean), "\n", (f"{ends(over.q10)}-{ends(over.q90)}", "dim"))
