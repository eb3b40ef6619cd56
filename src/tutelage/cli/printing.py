"""Printing to standard output: in colours on a terminal, plain and 80 columns wide in a pipe."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tutelage.text import format_controls

if TYPE_CHECKING:
    from rich.console import RenderableType

_PIPE_COLUMNS = 80


@contextlib.contextmanager
def checked_output() -> Iterator[None]:
    """Flush standard output at the end of the block, and raise ``OSError`` that names it if that fails."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", "Standard output") from error


class Printer:
    """Prints text and tables to standard output; in a pipe no line ends with spaces."""

    def __init__(self) -> None:
        self.is_plain = not sys.stdout.isatty() and not os.environ.get("FORCE_COLOR")

    def print(self, *things: "RenderableType") -> None:
        """Print each thing on a line of its own; a string is printed as it is, without markup."""
        from rich.text import Text

        for thing in things:
            self._print_one(Text(format_controls(thing)) if isinstance(thing, str) else thing)

    def print_definitions(self, pairs: list[tuple[str, str]]) -> None:
        """Print words with their explanations, in two columns."""
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for word, explanation in pairs:
            table.add_row(Text(word), Text(format_controls(explanation)))
        self.print(table)

    def _print_one(self, thing: "RenderableType") -> None:
        from tutelage.safe_console import SafeConsole

        if not self.is_plain:
            SafeConsole(highlight=False).print(thing)
            return
        text = io.StringIO()
        SafeConsole(file=text, highlight=False, width=_PIPE_COLUMNS, color_system=None).print(thing)
        sys.stdout.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
