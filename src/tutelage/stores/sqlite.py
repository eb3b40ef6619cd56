"""Campaigns in one SQLite file: write-ahead log, synchronous FULL, one writer."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import ClauseElement
from sqlalchemy.dialects import sqlite as dialects

from tutelage.stores import queries
from tutelage.stores.base import (
    CampaignExists,
    CampaignNotFound,
    Change,
    KeyRow,
    PullRow,
    StoreBroken,
    StoredPull,
    StoreError,
    StoreFull,
)
from tutelage.stores.sqlite_file import Lock, unusable

_PRAGMAS = (
    "PRAGMA busy_timeout = 5000",
    "PRAGMA synchronous = FULL",
    # Only the writer checkpoints, and looks at the outcome: SQLite's own checkpoints hide a failed fsync.
    "PRAGMA wal_autocheckpoint = 0",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA cache_size = -32768",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",
)
_CHECKPOINT_PAGES = 2000  # 8 MB: some 10 ms on a disk that syncs in 1 ms
_IDS = (1, 16, 128, 1024)  # how many ids a prepared statement takes

_TEXTS = queries.Texts(dialects.dialect(paramstyle="named"))
_MOVE = (
    "UPDATE heads SET position = ?, step = ?, status = ?, digest = ? "
    "WHERE campaign = ? AND token = ? AND position = ?"
)
_VALUES = f"({', '.join('?' * 13)})"
_PULL = (
    'INSERT INTO pulls (campaign, position, step, "index", client, arm, number, observed, revealed, directive, '
    f"bypassed, time, id) VALUES {_VALUES}"
)
_BLOCK = 50  # pulls per statement: two thirds of the time of one each
_BLOCK_OF_PULLS = _PULL + f", {_VALUES}" * (_BLOCK - 1)
# INDEXED BY, for without it SQLite walks through all of the campaign's rows: both indexes begin with it.
_FIND = (
    'SELECT position, step, "index", client, arm, number, observed, revealed, directive, bypassed, time, id, '
    "EXISTS (SELECT 1 FROM entries INDEXED BY entries_by_id "
    "WHERE entries.campaign = pulls.campaign AND entries.id = pulls.id AND kind = 'bypassed') "
    "FROM pulls INDEXED BY pulls_by_id WHERE campaign = ? AND id IN "
)
_LAST_ID = "SELECT id FROM pulls INDEXED BY pulls_by_id WHERE campaign = ? ORDER BY id DESC LIMIT 1"
_FINDS = {size: f"{_FIND}({', '.join('?' * size)})" for size in _IDS}


def connect(path: Path, *, mode: str) -> sqlite3.Connection:
    """A connection in autocommit; ``mode`` is ``ro``, ``rw`` or ``rwc``."""
    with translated(path):
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
        )
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        if mode == "ro":
            connection.execute("PRAGMA cache_size = -4096")  # there are several, and they read in order
    return connection


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into a store's."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(path, error) from error


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    """What an error of SQLite means for whoever serves the file."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    # The index of the log could not grow: the disk is full, though SQLite calls it an input/output error.
    if code & 0xFF == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreFull(f"There is no room left for {path}: free some, and writing goes on by itself.")
    if code & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreError(f"Another program is writing to {path}: end it.")
    name = getattr(error, "sqlite_errorname", "")
    match code & 0xFF:
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            failure = unusable(path, "written")
        case sqlite3.SQLITE_CANTOPEN:
            failure = unusable(path, "opened")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            failure = f"{path} is damaged ({error}): stop, keep the file, and restore a backup."
        case sqlite3.SQLITE_IOERR:
            failure = f"The disk under {path} failed ({name}): see the system's log before starting again."
        case _:
            return StoreError(f"SQLite refused a statement on {path}: {error}.")
    return StoreBroken(failure)


class SqliteReader(queries.Reading):
    """Reads a file on a connection of its own, which cannot write."""

    leased = False

    def __init__(self, path: Path, connection: sqlite3.Connection | None = None) -> None:
        self.path = path
        self._connection = connection or connect(path, mode="ro")

    def _run(self, statement: ClauseElement, parameters: Mapping[str, object]) -> list[tuple[Any, ...]]:
        with translated(self.path):
            return self._connection.execute(*_TEXTS(statement, parameters)).fetchall()

    @contextlib.contextmanager
    def _moment(self) -> Iterator[None]:
        with translated(self.path):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with translated(self.path):
                self._connection.execute("COMMIT")

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


class SqliteKeys(SqliteReader):
    """Reads, and writes keys: beside a server too, whose transactions it waits for."""

    def __init__(self, path: Path, lock: Lock | None, notes: Sequence[str] = ()) -> None:
        super().__init__(path, connect(path, mode="rw"))
        self.notes = tuple(notes)
        self._lock = lock
        self._broken: StoreBroken | None = None

    @property
    def url(self) -> str:
        """The address, with the real path."""
        return f"sqlite:///{self.path}"

    def create_key(self, key: KeyRow) -> None:
        """Stores a key; raises Exists if its name is taken."""
        with self._transaction():
            if any(row.name == key.name for row in self.keys()):
                raise CampaignExists(f"There is a key {key.name!r} already: choose another name.")
            self._run(queries.CREATE_KEY, queries.key_values(key))

    def revoke_key(self, name: str, time: int) -> None:
        """Marks a key as revoked; raises Missing."""
        with self._transaction():
            if not self._run(queries.REVOKE_KEY, {"name": name, "time": time}):
                raise CampaignNotFound(f"There is no key {name!r}: `tutelage key list` shows all.")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commits what is done within, or rolls it back; remembers a failure that no retry can mend."""
        if self._broken:
            raise self._broken
        connection = self._connection
        try:
            with translated(self.path):
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
        except BaseException as error:
            if isinstance(error, StoreBroken):
                self._broken = error
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Ends the connection and gives the lock back."""
        super().close()
        if self._lock:
            self._lock.release()


class SqliteStore(SqliteKeys):
    """The one writer of a file; `open_store` has checked the file, and the lock is ours."""

    def __init__(self, path: Path, lock: Lock, notes: Sequence[str]) -> None:
        super().__init__(path, lock, notes)
        self._numbers: dict[str, int] = {}
        self._tokens: dict[str, int] = {}
        self._states: dict[str, str] = {}
        self._unmoved = 0.0  # pages in the log, estimated
        self._log = path.with_name(f"{path.name}-wal")
        self._file, self._log_file = _identity(path), _identity(self._log)
        with self._transaction() as connection:
            connection.execute("UPDATE heads SET leader = NULL WHERE leader IS NOT NULL")

    def reader(self) -> SqliteReader:
        """A connection of its own for one other thread."""
        return SqliteReader(self.path)

    def create(self, name: str, settings: str, rules_version: int, time: int, state: str) -> None:
        """A new campaign, led by nobody; raises Exists."""
        values = {"name": name, "settings": settings, "rules_version": rules_version, "created": time}
        with self._transaction():
            if self._run(queries.NUMBER, {"name": name}):
                raise CampaignExists(f"There is a campaign {name!r} already: choose another name.")
            self._run(queries.CREATE, values)
            number = self._run(queries.NUMBER, {"name": name})[0][0]
            self._run(queries.CREATE_HEAD, {"campaign": number})
            self._run(queries.CREATE_STATE, {"campaign": number, "state": state})

    def delete(self, name: str) -> None:
        """Removes a stopped and exported campaign, its rows and its keys."""
        with self._transaction():
            number = self._number(name)
            queries.check_removable(name, self._run(queries.REMOVABLE, {"campaign": number})[0])
            for statement in queries.REMOVE:
                self._run(statement, {"campaign": number, "name": name})
        self._forget(name)
        self._checkpoint()

    def lead(self, name: str, address: str) -> int | None:
        """The next token: whoever has the file's lock may lead."""
        with self._transaction() as connection:
            token: int = connection.execute(
                "UPDATE heads SET token = token + 1, leader = ? WHERE campaign = ? RETURNING token",
                (address, self._number(name)),
            ).fetchone()[0]
        self._states.pop(name, None)
        self._tokens[name] = token
        return token

    def renew(self, names: Sequence[str], address: str) -> Sequence[str]:
        """Those that were taken over and not released: a lease in a file does not end."""
        return [name for name in names if name in self._tokens]

    def release(self, name: str) -> None:
        """Gives a campaign up."""
        token = self._tokens.pop(name, None)
        if token is not None:
            with self._transaction() as connection:
                connection.execute(
                    "UPDATE heads SET leader = NULL WHERE campaign = ? AND token = ?",
                    (self._number(name), token),
                )

    def find(self, name: str, ids: Sequence[str]) -> dict[str, StoredPull]:
        """The stored ones among pulls of these ids."""
        number, found = self._number(name), dict[str, StoredPull]()
        with translated(self.path):
            for start in range(0, len(ids), _IDS[-1]):
                part = ids[start : start + _IDS[-1]]
                size = next(size for size in _IDS if len(part) <= size)
                padding = (part[0],) * (size - len(part))
                rows = self._connection.execute(_FINDS[size], (number, *part, *padding))
                found.update(queries.known_pulls(rows))
        return found

    def last_id(self, name: str) -> str:
        """The greatest id among a campaign's pulls."""
        with translated(self.path):
            row = self._connection.execute(_LAST_ID, (self._number(name),)).fetchone()
        return str(row[0]) if row else ""

    def append(self, changes: Sequence[Change]) -> None:
        """Commits all changes in one transaction, or none."""
        self._check_file()
        states = {}
        with self._transaction() as connection:
            for change in changes:
                number = self._move(connection, change)
                if self._states.get(change.name) != change.head.state:
                    self._run(queries.SET_STATE, {"campaign": number, "state": change.head.state})
                    states[change.name] = change.head.state
                _add_pulls(connection, number, change.pulls)
                for statement, values in queries.rest_of(number, change):
                    self._run(statement, values)
        self._states.update(states)
        self._unmoved += sum(map(_pages_of, changes))
        self._checkpoint(at_least=_CHECKPOINT_PAGES)

    def _move(self, connection: sqlite3.Connection, change: Change) -> int:
        """Moves the head on, if it still stands where the change goes on from; the campaign's number."""
        queries.check_change(change)
        try:
            number = self._number(change.name)
        except CampaignNotFound:
            raise queries.fenced(change) from None
        if connection.execute(_MOVE, queries.move_values(number, change)).rowcount != 1:
            raise queries.fenced(change)
        return number

    def _check_file(self) -> None:
        """What is written into a file that has no name any more is lost."""
        log = _identity(self._log)
        self._log_file = self._log_file or log
        for path, found, was in (
            (self.path, _identity(self.path), self._file),
            (self._log, log, self._log_file),
        ):
            if found != was:
                self._broken = StoreBroken(
                    f"{path} was removed or replaced while it was served: nothing more is written."
                )
                raise self._broken

    def probe(self) -> None:
        """Commits a heartbeat."""
        self._check_file()
        with self._transaction():
            self._run(queries.BEAT, {})
        self._unmoved += 1
        self._checkpoint(at_least=_CHECKPOINT_PAGES)

    def _checkpoint(self, at_least: float = 0.0) -> None:
        """Moves the log's pages into the file, if there are enough of them.

        What was committed is safe whatever happens here.  A failure that no retry can mend is raised at the
        next transaction; a full disk is not even that, since the log keeps what could not be moved.
        """
        if self._unmoved < at_least:
            return
        self._unmoved = 0.0
        try:
            _, logged, moved = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._unmoved = float(max(logged - moved, 0))  # a reader holds on to these
        except sqlite3.Error as error:
            failure = store_error(self.path, error)
            if isinstance(failure, StoreBroken):
                self._broken = failure

    def _number(self, name: str) -> int:
        if name not in self._numbers:
            rows = self._run(queries.NUMBER, {"name": name})
            if not rows:
                raise queries.missing(name)
            self._numbers[name] = rows[0][0]
        return self._numbers[name]

    def _forget(self, name: str) -> None:
        for known in (self._numbers, self._tokens, self._states):
            known.pop(name, None)


def _add_pulls(connection: sqlite3.Connection, number: int, pulls: Sequence[PullRow]) -> None:
    whole = len(pulls) - len(pulls) % _BLOCK
    for start in range(0, whole, _BLOCK):
        values: list[object] = []
        for pull in pulls[start : start + _BLOCK]:
            values.append(number)
            values.extend(pull)
        connection.execute(_BLOCK_OF_PULLS, values)
    connection.executemany(_PULL, [(number, *pull) for pull in pulls[whole:]])


def _identity(path: Path) -> tuple[int, int] | None:
    """What a name leads to; None if to nothing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _pages_of(change: Change) -> float:
    """About how many pages of the log a change takes: ten pulls share one, ids in a random order do not."""
    contents = sum(len(entry.content) for entry in change.entries)
    if change.snapshot:
        contents += len(change.snapshot.content)
    return 4 + len(change.pulls) / 10 + contents / 4096
