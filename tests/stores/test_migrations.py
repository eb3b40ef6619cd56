"""The migrations lead to the tables that the code names."""

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from tutelage import stores
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
