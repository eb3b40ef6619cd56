"""The store in one SQLite file: write-ahead log, synchronous FULL, one writer."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import ClauseElement
from sqlalchemy.dialects import sqlite as dialects

from tutelage.stores.base import AuditRow, Change, PullRow, StoreBroken, StoredPull
from tutelage.stores.sql.reader import SqlReader, read_stored_pulls
from tutelage.stores.sql.statements import PULL_COLUMNS, StatementCompiler
from tutelage.stores.sql.store import SqlKeys, SqlStore
from tutelage.stores.sqlite.connection import connect, explain_error, translated_errors
from tutelage.stores.sqlite.database_file import Lock

CHECKPOINT_PAGES = 2000  # 8 MB: some 10 ms on a disk that syncs in 1 ms
_IDS = (1, 16, 128, 1024)  # numbers of ids for which a statement is prepared

_compile = StatementCompiler(dialects.dialect(paramstyle="named"))
_VALUES = f"({', '.join('?' * 13)})"
_INSERT_PULL = f"INSERT INTO pulls (campaign, {PULL_COLUMNS}) VALUES {_VALUES}"
_BLOCK = 50  # pulls per statement: takes two thirds of the time of single rows
_INSERT_BLOCK = _INSERT_PULL + f", {_VALUES}" * (_BLOCK - 1)
# INDEXED BY, because otherwise SQLite reads all of the campaign's rows: both indexes begin with the campaign.
_FIND = (
    f"SELECT {PULL_COLUMNS}, EXISTS (SELECT 1 FROM entries INDEXED BY entries_by_id "
    "WHERE entries.campaign = pulls.campaign AND entries.id = pulls.id AND kind = 'bypassed') "
    "FROM pulls INDEXED BY pulls_by_id WHERE campaign = ? AND id IN "
)
_FINDS = {size: f"{_FIND}({', '.join('?' * size)})" for size in _IDS}
_LEAD = "UPDATE heads SET token = token + 1, leader = ? WHERE campaign = ? RETURNING token"
_BYTES = (
    "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_master USING (name) WHERE aggregate = TRUE GROUP BY tbl_name"
)
_DUPLICATE = frozenset({sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY})


class SqliteReader(SqlReader):
    """Reads a file on a connection of its own, which cannot write."""

    has_leases = False

    def __init__(self, path: Path, connection: sqlite3.Connection | None = None) -> None:
        self.path = path
        self._connection = connection or connect(path, mode="ro")

    def _execute(self, text: str, parameters: Mapping[str, object] | Sequence[object]) -> sqlite3.Cursor:
        with translated_errors(self.path):
            return self._connection.execute(text, parameters)

    def _run(self, statement: ClauseElement, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        with translated_errors(self.path):
            return self._connection.execute(*_compile(statement, parameters)).fetchall()

    @contextlib.contextmanager
    def _as_of_one_moment(self) -> Iterator[None]:
        with translated_errors(self.path):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with translated_errors(self.path):
                self._connection.execute("COMMIT")

    def count_bytes(self) -> dict[str, int]:
        """Return the bytes of each table with its indexes; empty if this SQLite does not count them."""
        if not self._execute("SELECT sqlite_compileoption_used('ENABLE_DBSTAT_VTAB')", ()).fetchone()[0]:
            return {}
        return dict(self._execute(_BYTES, ()).fetchall())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class SqliteKeys(SqliteReader, SqlKeys):
    """Reads, and writes keys, also while a server serves the file: its transactions are waited for."""

    def __init__(self, path: Path, lock: Lock | None, notes: Sequence[str] = ()) -> None:
        SqliteReader.__init__(self, path, connect(path, mode="rw"))
        SqlKeys.__init__(self, notes)
        self._lock = lock

    @property
    def url(self) -> str:
        """The URL, with the real path."""
        return f"sqlite:///{self.path}"

    def _is_duplicate(self, error: BaseException | None) -> bool:
        return getattr(error, "sqlite_errorcode", None) in _DUPLICATE

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._broken:
            raise self._broken
        connection = self._connection
        try:
            with translated_errors(self.path):
                connection.execute("BEGIN IMMEDIATE")
                yield
                connection.execute("COMMIT")
        except BaseException as error:
            if isinstance(error, StoreBroken):
                self._broken = error
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the connection and release the lock."""
        super().close()
        if self._lock:
            self._lock.release()


class SqliteStore(SqliteKeys, SqlStore):
    """The only writer of a file, which holds its lock."""

    _last_id_sql = "SELECT id FROM pulls INDEXED BY pulls_by_id WHERE campaign = ? ORDER BY id DESC LIMIT 1"

    def __init__(self, path: Path, lock: Lock, notes: Sequence[str]) -> None:
        SqliteKeys.__init__(self, path, lock)
        SqlStore.__init__(self, notes)
        self._unmoved = 0.0  # pages in the log, estimated
        self._log = path.with_name(f"{path.name}-wal")
        self._file, self._log_file = _identify(path), _identify(self._log)
        with self._transaction():
            self._execute("UPDATE heads SET leader = NULL WHERE leader IS NOT NULL", ())

    def reader(self) -> SqliteReader:
        """Open a connection for another thread."""
        return SqliteReader(self.path)

    def delete(self, name: str, audit: AuditRow | None = None) -> None:
        """Delete a stopped and exported campaign with its rows and its keys."""
        super().delete(name, audit)
        self._checkpoint()

    def lead(self, name: str, address: str) -> int:
        """Return the next token; the holder of the file's lock may always lead."""
        with self._transaction():
            number = self._find_number(name)
            token: int = self._execute(_LEAD, (address, number)).fetchone()[0]
        self._tokens[name] = token
        return token

    def renew(self, names: Sequence[str], address: str) -> Sequence[str]:
        """Return the campaigns that this store leads: in a file, leases do not end."""
        return [name for name in names if name in self._tokens]

    def find(self, name: str, ids: Sequence[str]) -> dict[str, StoredPull]:
        """Return the stored ones among pulls of these ids."""
        number, found = self._number(name), dict[str, StoredPull]()
        for start in range(0, len(ids), _IDS[-1]):
            part = ids[start : start + _IDS[-1]]
            size = next(size for size in _IDS if len(part) <= size)
            padding = (part[0],) * (size - len(part))
            with translated_errors(self.path):
                found |= read_stored_pulls(self._connection.execute(_FINDS[size], (number, *part, *padding)))
        return found

    def append(self, changes: Sequence[Change]) -> None:
        """Commit all changes in one transaction."""
        self._check_file()
        super().append(changes)
        self._unmoved += sum(map(_count_pages, changes))
        self._checkpoint(at_least=CHECKPOINT_PAGES)

    def _insert_pulls(self, number: int, pulls: Sequence[PullRow]) -> None:
        whole = len(pulls) - len(pulls) % _BLOCK
        for start in range(0, whole, _BLOCK):
            values: list[object] = []
            for pull in pulls[start : start + _BLOCK]:
                values.append(number)
                values.extend(pull)
            self._connection.execute(_INSERT_BLOCK, values)
        self._connection.executemany(_INSERT_PULL, [(number, *pull) for pull in pulls[whole:]])

    def probe(self) -> None:
        """Commit a heartbeat."""
        self._check_file()
        super().probe()
        self._unmoved += 1
        self._checkpoint(at_least=CHECKPOINT_PAGES)

    def _check_file(self) -> None:
        """Raise ``StoreBroken`` if the file or its log lost its name: what is written then is lost."""
        log = _identify(self._log)
        self._log_file = self._log_file or log
        for path, found, expected in ((self.path, _identify(self.path), self._file), (self._log, log, self._log_file)):
            if found != expected:
                self._broken = StoreBroken(
                    f"{path} was removed or replaced while it was being served: nothing more is written. "
                    "Stop the server, put the file back, and start again."
                )
                raise self._broken

    def _checkpoint(self, at_least: float = 0.0) -> None:
        """Move the log's pages into the file, if there are enough of them.

        What was committed is safe whatever happens here.  A failure that a retry cannot mend is raised at the
        next transaction; a full disk is not a failure, because the log keeps what could not be moved.
        """
        if self._unmoved < at_least:
            return
        self._unmoved = 0.0
        try:
            _, logged, moved = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._unmoved = float(max(logged - moved, 0))  # pages that a reader still uses
        except sqlite3.Error as error:
            failure = explain_error(self.path, error)
            if isinstance(failure, StoreBroken):
                self._broken = failure


def _identify(path: Path) -> tuple[int, int] | None:
    """Return the device and inode behind a name; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _count_pages(change: Change) -> float:
    """Estimate the pages of the log that a change takes: ten pulls share one, ids in random order do not."""
    contents = sum(len(entry.content) for entry in change.entries)
    if change.snapshot:
        contents += len(change.snapshot.content)
    return 4 + len(change.pulls) / 10 + contents / 4096
