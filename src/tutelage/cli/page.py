"""Text for people: in colours on a terminal, plain and 80 columns wide in a pipe."""

import io
import os
import sys

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from tutelage.metrics import RunStatistics
from tutelage.registry import split_top

_WIDTH = 80
_RANGE = 13  # letters of a range
_UNITS = {2: "M", 3: "G", 4: "T"}  # by how many thousands


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
    """At least three digits and the whole part: 0.0123, 1.23, 12.3, 123, 123,456.

    From a million on four digits and M (million), G (thousand M) or T (thousand G): 1.000M, 35.65G.
    """
    if value == 0:
        return "0"
    size = abs(value)
    if round(size) >= 1_000_000:
        digits, power = f"{value:.3e}".split("e")
        unit, shift = divmod(int(power), 3)
        if unit not in _UNITS:
            return f"{value:.3e}"
        return f"{float(digits) * 10**shift:.{3 - shift}f}{_UNITS[unit]}"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def broken(spec: str) -> Text:
    """A SPEC with its arguments one below the other, where a row has two lines anyway."""
    name, parenthesis, rest = spec.partition("(")
    return Text(f"{name}{parenthesis}" + ",\n  ".join(split_top(rest[:-1], ",")) + ")" if rest else spec)


def with_band(over: RunStatistics) -> Text:
    """The mean and, below it, where 80 % of the runs lie."""
    if over.sd is None or over.q10 == over.q90 == over.mean:
        return Text(number(over.mean))
    return Text.assemble(number(over.mean), "\n", (band(over), "dim"))


def band(over: RunStatistics) -> str:
    """Where 80 % of the runs lie, in two lines where one would be too wide for three columns of them."""
    low, high = number(over.q10), number(over.q90)
    return f"{low}-{high}" if len(low) + len(high) < _RANGE else f"{low}-\n{high}"
