"""Write files completely or not at all, and remove unfinished files of killed processes.

An unfinished file is locked by the process that writes it, a folder by the process that writes results into
it.  The locks are the operating system's: they end with the process.
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
except ImportError:  # Windows: without locks nothing is removed, and two processes may do the same work
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

_UNFINISHED = f".tutelage-{'[0-9a-f]' * 16}.part"


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Write a file under a temporary name in the same folder and rename it when it is complete.

    A reader never sees half of a file, and an earlier file survives a failure.  Raises ``OSError`` with a
    sentence if writing fails (a full disk).
    """
    unfinished = path.with_name(f".tutelage-{secrets.token_hex(8)}.part")
    try:
        with _open_locked(unfinished) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if not _HAS_LOCKS:
                file.close()  # Windows cannot rename an open file
            unfinished.replace(path)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)


@contextlib.contextmanager
def _open_locked(unfinished: Path) -> Iterator[BinaryIO]:
    """Open and lock the unfinished file."""
    while True:
        with unfinished.open("wb") as file:
            if _HAS_LOCKS:
                with contextlib.suppress(OSError):  # a network file system may lack locks
                    fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_nlink == 0:
                    continue  # removed by another process before it was locked
            yield file
            return


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of killed processes from a folder; files that are being written stay."""
    if not _HAS_LOCKS:
        return
    for unfinished in folder.glob(_UNFINISHED):
        # Errors: the file has just been completed, is being written, or may not be removed.
        with contextlib.suppress(OSError), unfinished.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            unfinished.unlink()


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder for this process; raises ``InputError`` if another process has locked it."""
    if not _HAS_LOCKS:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"Another tutelage process is writing into {str(folder)!r}: wait for it, or use another --out."
            ) from None
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # copies of this process may still have it open
    finally:
        os.close(descriptor)
