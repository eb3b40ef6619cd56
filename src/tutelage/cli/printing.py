"""Printing to standard output: in colours on a terminal, plain and 80 columns wide in a pipe."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tutelage.text import format_controls

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

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


def print_lines(lines: Iterable[str]) -> None:
    """Print lines.  Raises ``OSError`` that names standard output."""
    with checked_output():
        sys.stdout.writelines(f"{line}\n" for line in lines)


def print_answer(
    document: Callable[[], Any],
    text: Callable[[], Iterable[str] | None],
    *,
    as_json: bool,
    encode: Callable[[Any], str] = json.dumps,
) -> None:
    """Print the answer of a command: one JSON document, or the lines that ``text`` returns or prints itself."""
    with checked_output():
        lines = [encode(document())] if as_json else text() or ()
        sys.stdout.writelines(f"{line}\n" for line in lines)


def create_definitions(pairs: "Iterable[tuple[str, RenderableType]]") -> "Table":
    """Return a table of words, each with its explanation."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for word, explanation in pairs:
        table.add_row(Text(word), explanation)
    return table


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
        """Print words, each with its explanation."""
        from rich.text import Text

        self.print(create_definitions((word, Text(format_controls(explanation))) for word, explanation in pairs))

    def _print_one(self, thing: "RenderableType") -> None:
        from tutelage.safe_console import SafeConsole

        if not self.is_plain:
            SafeConsole(highlight=False).print(thing)
            return
        text = io.StringIO()
        SafeConsole(file=text, highlight=False, width=_PIPE_COLUMNS, color_system=None).print(thing)
        sys.stdout.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
