"""Files are written whole or not at all, and what a killed process left half written is removed.

A file half written is locked by who writes it, a folder by who plays or draws into it.  The locks are the
operating system's: they end with the process, however that ends.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tutelage.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, so nothing is swept, and double work is possible
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

_UNFINISHED = f".tutelage-{'[0-9a-f]' * 16}.part"


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file beside its place and move it there when complete.

    So a reader never sees half of it, and an earlier file survives a failure.  Raises ``OSError`` with a
    sentence if writing fails on the way (a full disk).
    """
    unfinished = path.with_name(f".tutelage-{secrets.token_hex(8)}.part")
    try:
        with _held(unfinished) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if not _HAS_LOCKS:
                file.close()  # Windows moves no open file
            unfinished.replace(path)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)


@contextlib.contextmanager
def _held(unfinished: Path) -> Iterator[BinaryIO]:
    """The file, opened and locked."""
    while True:
        with unfinished.open("wb") as file:
            if _HAS_LOCKS:
                with contextlib.suppress(OSError):  # a network's file system may have no locks
                    fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_nlink == 0:
                    continue  # swept between the opening and the lock
            yield file
            return


def sweep(folder: Path) -> None:
    """Remove what killed processes left half written in a folder; what is being written stays."""
    if not _HAS_LOCKS:
        return
    for unfinished in folder.glob(_UNFINISHED):
        # It has just been completed, somebody is writing it, or nothing may be removed here.
        with contextlib.suppress(OSError), unfinished.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            unfinished.unlink()


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else is at work in the folder meanwhile; raises ``InputError`` where somebody is."""
    if not _HAS_LOCKS:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"Another tutelage is at work in {str(folder)!r}: wait for it, or name another --out."
            ) from None
        yield
    finally:
        os.close(descriptor)
