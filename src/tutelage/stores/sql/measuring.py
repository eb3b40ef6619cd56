"""The sizes of `tutelage db stats` that are counted the same way on both databases."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import ClauseElement, Table, and_, func, select

from tutelage.stores.base import StoreSize, TableSize
from tutelage.stores.sql.schema import campaigns, entries, heads, metadata, pulls, removals
from tutelage.stores.sql.statements import Parameters

_FIRST = {pulls.name, entries.name}
_TABLES = sorted(metadata.tables.values(), key=lambda table: table.name not in _FIRST)  # the others as in the schema
_COUNTS = {table.name: select(func.count()).select_from(table) for table in _TABLES if table is not removals}


def _last_time(rows: Table) -> Any:
    is_last = and_(rows.c.campaign == heads.c.campaign, rows.c.position == heads.c.position)
    return select(func.max(rows.c.time)).select_from(heads.join(rows, is_last)).scalar_subquery()


_TIMES = select(
    select(func.min(campaigns.c.created)).scalar_subquery(), *(_last_time(rows) for rows in (pulls, entries))
)


def measure_tables(
    run: Callable[[ClauseElement, Parameters], list[tuple[Any, ...]]],
    bytes: Mapping[str, int],
    *,
    total: int,
    free: int | None,
    log: int | None,
) -> StoreSize:
    """Count the rows of each table, and find the oldest and newest times.

    The last row of each campaign is found by its position, so no table is read for the times.
    """
    tables = tuple(TableSize(name, run(count, {})[0][0], bytes.get(name)) for name, count in _COUNTS.items())
    first, *last = run(_TIMES, {})[0]
    return StoreSize(tables, total, free, log, first, max((time for time in last if time is not None), default=None))
