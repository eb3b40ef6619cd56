"""The initial schema, as :mod:`tutelage.stores.sql.schema` has it.

Its number is 2 because databases of schema 1, from before 0.1.0, are refused.  The first change of the schema
after a release writes the tables of that release out here, so that this migration stays what it was.

Revision ID: 0002
Revises: nothing
"""

from alembic import op

from tutelage.stores.sql.schema import LEDGER, heartbeats, metadata

revision = "0002"
down_revision = None


def upgrade() -> None:
    """Create every table, and the triggers that protect the ledger's rows."""
    metadata.create_all(op.get_bind(), checkfirst=False)
    op.bulk_insert(heartbeats, [{"number": 1, "count": 0}])
    if op.get_bind().dialect.name == "sqlite":
        _protect_sqlite()
    else:
        _protect_postgresql()


def _protect_sqlite() -> None:
    for table in LEDGER:
        op.execute(
            f"CREATE TRIGGER {table}_stay_as_they_are BEFORE UPDATE ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'rows of the ledger are never changed'); END"
        )
        op.execute(
            f"CREATE TRIGGER {table}_are_kept BEFORE DELETE ON {table} "
            "WHEN NOT EXISTS (SELECT 1 FROM removals WHERE campaign = OLD.campaign) "
            "BEGIN SELECT RAISE(ABORT, 'rows of the ledger are deleted only with their campaign'); END"
        )
    for verb, trigger in (("UPDATE", "audit_stay_as_they_are"), ("DELETE", "audit_are_kept")):
        op.execute(
            f"CREATE TRIGGER {trigger} BEFORE {verb} ON audit "
            "BEGIN SELECT RAISE(ABORT, 'rows of the audit log are never changed'); END"
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
    op.execute(
        "CREATE FUNCTION audit_stays() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'rows of the audit log are never changed'; END $$"
    )
    for verb, trigger in (("UPDATE OR TRUNCATE", "audit_stay_as_they_are"), ("DELETE", "audit_are_kept")):
        op.execute(f"CREATE TRIGGER {trigger} BEFORE {verb} ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_stays()")
    for table in LEDGER:
        op.execute(
            f"CREATE TRIGGER {table}_stay_as_they_are BEFORE UPDATE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_stays()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_are_kept BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION ledger_is_kept()"
        )
