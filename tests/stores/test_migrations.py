"""The migrations lead to the tables that the code names, and other servers cannot write during or after them."""

import contextlib
import sqlite3

import psycopg
import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from tutelage import stores
from tutelage.errors import InputError
from tutelage.stores.base import KeyRow, StoreError
from tutelage.stores.postgresql.store import SCHEMA_LOCK
from tutelage.stores.sql.schema import VERSION, VERSION_TABLE, metadata
from tutelage.testing.ledger_rows import grow


@pytest.fixture
def connection(address):
    """SQLAlchemy's connection to a store that is up to date."""
    stores.upgrade(address)
    engine = sqlalchemy.create_engine(
        address.replace("postgresql:", "postgresql+psycopg:"), poolclass=sqlalchemy.NullPool
    )
    with engine.connect() as connection:
        yield connection


def test_migrations_lead_to_the_schema(connection):
    """Alembic finds no difference between the database and the tables of ``schema``."""
    options = {"version_table": VERSION_TABLE, "compare_type": False}
    assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []


def test_the_version_is_stored(connection):
    """In a table of its own name, as alembic's revision."""
    versions = connection.execute(sqlalchemy.text(f"SELECT version_num FROM {VERSION_TABLE}")).all()
    assert versions == [(f"{VERSION:04d}",)]


def test_a_store_from_before_the_first_release_is_refused(address):
    """Schema 1 had other column names: one sentence says that it cannot be opened, whatever opens it."""
    stores.upgrade(address)
    if address.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(address.removeprefix("sqlite:///"))) as connection:
            connection.execute("PRAGMA user_version = 1")
    else:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0001'")
    for act in (stores.open_store, stores.open_keys, stores.open_reader, stores.upgrade, stores.check):
        with pytest.raises(InputError, match=r"before 0\.1\.0, and can no longer be opened: use a new store"):
            act(address)


def test_a_store_that_is_older_than_the_schema_writes_nothing(new_database, opened):
    """PostgreSQL can be migrated under a server: every write is refused from then on, and reading goes on."""
    url = new_database()
    store = opened(stores.open_store(url))
    store.create("c", "{}", 1, 1, "{}")
    token = store.lead("c", "here")
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0003'")
        before = other.execute("SELECT * FROM heads").fetchall()
        for write in (
            lambda: grow(store, token, 0, 1),
            lambda: store.create("d", "{}", 1, 1, "{}"),
            lambda: store.delete("c"),
            lambda: store.lead("c", "here"),
            lambda: store.renew(["c"], "here"),
            lambda: store.create_key(KeyRow("boss", b"x", "admin", None, (), 1, None)),
            store.probe,
        ):
            with pytest.raises(StoreError, match="now has schema 3, but this server writes schema 2"):
                write()
        assert [one.name for one in store.campaigns()] == ["c"]
        assert other.execute("SELECT * FROM heads").fetchall() == before
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0002'")
    assert grow(store, token, 0, 1) == 1


def test_a_migration_and_writes_keep_apart(new_database, opened):
    """A migration waits for the writes that have begun: its lock is not to be had meanwhile."""
    url = new_database()
    store = opened(stores.open_store(url))
    lock = f"SELECT pg_try_advisory_lock({SCHEMA_LOCK}), pg_advisory_unlock({SCHEMA_LOCK})"
    with psycopg.connect(url, autocommit=True, options="-c client_min_messages=error") as other:
        with store._transaction():
            assert other.execute(lock).fetchone() == (False, False)
        assert other.execute(lock).fetchone() == (True, True)
