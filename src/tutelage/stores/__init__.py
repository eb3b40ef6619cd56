"""Stores: the databases that hold campaigns.  One folder and one line of ``STORES`` each.

The scheme of a URL names the store: ``sqlite:///tutelage.db`` is a file in the current folder,
``sqlite:////var/lib/tutelage.db`` one by its full path, ``postgresql://user@host/database`` anything that
libpq reads.  A store of an installed package is named by its class: ``package.module:Class://...``.
"""

import re
from pathlib import Path

from tutelage.registry import Table
from tutelage.stores.address import invalid_url
from tutelage.stores.base import Database, Keys, Reader, Store, StoreSize

_INSTALLED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

STORES: Table[Database] = Table(
    "store",
    "stores",
    {
        "sqlite": "tutelage.stores.sqlite.database:SqliteDatabase",
        "postgresql": "tutelage.stores.postgresql.database:PostgresqlDatabase",
        "postgres": "tutelage.stores.postgresql.database:PostgresqlDatabase",  # libpq's other name
    },
    needs=("open_store", "open_keys", "open_reader", "upgrade", "check", "measure", "backup"),
)


def find_database(url: str) -> Database:
    """Return the database of a URL without opening it.  Raises ``InputError`` for an invalid URL."""
    scheme, separator, _ = url.partition("://")
    if not separator or not (scheme in STORES.entries or _INSTALLED.fullmatch(scheme)):
        raise invalid_url(url)
    database: Database = STORES.cls(scheme)(url)
    return database


def open_store(url: str, *, migrate: bool = True) -> Store:
    """Open a store to serve from it; without ``migrate`` it must exist and be up to date.

    Raises ``InputError`` for an unusable URL, file or database, ``StoreInUse`` while another process serves
    the file, and ``StoreError`` if it cannot be reached or is damaged.
    """
    return find_database(url).open_store(migrate=migrate)


def open_keys(url: str, *, create: bool = True) -> Keys:
    """Open a store for its keys, whether or not a server is running.

    A missing store is created, and ``notes`` says so; without ``create`` it is refused.
    """
    return find_database(url).open_keys(create=create)


def open_reader(url: str) -> Reader:
    """Open an existing, up-to-date store for reading, whether or not a server is running."""
    return find_database(url).open_reader()


def upgrade(url: str) -> str:
    """Bring a store to the newest schema in one transaction; return a sentence about what was done."""
    return find_database(url).upgrade()


def check(url: str) -> list[str]:
    """Return what is wrong with a store, one sentence each.  Raises as :func:`open_store` does."""
    return find_database(url).check()


def measure(url: str) -> StoreSize:
    """Return how large a store is, also while it is served."""
    return find_database(url).measure()


def backup(url: str, path: str) -> str:
    """Copy a store to a new file, also while it is served, and verify the copy; return a sentence about it.

    Raises ``InputError`` for PostgreSQL, with the command to use there.
    """
    return find_database(url).backup(Path(path))
