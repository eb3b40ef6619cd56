"""The command line: what happens around every command.

``main`` imports next to nothing until Ctrl-C is taken care of.
"""

import io
import os
import sys

from tutelage.cli import ending


def main() -> None:
    """``tutelage``: runs the command and ends the process."""
    _open_standard_streams()
    ending.take_over_interrupts()
    try:
        from tutelage.cli.app import execute

        status = execute(sys.argv[1:])
    except KeyboardInterrupt:
        ending.end_interrupted()
    except BrokenPipeError:
        ending.end(ending.CLOSED_PIPE)
    except Exception:
        if ending.is_interrupted():  # compilers turn it into errors of their own
            ending.end_interrupted()
        raise
    if status:
        ending.end(status)


def _open_standard_streams() -> None:
    """Make good streams that are closed (``>&-``) or whose encoding lacks a character."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest free one: no file may take these
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # standard error never is strict
