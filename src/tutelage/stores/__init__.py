"""Where campaigns are kept: one SQLite file, or a PostgreSQL database.

``sqlite:///tutelage.db`` is a file in this folder, ``sqlite:////var/lib/tutelage.db`` one by its full path;
``postgresql://user@host/database`` is anything that libpq takes.
"""

import os
from pathlib import Path
from urllib.parse import unquote

from tutelage.errors import InputError
from tutelage.stores.address import without_password
from tutelage.stores.base import (
    CampaignExists,
    CampaignListing,
    CampaignNotFound,
    Change,
    CommitUncertain,
    EntryRow,
    Head,
    KeyRow,
    Keys,
    LeaseLost,
    PullRow,
    Reader,
    Snapshot,
    Store,
    StoreBroken,
    StoredCampaign,
    StoredPull,
    StoreError,
    StoreFull,
    StoreInUse,
    pages,
)

__all__ = [
    "CampaignExists",
    "CampaignListing",
    "CampaignNotFound",
    "Change",
    "CommitUncertain",
    "EntryRow",
    "Head",
    "KeyRow",
    "Keys",
    "LeaseLost",
    "PullRow",
    "Reader",
    "Snapshot",
    "Store",
    "StoreBroken",
    "StoreError",
    "StoreFull",
    "StoreInUse",
    "StoredCampaign",
    "StoredPull",
    "backup",
    "check",
    "open_keys",
    "open_reader",
    "open_store",
    "pages",
    "upgrade",
    "without_password",
]


def _sqlite_path(url: str) -> Path | None:
    """The real path of a file's address; None for a PostgreSQL address.  Raises InputError for any other."""
    scheme, colon, rest = url.partition(":")
    if colon and scheme in {"postgresql", "postgres"} and rest.startswith("//"):
        return None
    name = unquote(rest.removeprefix("///"))
    is_file = scheme == "sqlite" and rest.startswith("///") and name not in {"", ":memory:"}
    if not is_file or "?" in rest or "\0" in name:
        raise InputError(
            f"{without_password(url)!r} is no store's address: write sqlite:///FILE or "
            "postgresql://USER@HOST/DATABASE."
        )
    return Path(os.path.realpath(name))


def open_store(url: str, *, migrate: bool = True) -> Store:
    """Opens a store to serve from it; without ``migrate`` one that must be there and up to date already.

    Raises InputError for an address, a file or a database that cannot be used, InUse while another process
    serves the file, and StoreError if it cannot be reached or is damaged.
    """
    if path := _sqlite_path(url):
        from tutelage.stores import sqlite_opening

        return sqlite_opening.open_store(path, migrate=migrate)
    from tutelage.stores import postgresql_opening

    return postgresql_opening.open_store(url, migrate=migrate)


def open_keys(url: str, *, create: bool = True) -> Keys:
    """Opens a store for its keys, with a server beside it or without.

    One that is not there yet is created, and ``notes`` says so; without ``create`` it is refused.
    """
    if path := _sqlite_path(url):
        from tutelage.stores import sqlite_opening

        return sqlite_opening.open_keys(path, create=create)
    from tutelage.stores import postgresql_opening

    return postgresql_opening.open_keys(url, create=create)


def open_reader(url: str) -> Reader:
    """Opens a store that is there and up to date to read from it, with a server beside it or without."""
    if path := _sqlite_path(url):
        from tutelage.stores import sqlite_opening

        return sqlite_opening.open_reader(path)
    from tutelage.stores import postgresql_opening

    return postgresql_opening.open_reader(url)


def upgrade(url: str) -> str:
    """Brings a store to the newest schema, in one transaction; a sentence that says what was done."""
    if path := _sqlite_path(url):
        from tutelage.stores import sqlite_opening

        return sqlite_opening.upgrade(path)
    from tutelage.stores import postgresql_opening

    return postgresql_opening.upgrade(url)


def check(url: str) -> list[str]:
    """What is wrong with a store, one sentence each; raises as ``open_store`` does if it cannot be read."""
    if path := _sqlite_path(url):
        from tutelage.stores import sqlite_opening

        return sqlite_opening.check(path)
    from tutelage.stores import postgresql_opening

    return postgresql_opening.check(url)


def backup(url: str, path: str) -> str:
    """Copies a SQLite store, a served one too, to a new file and verifies it; a sentence that says so.

    Raises InputError for PostgreSQL, and names the command that does it there.
    """
    if source := _sqlite_path(url):
        from tutelage.stores import sqlite_opening

        return sqlite_opening.backup(source, Path(path).resolve())
    from tutelage.stores import postgresql_opening

    return postgresql_opening.backup(url, path)
