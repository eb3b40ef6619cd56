"""The initial schema.

Its number is 2 because databases of schema 1, from before 0.1.0, are refused.

Revision ID: 0002
Revises: nothing
"""

from alembic import op
from sqlalchemy import BigInteger, Column, DateTime, Integer, LargeBinary, SmallInteger, Text

from tutelage.stores.sql.schema import Bytewise, Exact

revision = "0002"
down_revision = None


def upgrade() -> None:
    """Create every table, and the triggers that protect the ledger's rows."""
    _create_campaigns()
    _create_ledger()
    _create_access()
    if op.get_bind().dialect.name == "sqlite":
        _protect_sqlite()
    else:
        _protect_postgresql()


def _campaign(name: str = "campaign") -> Column[int]:
    return Column(name, BigInteger, primary_key=True, autoincrement=False)


def _create_campaigns() -> None:
    op.create_table(
        "campaigns",
        Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
        Column("name", Bytewise, nullable=False, unique=True),
        Column("settings", Text, nullable=False),
        Column("rules_version", Integer, nullable=False),
        Column("created", BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "heads",
        _campaign(),
        Column("position", BigInteger, nullable=False),
        Column("step", BigInteger, nullable=False),
        Column("status", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("token", BigInteger, nullable=False),
        Column("leader", Text),
        Column("lease_until", DateTime(timezone=True)),
        sqlite_with_rowid=False,
    )
    op.create_table("states", _campaign(), Column("state", Text, nullable=False))
    op.create_table(
        "snapshots",
        _campaign(),
        Column("position", BigInteger, nullable=False),
        Column("content", LargeBinary, nullable=False),
    )


def _create_ledger() -> None:
    op.create_table(
        "pulls",
        _campaign(),
        _campaign("position"),
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
        sqlite_with_rowid=False,
    )
    op.create_index("pulls_by_id", "pulls", ["campaign", "id"], unique=True)
    op.create_table(
        "entries",
        _campaign(),
        _campaign("position"),
        Column("step", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        Column("time", BigInteger, nullable=False),
        Column("content", Text, nullable=False),
        Column("id", Bytewise, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("entries_by_id", "entries", ["campaign", "id"])
    op.create_table("removals", _campaign(), sqlite_with_rowid=False)


def _create_access() -> None:
    op.create_table(
        "keys",
        Column("name", Bytewise, primary_key=True),
        Column("digest", LargeBinary, nullable=False, unique=True),
        Column("role", Text, nullable=False),
        Column("campaign", Bytewise),
        Column("clients", Text, nullable=False),
        Column("created", BigInteger, nullable=False),
        Column("revoked", BigInteger),
    )
    heartbeats = op.create_table(
        "heartbeats",
        Column("number", SmallInteger, primary_key=True, autoincrement=False),
        Column("count", BigInteger, nullable=False),
    )
    op.bulk_insert(heartbeats, [{"number": 1, "count": 0}])


def _protect_sqlite() -> None:
    for table in ("pulls", "entries"):
        op.execute(
            f"CREATE TRIGGER {table}_stay_as_they_are BEFORE UPDATE ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'rows of the ledger are never changed'); END"
        )
        op.execute(
            f"CREATE TRIGGER {table}_are_kept BEFORE DELETE ON {table} "
            "WHEN NOT EXISTS (SELECT 1 FROM removals WHERE campaign = OLD.campaign) "
            "BEGIN SELECT RAISE(ABORT, 'rows of the ledger are deleted only with their campaign'); END"
        )


def _protect_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION ledger_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'rows of the ledger are never changed'; END $$"
    )
    op.execute(
        "CREATE FUNCTION ledger_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NOT EXISTS (SELECT 1 FROM removals WHERE campaign = OLD.campaign) THEN "
        "RAISE EXCEPTION 'rows of the ledger are deleted only with their campaign'; END IF; "
        "RETURN OLD; END $$"
    )
    for table in ("pulls", "entries"):
        op.execute(
            f"CREATE TRIGGER {table}_stay_as_they_are BEFORE UPDATE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_are_kept BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION ledger_is_kept()"
        )
