"""A PostgreSQL database as a place for campaigns: opening, upgrading and checking it."""

import contextlib
from pathlib import Path

import psycopg
import sqlalchemy

from tutelage.errors import InputError
from tutelage.stores.address import invalid_url
from tutelage.stores.base import StoreSize
from tutelage.stores.postgresql.connection import connect, explain_error, hide_password, translated_errors
from tutelage.stores.postgresql.store import SCHEMA_LOCK, PostgresqlKeys, PostgresqlReader, PostgresqlStore
from tutelage.stores.sql import migrations
from tutelage.stores.sql.integrity import find_faults
from tutelage.stores.sql.measuring import measure_tables
from tutelage.stores.sql.schema import VERSION, VERSION_TABLE, check_version


class PostgresqlDatabase:
    """The database of a URL such as ``postgresql://user@host/database``, in any form that libpq reads."""

    def __init__(self, url: str) -> None:
        if "://" not in url:
            raise invalid_url(url)
        self.url = url

    def open_store(self, *, migrate: bool) -> PostgresqlStore:
        """Check the server and the schema, and create or upgrade it if ``migrate``."""
        return PostgresqlStore(self.url, self._prepare(migrate=migrate))

    def open_keys(self, *, create: bool) -> PostgresqlKeys:
        """Open for keys; running servers are not affected."""
        return PostgresqlKeys(self.url, self._prepare(migrate=create))

    def open_reader(self) -> PostgresqlReader:
        """Open an up-to-date database for reading."""
        self._prepare(migrate=False)
        return PostgresqlReader(self.url)

    def upgrade(self) -> str:
        """Create the tables or bring them to the newest schema."""
        notes = self._prepare(migrate=True)
        return notes[0] if notes else f"The database {hide_password(self.url)} already has schema {VERSION}."

    def check(self) -> list[str]:
        """Check triggers and positions."""
        with contextlib.closing(self.open_reader()) as reader:
            return find_faults(reader._run, sqlite=False)  # noqa: SLF001

    def measure(self) -> StoreSize:
        """Count rows and bytes; the write-ahead log can be read by members of the role pg_monitor."""
        with contextlib.closing(self.open_reader()) as reader:
            bytes, total, log = reader.count_bytes()
            return measure_tables(reader._run, bytes, total=total, free=None, log=log)  # noqa: SLF001

    def backup(self, target: Path) -> str:
        """Raise ``InputError`` with the command that makes a backup."""
        place = hide_password(self.url)
        raise InputError(
            f"Tutelage does not copy the database {place}: use PostgreSQL's own command, "
            f"pg_dump --format=custom --file={target} '{place}'."
        )

    def _prepare(self, *, migrate: bool) -> list[str]:
        """Bring the tables to the newest schema; return sentences about what was done."""
        place, before = f"The database {hide_password(self.url)}", self._read_version()
        check_version(place, before)
        if before == VERSION:
            return []
        if not migrate:
            raise InputError(
                f"{place} has schema {before}, but this release of Tutelage needs schema {VERSION}: "
                "upgrade it with `tutelage db upgrade`."
            )
        self._migrate()
        return [f"{place} was upgraded from schema {before} to {VERSION}." if before else f"{place} got its tables."]

    def _read_version(self) -> int:
        with contextlib.closing(connect(self.url)) as connection, translated_errors(self.url):
            try:
                row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
            except psycopg.errors.UndefinedTable:
                return 0
            return int(row[0]) if row else 0

    def _migrate(self) -> None:
        """Migrate in one transaction, with a lock that ends with it: a second process finds the work done."""

        def creator() -> psycopg.Connection:
            connection = connect(self.url)
            connection.autocommit = False
            return connection

        engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=creator, poolclass=sqlalchemy.NullPool)
        try:
            with engine.begin() as connection:
                connection.execute(sqlalchemy.select(sqlalchemy.func.pg_advisory_xact_lock(SCHEMA_LOCK)))
                if migrations.read_version(connection) is None:
                    raise InputError(
                        f"The database {hide_password(self.url)} holds tables of another program: "
                        "give Tutelage a database of its own."
                    )
                migrations.upgrade(connection)
        except sqlalchemy.exc.DBAPIError as error:
            if isinstance(error.orig, psycopg.Error):
                raise explain_error(self.url, error.orig) from None
            raise
