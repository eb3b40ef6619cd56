"""Opening, creating, upgrading, checking and copying a database file."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy

from tutelage.errors import InputError
from tutelage.stores import migrations, sqlite_file
from tutelage.stores.base import StoreBroken, StoreInUse
from tutelage.stores.integrity import findings
from tutelage.stores.schema import APPLICATION_ID, VERSION
from tutelage.stores.sqlite import SqliteKeys, SqliteReader, SqliteStore, connect, translated


def open_store(path: Path, *, migrate: bool) -> SqliteStore:
    """Takes the lock, checks the file, creates or upgrades it, and opens it."""
    with _locked(path) as (lock, stack):
        notes = _prepare(path, migrate=migrate)
        store = SqliteStore(path, lock, [*notes, *sqlite_file.library_faults()])
        stack.pop_all()
    return store


def open_keys(path: Path, *, create: bool) -> SqliteKeys:
    """With the lock as a server would; beside a server, which has the lock and has checked the file."""
    if not create:
        _must_exist(path)
    try:
        with _locked(path) as (lock, stack):
            keys = SqliteKeys(path, lock, _prepare(path, migrate=create))
            stack.pop_all()
    except StoreInUse:
        _check_served(path)
        return SqliteKeys(path, None)
    return keys


def open_reader(path: Path) -> SqliteReader:
    """Reads a file that is there, whoever has its lock."""
    _must_exist(path)
    with contextlib.suppress(StoreInUse), _locked(path):
        sqlite_file.check_file(path)
    _check_served(path)
    return SqliteReader(path)


def upgrade(path: Path) -> str:
    """Creates the file or brings its schema to the newest version."""
    with _locked(path):
        notes = _prepare(path, migrate=True)
    return notes[0] if notes else f"{path} has schema {VERSION} already."


def check(path: Path) -> list[str]:
    """What is wrong in the file: pages, indexes, triggers, positions."""
    with contextlib.closing(open_reader(path)) as reader:
        return _damage(path) or findings(reader._run, sqlite=True)  # noqa: SLF001


def backup(source: Path, target: Path) -> str:
    """Copies the file with VACUUM INTO beside the target's place, verifies the copy and renames it."""
    _must_exist(source)
    sqlite_file.check_place(source)
    sqlite_file.check_unlocked(source)
    if target.exists():
        raise InputError(f"{target} is there already: name a file that is not.")
    sqlite_file.check_place(target)
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    try:
        _check_served(source)
        sqlite_file.create(part)
        with contextlib.closing(connect(source, mode="ro")) as connection, translated(target):
            connection.execute("VACUUM INTO ?", (str(part),))
        if faults := _damage(part):
            raise StoreBroken(f"The copy {target} is not sound, nor may be {source}: {faults[0]}")
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.rename(target)
        sqlite_file.sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return f"{target} is a verified copy of {source}: {target.stat().st_size} bytes."


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[tuple[sqlite_file.Lock, contextlib.ExitStack]]:
    """Holds the lock; who wants to keep it empties the stack."""
    sqlite_file.check_place(path)
    sqlite_file.check_unlocked(path)
    with contextlib.ExitStack() as stack:
        lock = sqlite_file.Lock(path)
        stack.callback(lock.release)
        yield lock, stack


def _prepare(path: Path, *, migrate: bool) -> list[str]:
    """Leaves a file that is ours, whole, of the newest schema and in WAL mode; says what it had to do."""
    there = path.exists() and sqlite_file.check_file(path)
    if not there:
        if not migrate:
            raise InputError(f"There is no database {path}: create it with `tutelage db upgrade`.")
        sqlite_file.create(path)
    with contextlib.closing(connect(path, mode="rw")) as connection, translated(path):
        before = _version(connection)
        if there and before:
            sqlite_file.check_identity(path, _number(connection, "application_id"), before)
        if before < VERSION and not migrate:
            raise InputError(
                f"{path} has schema {before}, and this Tutelage needs {VERSION}: "
                "bring it up to date with `tutelage db upgrade`."
            )
        notes = []
        if before < VERSION:
            _migrate(path)
            notes.append(
                f"{path} was brought from schema {before} to {VERSION}." if before else f"{path} was created."
            )
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise InputError(
                f"{path} lies where SQLite cannot keep a write-ahead log: put it on a local disk."
            )
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        sqlite_file.check_size(path, _number(connection, "page_count"), _number(connection, "page_size"))
        if not there:
            sqlite_file.sync_folder(path.parent)
    return notes


def _migrate(path: Path) -> None:
    """One transaction: the schema, its version, and the mark that the file is ours."""
    engine = sqlalchemy.create_engine(
        "sqlite://", creator=lambda: connect(path, mode="rw"), poolclass=sqlalchemy.NullPool
    )

    @sqlalchemy.event.listens_for(engine, "begin")
    def _begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        with engine.begin() as connection:
            if migrations.version(connection) is None:
                raise InputError(f"{path} is a database of another program: name another file.")
            migrations.upgrade(connection)
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
    except sqlalchemy.exc.DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise


def _must_exist(path: Path) -> None:
    sqlite_file.check_way(path)
    if not sqlite_file.status(path):
        raise InputError(
            f"There is no database {path}: name the one that `tutelage serve` uses, with --store or --config."
        )


def _check_served(path: Path) -> None:
    """The same questions as of the header, asked through SQLite."""
    with contextlib.closing(connect(path, mode="ro")) as connection, translated(path):
        version = _version(connection)
        sqlite_file.check_identity(path, _number(connection, "application_id"), version)
        if version < VERSION:
            raise InputError(f"{path} has schema {version}: bring it up to date with `tutelage db upgrade`.")


def _damage(path: Path) -> list[str]:
    """What SQLite's own check of every page and index finds."""
    with contextlib.closing(connect(path, mode="ro")) as connection:
        try:
            rows = connection.execute("PRAGMA integrity_check(10)").fetchall()
        except sqlite3.DatabaseError as error:
            rows = [(str(error),)]
    lines = [line for (text,) in rows for line in str(text).splitlines() if line != "ok"]
    return [f"{path} is damaged ({line}): restore a backup." for line in lines]


def _version(connection: sqlite3.Connection) -> int:
    return _number(connection, "user_version")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    value: Any = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return int(value)
