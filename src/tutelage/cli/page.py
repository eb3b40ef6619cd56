"""Text for people: in colours on a terminal, plain and 80 columns wide in a pipe."""

import io
import os
import sys

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

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
