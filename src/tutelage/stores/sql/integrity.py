"""Checks of `tutelage db check` that are the same on both databases."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import ClauseElement, Select, Text, column, func, select, table

from tutelage.stores.sql.schema import TRIGGERS, campaigns, entries, heads, pulls, states
from tutelage.stores.sql.statements import Parameters

_COUNTS = (
    select(
        campaigns.c.name,
        heads.c.position,
        *(
            select(what).where(rows.c.campaign == campaigns.c.number).scalar_subquery()
            for rows in (pulls, entries)
            for what in (func.count(), func.coalesce(func.max(rows.c.position), 0))
        ),
    )
    .select_from(
        campaigns.outerjoin(heads, heads.c.campaign == campaigns.c.number).join(
            states, states.c.campaign == campaigns.c.number, isouter=True
        )
    )
    .order_by(campaigns.c.name)
)
_SQLITE_TRIGGERS: Select[str] = (
    select(column("name", Text)).select_from(table("sqlite_master")).where(column("type", Text) == "trigger")
)
_POSTGRESQL_TRIGGERS: Select[str] = (
    select(column("tgname", Text)).select_from(table("pg_trigger")).where(column("tgenabled", Text) != "D")
)


def find_faults(run: Callable[[ClauseElement, Parameters], list[tuple[Any, ...]]], *, sqlite: bool) -> list[str]:
    """Find missing triggers, and campaigns whose rows are not exactly those up to their head."""
    found = {row[0] for row in run(_SQLITE_TRIGGERS if sqlite else _POSTGRESQL_TRIGGERS, {})}
    sentences = [
        f"The trigger {name} is missing, so rows of the ledger are not protected: restore a backup."
        for name in TRIGGERS
        if name not in found
    ]
    for name, position, num_pulls, last_pull, num_entries, last_entry in run(_COUNTS, {}):
        if position is None:
            sentences.append(f"Campaign {name!r} has no row in the table heads: restore a backup.")
        elif num_pulls + num_entries != position or max(last_pull, last_entry) != position:
            sentences.append(
                f"Campaign {name!r} is at position {position} but has {num_pulls + num_entries} rows, "
                f"the last at position {max(last_pull, last_entry)}: restore a backup."
            )
    return sentences
