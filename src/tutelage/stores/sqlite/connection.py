"""Connections to a SQLite file, and what SQLite's errors mean for an operator."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tutelage.stores.base import StoreBroken, StoreError, StoreFull
from tutelage.stores.sqlite.database_file import explain_unusable

_PRAGMAS = (
    "PRAGMA busy_timeout = 5000",
    "PRAGMA synchronous = FULL",
    # Only the writer checkpoints, and it checks the outcome: SQLite's own checkpoints hide a failed fsync.
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA cache_size = -32768",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",
)


def connect(path: Path, *, mode: str) -> sqlite3.Connection:
    """Open a connection in autocommit; ``mode`` is ``ro``, ``rw`` or ``rwc``."""
    with translated_errors(path):
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
        )
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        if mode == "ro":
            connection.execute("PRAGMA cache_size = -4096")  # there are several readers, and they read in order
    return connection


@contextlib.contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into the store's."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain_error(path, error) from error


def explain_error(path: Path, error: sqlite3.Error) -> StoreError:
    """Return the store's error for one of SQLite's."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    # If the log's index cannot grow, the disk is full, although SQLite calls it an input/output error.
    if code & 0xFF == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFull(f"The disk of {path} is full: free some space, and writing continues by itself.")
    if code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreError(f"Another program is writing to {path}: stop that program.")
    name = getattr(error, "sqlite_errorname", "")
    match code & 0xFF:
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            failure = explain_unusable(path, "written")
        case sqlite3.SQLITE_CANTOPEN:
            failure = explain_unusable(path, "opened")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            failure = f"{path} is damaged ({error}): stop the server, keep the file, and restore a backup."
        case sqlite3.SQLITE_IOERR:
            failure = f"The disk under {path} failed ({name}): read the system's log before starting again."
        case _:
            return StoreError(f"SQLite refused a statement on {path}: {error}.")
    return StoreBroken(failure)
