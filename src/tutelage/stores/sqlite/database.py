"""A SQLite file as a place for campaigns: opening, creating, upgrading, checking and copying it."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import sqlalchemy

from tutelage.errors import InputError
from tutelage.stores.address import invalid_url
from tutelage.stores.base import StoreBroken, StoreInUse, StoreSize
from tutelage.stores.sql import migrations
from tutelage.stores.sql.integrity import find_faults
from tutelage.stores.sql.measuring import measure_tables
from tutelage.stores.sql.schema import APPLICATION_ID, VERSION
from tutelage.stores.sqlite import database_file
from tutelage.stores.sqlite.connection import connect, translated_errors
from tutelage.stores.sqlite.store import SqliteKeys, SqliteReader, SqliteStore


class SqliteDatabase:
    """The file of a URL such as ``sqlite:///tutelage.db`` or ``sqlite:////var/lib/tutelage.db``."""

    def __init__(self, url: str) -> None:
        _, _, rest = url.partition("://")
        name = unquote(rest.removeprefix("/"))
        if not rest.startswith("/") or name in {"", ":memory:"} or "?" in rest or "\0" in name:
            raise invalid_url(url)
        self.path = Path(os.path.realpath(name))

    def open_store(self, *, migrate: bool) -> SqliteStore:
        """Take the lock, check the file, create or upgrade it, and open it."""
        with _locked(self.path) as (lock, stack):
            notes = _prepare(self.path, migrate=migrate)
            store = SqliteStore(self.path, lock, notes)
            store.caveats = database_file.find_library_faults()
            stack.pop_all()
        return store

    def open_keys(self, *, create: bool) -> SqliteKeys:
        """Open with the lock as a server does; while a server holds it, the server has checked the file."""
        if not create:
            self._require_file()
        try:
            with _locked(self.path) as (lock, stack):
                keys = SqliteKeys(self.path, lock, _prepare(self.path, migrate=create))
                stack.pop_all()
        except StoreInUse:
            _check_schema(self.path)
            return SqliteKeys(self.path, None)
        return keys

    def open_reader(self) -> SqliteReader:
        """Open an existing file for reading, whether or not another process holds its lock."""
        self._require_file()
        with contextlib.suppress(StoreInUse), _locked(self.path):
            database_file.check_file(self.path)
        _check_schema(self.path)
        return SqliteReader(self.path)

    def upgrade(self) -> str:
        """Create the file or bring its schema to the newest version."""
        with _locked(self.path):
            notes = _prepare(self.path, migrate=True)
        return notes[0] if notes else f"{self.path} already has schema {VERSION}."

    def check(self) -> list[str]:
        """Check pages, indexes, triggers and positions."""
        with contextlib.closing(self.open_reader()) as reader:
            return _find_damage(self.path) or find_faults(reader._run, sqlite=True)  # noqa: SLF001

    def measure(self) -> StoreSize:
        """Count rows and bytes: SQLite reads the whole file for it."""
        with (
            contextlib.closing(self.open_reader()) as reader,
            contextlib.closing(connect(self.path, mode="ro")) as pragmas,
        ):
            page_size, free = _read_number(pragmas, "page_size"), _read_number(pragmas, "freelist_count")
            log = database_file.read_status(self.path.with_name(f"{self.path.name}-wal"))
            return measure_tables(
                reader._run,  # noqa: SLF001
                reader.count_bytes(),
                total=self.path.stat().st_size,
                free=free * page_size,
                log=log.st_size if log else 0,
            )

    def backup(self, target: Path) -> str:
        """Copy the file with VACUUM INTO next to the target, verify the copy and rename it."""
        target = target.resolve()
        self._require_file()
        database_file.check_place(self.path)
        database_file.check_unlocked(self.path)
        if target.exists():
            raise InputError(f"{target} already exists: name a new file.")
        database_file.check_place(target)
        part = target.with_name(target.name + ".part")
        part.unlink(missing_ok=True)
        try:
            _check_schema(self.path)
            database_file.create(part)
            with contextlib.closing(connect(self.path, mode="ro")) as connection, translated_errors(target):
                connection.execute("VACUUM INTO ?", (str(part),))
            if faults := _find_damage(part):
                raise StoreBroken(f"The copy {target} is damaged, and {self.path} may be too: {faults[0]}")
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.rename(target)
            database_file.sync_folder(target.parent)
        finally:
            part.unlink(missing_ok=True)
        return f"{target} is a verified copy of {self.path}: {target.stat().st_size} bytes."

    def _require_file(self) -> None:
        database_file.check_parents(self.path)
        if not database_file.read_status(self.path):
            raise InputError(
                f"The database {self.path} does not exist: name the one that `tutelage serve` uses, "
                "with --store or --config."
            )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[tuple[database_file.Lock, contextlib.ExitStack]]:
    """Hold the lock within the context; to keep it longer, empty the stack."""
    database_file.check_place(path)
    database_file.check_unlocked(path)
    with contextlib.ExitStack() as stack:
        lock = database_file.Lock(path)
        stack.callback(lock.release)
        yield lock, stack


def _prepare(path: Path, *, migrate: bool) -> list[str]:
    """Bring a file to the newest schema and WAL mode; return sentences about what was done."""
    exists = path.exists() and database_file.check_file(path)
    if not exists:
        if not migrate:
            raise InputError(f"The database {path} does not exist: create it with `tutelage db upgrade`.")
        database_file.create(path)
    with contextlib.closing(connect(path, mode="rw")) as connection, translated_errors(path):
        before = _read_version(connection)
        if exists and before:
            database_file.check_identity(path, _read_number(connection, "application_id"), before)
        if before < VERSION and not migrate:
            raise InputError(
                f"{path} has schema {before}, but this release of Tutelage needs schema {VERSION}: "
                "upgrade it with `tutelage db upgrade`."
            )
        notes = []
        if before < VERSION:
            _migrate(path)
            notes.append(
                f"{path} was upgraded from schema {before} to {VERSION}." if before else f"{path} was created."
            )
        if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
            raise InputError(f"{path} is on a disk where SQLite cannot keep a write-ahead log: put it on a local disk.")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages, page_size = _read_number(connection, "page_count"), _read_number(connection, "page_size")
        database_file.check_size(path, pages, page_size)
        if not exists:
            database_file.sync_folder(path.parent)
    return notes


def _migrate(path: Path) -> None:
    """Migrate in one transaction: the schema, its version, and the mark that the file is Tutelage's."""
    engine = sqlalchemy.create_engine(
        "sqlite://", creator=lambda: connect(path, mode="rw"), poolclass=sqlalchemy.NullPool
    )

    @sqlalchemy.event.listens_for(engine, "begin")
    def _begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        with engine.begin() as connection:
            if migrations.read_version(connection) is None:
                raise InputError(f"{path} is a database of another program: name another file.")
            migrations.upgrade(connection)
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")
    except sqlalchemy.exc.DBAPIError as error:
        if isinstance(error.orig, sqlite3.Error):
            raise error.orig from error
        raise


def _check_schema(path: Path) -> None:
    """Ask SQLite what is otherwise read from the file's header."""
    with contextlib.closing(connect(path, mode="ro")) as connection, translated_errors(path):
        version = _read_version(connection)
        database_file.check_identity(path, _read_number(connection, "application_id"), version)
        if version < VERSION:
            raise InputError(f"{path} has schema {version}: upgrade it with `tutelage db upgrade`.")


def _find_damage(path: Path) -> list[str]:
    """Run SQLite's own check of every page and index."""
    with contextlib.closing(connect(path, mode="ro")) as connection:
        try:
            rows = connection.execute("PRAGMA integrity_check(10)").fetchall()
        except sqlite3.DatabaseError as error:
            rows = [(str(error),)]
    lines = [line for (text,) in rows for line in str(text).splitlines() if line != "ok"]
    return [f"{path} is damaged ({line}): restore a backup." for line in lines]


def _read_version(connection: sqlite3.Connection) -> int:
    return _read_number(connection, "user_version")


def _read_number(connection: sqlite3.Connection, pragma: str) -> int:
    value: Any = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return int(value)
