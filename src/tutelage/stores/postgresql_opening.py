"""Opening, upgrading and checking a PostgreSQL database."""

import contextlib

import psycopg
import sqlalchemy

from tutelage.errors import InputError
from tutelage.stores import migrations
from tutelage.stores.integrity import findings
from tutelage.stores.postgresql import SCHEMA_LOCK, PostgresqlKeys, PostgresqlReader, PostgresqlStore
from tutelage.stores.postgresql_connection import connect, shown, store_error, translated
from tutelage.stores.schema import VERSION, VERSION_TABLE


def open_store(url: str, *, migrate: bool) -> PostgresqlStore:
    """Checks the server and the schema, which it creates or upgrades if it may."""
    return PostgresqlStore(url, _prepare(url, migrate=migrate))


def open_keys(url: str, *, create: bool) -> PostgresqlKeys:
    """The same as `open_store`: servers beside do not mind."""
    return PostgresqlKeys(url, _prepare(url, migrate=create))


def open_reader(url: str) -> PostgresqlReader:
    """Reads a database whose schema is up to date."""
    _prepare(url, migrate=False)
    return PostgresqlReader(url)


def upgrade(url: str) -> str:
    """Creates the tables or brings them to the newest schema."""
    notes = _prepare(url, migrate=True)
    return notes[0] if notes else f"The database {shown(url)} has schema {VERSION} already."


def check(url: str) -> list[str]:
    """What is wrong: triggers, positions."""
    with contextlib.closing(open_reader(url)) as reader:
        return findings(reader._run, sqlite=False)  # noqa: SLF001


def backup(url: str, path: str) -> str:
    """Names the command that does it."""
    raise InputError(
        f"The database {shown(url)} is copied by PostgreSQL's own tool: "
        f"pg_dump --format=custom --file={path} '{shown(url)}'."
    )


def _prepare(url: str, *, migrate: bool) -> list[str]:
    """Leaves tables of the newest schema; says what it had to do."""
    before = _version(url)
    if before > VERSION:
        raise InputError(
            f"The database {shown(url)} has schema {before}, and this Tutelage knows {VERSION} at most: "
            "install the newer Tutelage that wrote it, or restore a backup."
        )
    if before == VERSION:
        return []
    if not migrate:
        raise InputError(
            f"The database {shown(url)} has schema {before}, and this Tutelage needs {VERSION}: "
            "bring it up to date with `tutelage db upgrade`."
        )
    _migrate(url)
    made = f"was brought from schema {before} to {VERSION}." if before else "was given its tables."
    return [f"The database {shown(url)} {made}"]


def _version(url: str) -> int:
    with contextlib.closing(connect(url)) as connection, translated(url):
        try:
            row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
        except psycopg.errors.UndefinedTable:
            return 0
        return int(row[0]) if row else 0


def _migrate(url: str) -> None:
    """One transaction, under a lock that ends with it: who comes second finds the work done."""

    def creator() -> psycopg.Connection:
        connection = connect(url)
        connection.autocommit = False
        return connection

    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=creator, poolclass=sqlalchemy.NullPool)
    try:
        with engine.begin() as connection:
            connection.execute(sqlalchemy.select(sqlalchemy.func.pg_advisory_xact_lock(SCHEMA_LOCK)))
            if migrations.version(connection) is None:
                raise InputError(
                    f"The database {shown(url)} holds tables of another program: "
                    "give Tutelage a database of its own."
                )
            migrations.upgrade(connection)
    except sqlalchemy.exc.DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise store_error(url, error.orig) from error
        raise
