"""The migrations lead to the tables that the code names, and nobody writes beside or behind them."""

import psycopg
import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from tests.stores.ledger import grow

from tutelage import stores
from tutelage.stores import KeyRow, StoreError
from tutelage.stores.postgresql import SCHEMA_LOCK
from tutelage.stores.schema import VERSION, VERSION_TABLE, metadata


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


def test_a_store_that_is_older_than_the_schema_writes_nothing(new_database, opened):
    """PostgreSQL can be migrated under a server: every write is refused from then on, and reading goes on."""
    url = new_database()
    store = opened(stores.open_store(url))
    store.create("c", "{}", 1, 1, "{}")
    token = store.lead("c", "here")
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0002'")
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
            with pytest.raises(StoreError, match="has schema 2 by now, and this Tutelage writes 1"):
                write()
        assert [one.name for one in store.campaigns()] == ["c"]
        assert other.execute("SELECT * FROM heads").fetchall() == before
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0001'")
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
