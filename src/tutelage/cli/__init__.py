"""The command line: what happens around every command.

``main`` imports next to nothing until Ctrl-C is handled.
"""

import codecs
import io
import os
import sys

from tutelage.cli import interrupts


def main() -> None:
    """Run the command ``tutelage`` and end the process."""
    _require_utf8()
    _open_standard_streams()
    interrupts.handle_interrupts()
    try:
        from tutelage.cli.app import execute

        status = execute(sys.argv[1:])
    except KeyboardInterrupt:
        interrupts.exit_interrupted()
    except BrokenPipeError:
        interrupts.exit_now(interrupts.CLOSED_PIPE)
    except Exception:
        if interrupts.is_interrupted():  # compilers turn the interrupt into errors of their own
            interrupts.exit_interrupted()
        raise
    if status:
        interrupts.exit_now(status)


def _require_utf8() -> None:
    """Start again in Python's UTF-8 mode where names of files and arguments would be ASCII (LC_ALL=C)."""
    if codecs.lookup(sys.getfilesystemencoding()).name == "ascii":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def _open_standard_streams() -> None:
    """Replace standard streams that are closed (``>&-``), and characters that their encoding lacks."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest free one: no file may get these
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # standard error never is strict
