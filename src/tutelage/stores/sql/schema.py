"""The tables, as the newest migration leaves them (a test compares the two on both databases).

Rows of the ledger hold the campaign's number instead of its name, without a foreign key: a check per pull
would cost as much as the pull.  Numbers of campaigns are never reused.
"""

from typing import Any

from sqlalchemy import BigInteger, Column, DateTime, Index, Integer, LargeBinary, MetaData, SmallInteger, Table, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import UserDefinedType

from tutelage.errors import InputError

APPLICATION_ID = int.from_bytes(b"Tute")
VERSION = 2
OLDEST_VERSION = 2  # that can be upgraded
VERSION_TABLE = "tutelage_version"


class Exact(UserDefinedType[float]):
    """A float that comes back bit for bit.

    A REAL column of SQLite would turn -0.0 into 0.0; one without an affinity keeps every bit.
    """

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return "DOUBLE PRECISION"


class Bytewise(UserDefinedType[str]):
    """Text that is compared and sorted byte by byte, whatever the language of the database."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        return 'TEXT COLLATE "C"'


@compiles(Exact, "sqlite")
def _exact_on_sqlite(_type: Exact, _compiler: Any, **_options: Any) -> str:
    return "BLOB"


@compiles(Bytewise, "sqlite")
def _bytewise_on_sqlite(_type: Bytewise, _compiler: Any, **_options: Any) -> str:
    return "TEXT"


metadata = MetaData()

campaigns = Table(
    "campaigns",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("name", Bytewise, nullable=False, unique=True),
    Column("settings", Text, nullable=False),
    Column("rules_version", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

heads = Table(
    "heads",
    metadata,
    Column("campaign", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("leader", Text),
    Column("lease_until", DateTime(timezone=True)),
    sqlite_with_rowid=False,
)

# Separate from the heads, which every transaction writes: a teacher's state is large and seldom changes.
states = Table(
    "states",
    metadata,
    Column("campaign", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("campaign", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

pulls = Table(
    "pulls",
    metadata,
    Column("campaign", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("step", BigInteger, nullable=False),
    Column("index", Integer, nullable=False),
    Column("client", Integer, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("observed", Exact, nullable=False),
    Column("revealed", Exact, nullable=False),
    Column("directive", BigInteger, nullable=False),
    Column("bypassed", SmallInteger, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("id", Bytewise, nullable=False),
    Index("pulls_by_id", "campaign", "id", unique=True),
    sqlite_with_rowid=False,
)

entries = Table(
    "entries",
    metadata,
    Column("campaign", BigInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("step", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("content", Text, nullable=False),
    Column("id", Bytewise, nullable=False),
    Column("key", Text, nullable=False),
    Index("entries_by_id", "campaign", "id"),
    sqlite_with_rowid=False,
)

# Contains a campaign's number during the transaction that deletes the campaign: otherwise the ledger's
# triggers refuse every DELETE.
removals = Table(
    "removals", metadata, Column("campaign", BigInteger, primary_key=True, autoincrement=False), sqlite_with_rowid=False
)

keys = Table(
    "keys",
    metadata,
    Column("name", Bytewise, primary_key=True),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("campaign", Bytewise),
    Column("clients", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
    Column("expires", BigInteger),
    Column("used", BigInteger),
    Column("old_digest", LargeBinary),
    Column("old_until", BigInteger),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("key_digest", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
)

# Names instead of numbers: the rows stay when their campaign or key is gone.
audit = Table(
    "audit",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("time", BigInteger, nullable=False),
    *(Column(name, Text, nullable=False) for name in ("actor", "source", "action", "campaign", "subject")),
    sqlite_autoincrement=True,
)

heartbeats = Table(
    "heartbeats",
    metadata,
    Column("number", SmallInteger, primary_key=True, autoincrement=False),
    Column("count", BigInteger, nullable=False),
)

#: The tables of the ledger, and the triggers that protect their rows and those of the audit log.
LEDGER = ("pulls", "entries")
TRIGGERS = tuple(f"{table}_{verb}" for table in (*LEDGER, "audit") for verb in ("are_kept", "stay_as_they_are"))


def check_version(place: str, version: int) -> None:
    """Raise ``InputError`` for a schema that this release cannot open; 0 is an empty database."""
    if version > VERSION:
        raise InputError(
            f"{place} has schema {version}, but this release of Tutelage reads schemas up to {VERSION}: "
            "install the newer release that wrote it, or restore a backup."
        )
    if 0 < version < OLDEST_VERSION:
        raise InputError(
            f"{place} was written by a version of Tutelage before 0.1.0, and can no longer be opened: use a new store."
        )
