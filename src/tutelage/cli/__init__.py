"""The command line: what happens around every command.

``main`` imports nothing but the standard library until Ctrl-C and a closed pipe are taken care of.
"""

import os
import signal
import sys
import time
from types import FrameType

INTERRUPTED, CLOSED_PIPE = 130, 141  # 128 + the signal's number, as shells report them
_PATIENCE = 2.0  # seconds in which a second Ctrl-C is taken for part of the first


def main() -> None:
    """``tutelage``: runs the command and ends the process."""
    signal.signal(signal.SIGINT, _Interrupts())
    try:
        from tutelage.cli.app import execute

        status = execute(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        _end_interrupted()
    except BrokenPipeError:
        _end(CLOSED_PIPE)
    if status:
        _end(status)


class _Interrupts:
    """The first Ctrl-C unwinds the command, so that a file half written is removed.

    One that follows at once changes nothing; a later one, should unwinding hang, ends the process.
    """

    def __init__(self) -> None:
        self.first: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first = now
            raise KeyboardInterrupt
        if now - self.first > _PATIENCE:
            _end_interrupted()


def _end_interrupted() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K\x1b[?25h")  # the line of ^C and of the progress bar; its hidden cursor
    sys.stderr.write("Interrupted.\n")
    _end(INTERRUPTED)


def _end(status: int) -> None:
    """End at once: threads in compiled code are not waited for."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (
            OSError,
            RuntimeError,
            ValueError,
        ):  # the other end is gone, or this is in the middle of a write
            continue
    os._exit(status)
