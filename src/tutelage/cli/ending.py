"""How the process ends, above all by Ctrl-C.

Light on purpose: until this module is loaded and :func:`take_over_interrupts` called, Ctrl-C gives Python's
own traceback.
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
_PATIENCE = 1.0  # seconds for a command to unwind

_pressed = _thread.allocate_lock()  # held from the first Ctrl-C on
_told = _thread.allocate_lock()  # held from the line about it on
_folders: "set[Path]" = set()


def take_over_interrupts() -> None:
    """From now on the first Ctrl-C unwinds the command, so that a file half written is removed.

    Later ones change nothing.  A command that does not unwind is ended: compiled code may never give the
    main thread back to Python, and an exception raised inside a callback or a finaliser is dropped.
    """
    read, write = os.pipe()
    if hasattr(os, "set_blocking"):
        os.set_blocking(write, False)
    _thread.start_new_thread(_end_the_interrupted, (read,))
    signal.signal(signal.SIGINT, _unwind)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)  # is told by C, whatever the main thread does
    sys.unraisablehook = _unraisable


def is_interrupted() -> bool:
    """Whether Ctrl-C has been pressed."""
    return _pressed.locked()


def clears(folder: "Path") -> None:
    """Files half written that this process has open in ``folder`` are removed if it is ended."""
    _folders.add(folder)


def end_interrupted() -> None:
    """Say so in one line and end."""
    if _told.acquire(blocking=False):
        line = b"Interrupted.\n"
        if os.isatty(2):
            line = b"\r\x1b[K\x1b[?25h" + line  # the line of ^C and of the progress bar; its hidden cursor
        try:  # noqa: SIM105 - an import may be what hangs
            os.write(2, line)  # sys.stderr may be in the middle of a write
        except OSError:
            pass
    for folder in _folders:
        _remove_unfinished(folder)
    os._exit(INTERRUPTED)


def end(status: int) -> None:
    """End at once: threads in compiled code are not waited for."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, RuntimeError, ValueError):  # the other end is gone, or in the middle of a write
            continue
    os._exit(status)


def _unwind(number: int, frame: "FrameType | None") -> None:
    if _pressed.acquire(blocking=False):
        raise KeyboardInterrupt


def _unraisable(dropped: "sys.UnraisableHookArgs") -> None:
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        end_interrupted()
    sys.__unraisablehook__(dropped)


def _end_the_interrupted(read: int) -> None:
    """What a thread of its own does: wait for Ctrl-C, then for the main thread, then no longer."""
    os.read(read, 1)
    time.sleep(_PATIENCE)
    end_interrupted()


def _remove_unfinished(folder: "Path") -> None:
    """Remove what ``writing.write_whole`` has not completed; other processes may be writing beside it."""
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
    except OSError:  # it has just been completed
        pass
