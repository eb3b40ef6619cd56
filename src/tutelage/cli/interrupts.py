"""Ctrl-C, and how the process exits.

This module imports little: until :func:`handle_interrupts` has run, Ctrl-C prints a traceback.
"""

import _thread
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

INTERRUPTED, CLOSED_PIPE = 130, 141  # 128 + the signal's number, as shells report them
_UNWIND_SECONDS = 1.0  # for a command to unwind after Ctrl-C

_interrupted = _thread.allocate_lock()  # held since the first Ctrl-C
_reported = _thread.allocate_lock()  # held since "Interrupted." was written
_folders: "set[Path]" = set()
_resumable = _thread.allocate_lock()  # held where the same command goes on after an interrupt


def handle_interrupts() -> None:
    """Let the first Ctrl-C unwind the command, so that unfinished files are removed, and ignore later ones.

    A command that does not unwind is ended: compiled code may never return to Python, and an exception raised
    inside a callback or a finaliser is dropped.
    """
    read, write = os.pipe()
    if hasattr(os, "set_blocking"):
        os.set_blocking(write, False)
    _thread.start_new_thread(_exit_after_interrupt, (read,))
    signal.signal(signal.SIGINT, _unwind)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)  # written by C, whatever the main thread does
    sys.unraisablehook = _unraisable


def is_interrupted() -> bool:
    """Return whether Ctrl-C has been pressed."""
    return _interrupted.locked()


def remove_unfinished_in(folder: "Path") -> None:
    """Let an interrupt remove the unfinished files that this process has open in ``folder``."""
    _folders.add(folder)


def promise_resumption() -> None:
    """Let an interrupt say that the same command goes on from there."""
    _resumable.acquire(blocking=False)


def exit_interrupted() -> None:
    """Write "Interrupted.", remove unfinished files and exit with status 130."""
    if _reported.acquire(blocking=False):
        line = b"Interrupted; the same command goes on from here.\n" if _resumable.locked() else b"Interrupted.\n"
        if os.isatty(2):
            line = b"\r\x1b[K\x1b[?25h" + line  # erases ^C and the progress bar, shows the cursor
        try:  # noqa: SIM105 - an import may be what hangs
            os.write(2, line)  # sys.stderr may be in the middle of a write
        except OSError:
            pass
    for folder in _folders:
        _remove_unfinished(folder)
    os._exit(INTERRUPTED)


def exit_now(status: int) -> None:
    """Exit without waiting for threads in compiled code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, RuntimeError, ValueError):  # the other end is gone, or in the middle of a write
            continue
    os._exit(status)


def _unwind(number: int, frame: "FrameType | None") -> None:
    if _interrupted.acquire(blocking=False):
        raise KeyboardInterrupt


def _unraisable(dropped: "sys.UnraisableHookArgs") -> None:
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        exit_interrupted()
    sys.__unraisablehook__(dropped)


def _exit_after_interrupt(read: int) -> None:
    """Wait for Ctrl-C and a moment for the main thread to unwind, then exit; runs in its own thread."""
    os.read(read, 1)
    time.sleep(_UNWIND_SECONDS)
    exit_interrupted()


def _remove_unfinished(folder: "Path") -> None:
    """Remove the unfinished files of :mod:`tutelage.atomic_files` that this process has open."""
    opened = set()
    for descriptor in range(3, 256):
        try:
            found = os.fstat(descriptor)
        except OSError:
            continue
        opened.add((found.st_dev, found.st_ino))
    try:
        for path in folder.glob(".tutelage-*.part"):
            found = path.stat()
            if (found.st_dev, found.st_ino) in opened:
                path.unlink(missing_ok=True)
    except OSError:  # it has just been completed and renamed
        pass
