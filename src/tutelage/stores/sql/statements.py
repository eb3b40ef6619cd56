"""SQLAlchemy statements that run on both databases; each is compiled once per dialect.

Pulls, the most frequent rows, are inserted by each store in a way of its own (``_insert_pulls``).
"""

from collections.abc import Mapping
from typing import Any, LiteralString

from sqlalchemy import ClauseElement, Dialect, Table, bindparam, delete, func, insert, select, update

from tutelage.stores.sql.schema import (
    audit,
    campaigns,
    entries,
    heads,
    heartbeats,
    keys,
    pulls,
    removals,
    sessions,
    snapshots,
    states,
)

Parameters = Mapping[str, object]
#: The columns of a pull in the order of ``PullRow``, for SQL of one dialect.
PULL_COLUMNS: LiteralString = (
    'position, step, "index", client, arm, number, observed, revealed, directive, bypassed, time, id'
)

_campaign: Any = bindparam("campaign")
_name: Any = bindparam("name")
_stored = (
    *(campaigns.c[name] for name in ("settings", "rules_version", "created")),
    *(heads.c[name] for name in ("position", "step", "status")),
    *(states.c.state, heads.c.digest, heads.c.leader),
)
_all_but_rows = campaigns.join(heads, heads.c.campaign == campaigns.c.number).join(
    states, states.c.campaign == campaigns.c.number
)
_lease_is_valid = (heads.c.lease_until > func.clock_timestamp()).label("valid")

NUMBER = select(campaigns.c.number).where(campaigns.c.name == _name)
CAMPAIGNS = (
    select(campaigns.c.name, heads.c.status, heads.c.leader)
    .select_from(campaigns.join(heads, heads.c.campaign == campaigns.c.number))
    .order_by(campaigns.c.name)
)
LOAD = (
    select(*_stored, snapshots.c.position, snapshots.c.content)
    .select_from(_all_but_rows.outerjoin(snapshots, snapshots.c.campaign == campaigns.c.number))
    .where(campaigns.c.name == _name)
)
# The same with a last column for stores with leases: whether the leader's lease is still valid.
LEASED_CAMPAIGNS, LEASED_LOAD = CAMPAIGNS.add_columns(_lease_is_valid), LOAD.add_columns(_lease_is_valid)

_number_by_name = select(campaigns.c.number).where(campaigns.c.name == _name).scalar_subquery()


def _page(table: Table) -> Any:
    return (
        select(*(column for column in table.c if column.name != "campaign"))
        .where(table.c.campaign == _number_by_name, table.c.position > bindparam("after"))
        .order_by(table.c.position)
        .limit(bindparam("limit"))
    )


# Positions have no gaps, so a page's last position is known: it keeps a planner from reading all later rows.
PULLS = _page(pulls).where(pulls.c.position <= bindparam("last"))
ENTRIES_BETWEEN = _page(entries).where(entries.c.position <= bindparam("last"))
ENTRIES = _page(entries)
KEYS = select(*keys.c).order_by(keys.c.name)
SESSIONS = select(*sessions.c)
_audit_columns = ("time", "actor", "source", "action", "campaign", "subject")
AUDIT = (
    select(*(audit.c[name] for name in _audit_columns), audit.c.number)
    .where(audit.c.number > bindparam("after"))
    .order_by(audit.c.number)
    .limit(bindparam("limit"))
)
ADD_AUDIT = insert(audit).values({name: bindparam(name) for name in _audit_columns})

CREATE = insert(campaigns).values({name: bindparam(name) for name in ("name", "settings", "rules_version", "created")})
CREATE_HEAD = insert(heads).values(campaign=_campaign, position=0, step=0, status="registering", digest="", token=0)
CREATE_STATE = insert(states).values(campaign=_campaign, state=bindparam("state"))

#: Moves a head if it still has the change's token and position; returns a row if it did.
MOVE_HEAD = (
    update(heads)
    .where(heads.c.campaign == _campaign, heads.c.token == bindparam("held"), heads.c.position == bindparam("after"))
    .values({name: bindparam(name) for name in ("position", "step", "status", "digest")})
    .returning(heads.c.campaign)
)
RELEASE = (
    update(heads)
    .where(heads.c.campaign == _campaign, heads.c.token == bindparam("held"))
    .values(leader=None, lease_until=None)
)
SET_STATE = update(states).where(states.c.campaign == _campaign).values(state=bindparam("state"))
DROP_SNAPSHOT = delete(snapshots).where(snapshots.c.campaign == _campaign)
ADD_SNAPSHOT = insert(snapshots).values(
    campaign=_campaign, position=bindparam("position"), content=bindparam("content")
)
ADD_ENTRY = insert(entries).values({column.name: bindparam(column.name) for column in entries.c})
BEAT = update(heartbeats).values(count=heartbeats.c.count + 1)


def _last_position(table: Any, *conditions: Any) -> Any:
    return (
        select(func.coalesce(func.max(table.c.position), 0))
        .where(table.c.campaign == _campaign, *conditions)
        .scalar_subquery()
    )


#: The status, and the positions of the last export, the last pull, and the last report, of a bypass or of an edge.
REMOVABLE = select(
    heads.c.status,
    _last_position(entries, entries.c.kind == "exported"),
    _last_position(pulls),
    _last_position(entries, (entries.c.kind == "bypassed") | (entries.c.kind == "reported")),
).where(heads.c.campaign == _campaign)
REMOVE = (
    insert(removals).values(campaign=_campaign),
    *(delete(table).where(table.c.campaign == _campaign) for table in (pulls, entries, snapshots, states, heads)),
    delete(campaigns).where(campaigns.c.number == _campaign),
    delete(keys).where(keys.c.campaign == _name),
    delete(removals).where(removals.c.campaign == _campaign),
)

CREATE_KEY = insert(keys).values({column.name: bindparam(column.name) for column in keys.c})
DROP_REVOKED_KEY = delete(keys).where(keys.c.name == _name, keys.c.revoked.is_not(None))
ROTATE_KEY = (
    update(keys)
    .where(keys.c.name == _name, keys.c.digest == bindparam("old_digest"), keys.c.revoked.is_(None))
    .values({name: bindparam(name) for name in ("digest", "created", "expires", "used", "old_digest", "old_until")})
    .returning(keys.c.name)
)
NOTE_KEY_USE = (
    update(keys)
    .where(keys.c.digest == bindparam("used_digest"), func.coalesce(keys.c.used, 0) < bindparam("used"))
    .values(used=bindparam("used"))
)
DROP_EXPIRED_SESSIONS = delete(sessions).where(sessions.c.expires <= bindparam("created"))
OPEN_SESSION = insert(sessions).values({column.name: bindparam(column.name) for column in sessions.c})
END_SESSION = delete(sessions).where(sessions.c.digest == bindparam("ended")).returning(sessions.c.digest)
REVOKE_KEY = (
    update(keys)
    .where(keys.c.name == _name)
    .values(revoked=func.coalesce(keys.c.revoked, bindparam("time")))
    .returning(keys.c.revoked)
)


class StatementCompiler:
    """Compiles statements for one dialect, each when it is first used."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._compiled: dict[ClauseElement, tuple[str, dict[str, Any]]] = {}

    def __call__(self, statement: ClauseElement, parameters: Parameters) -> tuple[str, dict[str, Any]]:
        """Return the SQL and all of its parameters: the statement's own constants, and the given ones."""
        if statement not in self._compiled:
            compiled = statement.compile(dialect=self.dialect)
            self._compiled[statement] = str(compiled), dict(compiled.params)
        text, constants = self._compiled[statement]
        return text, {name: parameters.get(name, value) for name, value in constants.items()}
