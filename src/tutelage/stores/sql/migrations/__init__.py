"""Upgrades from earlier schemas to the newest: one alembic revision per file in ``versions``.

Alembic is imported only when there is something to do, and needs no ``env.py``: the caller passes the
connection, in a transaction, and makes sure that no two processes migrate at the same time.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from tutelage.stores.sql.schema import VERSION, VERSION_TABLE


def read_version(connection: Connection) -> int | None:
    """Return the schema's version: 0 in an empty database, None in one with tables of another program."""
    tables = inspect(connection).get_table_names()
    if VERSION_TABLE in tables:
        found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
        return int(found or 0)
    return None if tables else 0


def upgrade(connection: Connection) -> None:
    """Bring the schema to ``VERSION`` within the connection's transaction, which the caller commits."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    script = ScriptDirectory.from_config(config)
    target = f"{VERSION:04d}"

    def revisions(current: Any, context: Any) -> Any:
        return script._upgrade_revs(target, current)  # noqa: SLF001 - alembic's own commands call it so

    with EnvironmentContext(config, script, fn=revisions, destination_rev=target) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE)
        environment.run_migrations()
