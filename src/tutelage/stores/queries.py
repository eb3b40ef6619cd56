"""What both stores ask in the same words: the statements, and a reader made of them.

Statements are SQLAlchemy's, compiled once per dialect; they run on the drivers' own connections.
"""

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, cast

from sqlalchemy import (
    BindParameter,
    ClauseElement,
    Dialect,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from tutelage.errors import InputError
from tutelage.stores.base import (
    CampaignListing,
    CampaignNotFound,
    Change,
    EntryKind,
    EntryRow,
    Head,
    KeyRow,
    LeaseLost,
    PullRow,
    Role,
    Snapshot,
    StoredCampaign,
    StoredPull,
)
from tutelage.stores.schema import (
    campaigns,
    entries,
    heads,
    heartbeats,
    keys,
    pulls,
    removals,
    snapshots,
    states,
)

Parameters = Mapping[str, object]

_campaign: BindParameter[int] = bindparam("campaign")
_name: BindParameter[str] = bindparam("name")
_stored = (
    campaigns.c.name,
    campaigns.c.settings,
    campaigns.c.rules_version,
    campaigns.c.created,
    heads.c.position,
    heads.c.step,
    heads.c.status,
    states.c.state,
    heads.c.digest,
    heads.c.leader,
)
_whole = campaigns.join(heads, heads.c.campaign == campaigns.c.number).join(
    states, states.c.campaign == campaigns.c.number
)
_lease = (heads.c.lease_until > func.clock_timestamp()).label("valid")

NUMBER = select(campaigns.c.number).where(campaigns.c.name == _name)
CAMPAIGNS = (
    select(campaigns.c.name, heads.c.status, heads.c.leader)
    .select_from(campaigns.join(heads, heads.c.campaign == campaigns.c.number))
    .order_by(campaigns.c.name)
)
LOAD = (
    select(*_stored, snapshots.c.position, snapshots.c.content)
    .select_from(_whole.outerjoin(snapshots, snapshots.c.campaign == campaigns.c.number))
    .where(campaigns.c.name == _name)
)
# The same where leases count: a leader whose lease has ended is none.
LEASED_CAMPAIGNS, LEASED_LOAD = CAMPAIGNS.add_columns(_lease), LOAD.add_columns(_lease)

# No row is missing, so a page's last position is known: it keeps a planner from reading all that follow.
_of_campaign = select(campaigns.c.number).where(campaigns.c.name == _name).scalar_subquery()


def _page(table: Table) -> Select[Any]:
    return (
        select(*(column for column in table.c if column.name != "campaign"))
        .where(table.c.campaign == _of_campaign, table.c.position > bindparam("after"))
        .order_by(table.c.position)
        .limit(bindparam("limit"))
    )


PULLS = _page(pulls).where(pulls.c.position <= bindparam("last"))
ENTRIES_BETWEEN = _page(entries).where(entries.c.position <= bindparam("last"))
ENTRIES = _page(entries)
KEYS = select(*keys.c).order_by(keys.c.name)

CREATE = insert(campaigns).values(
    {name: bindparam(name) for name in ("name", "settings", "rules_version", "created")}
)
CREATE_HEAD = insert(heads).values(
    campaign=_campaign, position=0, step=0, status="registering", digest="", token=0
)
CREATE_STATE = insert(states).values(campaign=_campaign, state=bindparam("state"))

SET_STATE = update(states).where(states.c.campaign == _campaign).values(state=bindparam("state"))
DROP_SNAPSHOT = delete(snapshots).where(snapshots.c.campaign == _campaign)
ADD_SNAPSHOT = insert(snapshots).values(
    campaign=_campaign, position=bindparam("position"), content=bindparam("content")
)
ADD_ENTRY = insert(entries).values({column.name: bindparam(column.name) for column in entries.c})
BEAT = update(heartbeats).values(count=heartbeats.c.count + 1)


def _last(table: Any, *conditions: Any) -> Any:
    return (
        select(func.coalesce(func.max(table.c.position), 0))
        .where(table.c.campaign == _campaign, *conditions)
        .scalar_subquery()
    )


REMOVABLE = select(
    heads.c.status,
    _last(entries, entries.c.kind == "exported"),
    _last(pulls),
    _last(entries, entries.c.kind == "bypassed"),
).where(heads.c.campaign == _campaign)
REMOVE = (
    insert(removals).values(campaign=_campaign),
    *(
        delete(table).where(table.c.campaign == _campaign)
        for table in (pulls, entries, snapshots, states, heads)
    ),
    delete(campaigns).where(campaigns.c.number == _campaign),
    delete(keys).where(keys.c.campaign == _name),
    delete(removals).where(removals.c.campaign == _campaign),
)

CREATE_KEY = insert(keys).values({column.name: bindparam(column.name) for column in keys.c})
REVOKE_KEY = (
    update(keys)
    .where(keys.c.name == _name)
    .values(revoked=func.coalesce(keys.c.revoked, bindparam("time")))
    .returning(keys.c.name)
)


class Texts:
    """The statements as one dialect's SQL, each compiled when it is first asked for."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._texts: dict[ClauseElement, tuple[str, dict[str, Any]]] = {}

    def __call__(self, statement: ClauseElement, parameters: Parameters) -> tuple[str, dict[str, Any]]:
        """The SQL and all of its parameters: a statement's own constants, then the caller's."""
        if statement not in self._texts:
            compiled = statement.compile(dialect=self.dialect)
            self._texts[statement] = str(compiled), dict(compiled.params)
        text, constants = self._texts[statement]
        return text, {name: parameters.get(name, value) for name, value in constants.items()}


class Reading:
    """A reader over anything that runs statements."""

    @abstractmethod
    def _run(self, statement: ClauseElement, parameters: Parameters) -> list[tuple[Any, ...]]:
        """The rows that a statement gives, none if it gives no rows."""

    @abstractmethod
    def _moment(self) -> AbstractContextManager[object]:
        """Within it all statements see the database as of one moment."""

    #: Whether another process may lead: then leases count.
    leased: bool

    def campaigns(self) -> list[CampaignListing]:
        """Every campaign, in the order of their names."""
        rows = self._run(LEASED_CAMPAIGNS if self.leased else CAMPAIGNS, {})
        valid = [bool(row[-1]) or not self.leased for row in rows]
        return [
            CampaignListing(row[0], row[1], row[2] if led else None)
            for row, led in zip(rows, valid, strict=True)
        ]

    def load(self, name: str) -> tuple[StoredCampaign, Snapshot | None]:
        """A campaign and its newest snapshot, as of one moment."""
        rows = self._run(LEASED_LOAD if self.leased else LOAD, {"name": name})
        if not rows:
            raise missing(name)
        row = rows[0]
        snapshot = None if row[10] is None else Snapshot(row[10], bytes(row[11]))
        return _stored_of(row, valid=bool(row[-1]) or not self.leased), snapshot

    def read(self, name: str, after: int, limit: int) -> list[PullRow | EntryRow]:
        """The first ``limit`` rows behind position ``after``, in order."""
        parameters = {"name": name, "after": after, "last": after + limit, "limit": limit}
        with self._moment():
            pulled = self._run(PULLS, parameters)
            entered = self._run(ENTRIES_BETWEEN, parameters)
        rows: list[PullRow | EntryRow] = [*pull_rows(pulled)]
        if entered:
            rows += [entry_row(row) for row in entered]
            rows.sort(key=_position)
        return rows

    def entries(self, name: str, after: int, limit: int) -> list[EntryRow]:
        """The first ``limit`` entries behind position ``after``, in order."""
        return [entry_row(row) for row in self._run(ENTRIES, {"name": name, "after": after, "limit": limit})]

    def keys(self) -> list[KeyRow]:
        """Every key, the revoked ones too, in the order of their names."""
        return [
            KeyRow(name, bytes(digest), cast("Role", role), campaign, tuple(json.loads(clients)), *times)
            for name, digest, role, campaign, clients, *times in self._run(KEYS, {})
        ]


def _position(row: PullRow | EntryRow) -> int:
    return row.position


def _stored_of(row: tuple[Any, ...], *, valid: bool) -> StoredCampaign:
    name, settings, rules_version, created, position, step, status, state, digest, leader = row[:10]
    head = Head(position, step, status, state, digest)
    return StoredCampaign(name, settings, rules_version, created, head, leader if valid else None)


def pull_rows(rows: Iterable[tuple[Any, ...]]) -> list[PullRow]:
    """Rows of the table, without the campaign, as pulls."""
    return [
        PullRow(
            position, step, index, client, arm, number, observed, revealed, directive, flag == 1, time, id
        )
        for position, step, index, client, arm, number, observed, revealed, directive, flag, time, id in rows
    ]


def known_pulls(rows: Iterable[tuple[Any, ...]]) -> dict[str, StoredPull]:
    """The same rows, and behind each whether a bypass report of it is stored, by id."""
    return {
        id: StoredPull(
            PullRow(
                position, step, index, client, arm, number, observed, revealed, directive, flag == 1, time, id
            ),
            hit == 1,
        )
        for position, step, index, client, arm, number, observed, revealed, directive, flag, time, id, hit in rows
    }


def entry_row(row: tuple[Any, ...]) -> EntryRow:
    """A row of the table, without the campaign, as an entry."""
    position, step, kind, time, content, id = row
    return EntryRow(position, step, cast("EntryKind", kind), time, content, id)


def entry_values(campaign: int, entry: EntryRow) -> dict[str, object]:
    """What ``ADD_ENTRY`` takes."""
    return {
        "campaign": campaign,
        "position": entry.position,
        "step": entry.step,
        "kind": entry.kind,
        "time": entry.time,
        "content": entry.content,
        "id": entry.id,
    }


def move_values(campaign: int, change: Change) -> tuple[object, ...]:
    """What a store's statement takes that moves the head on: the new head, then where it must still stand."""
    head = change.head
    new = (head.position, head.step, head.status, head.digest)
    return (*new, campaign, change.token, change.after)


def rest_of(campaign: int, change: Change) -> Iterator[tuple[ClauseElement, dict[str, object]]]:
    """Statements and values that write a change's entries and snapshot."""
    for entry in change.entries:
        yield ADD_ENTRY, entry_values(campaign, entry)
    if change.snapshot:
        yield DROP_SNAPSHOT, {"campaign": campaign}
        values = {"position": change.snapshot.position, "content": change.snapshot.content}
        yield ADD_SNAPSHOT, {"campaign": campaign} | values


def key_values(key: KeyRow) -> dict[str, object]:
    """What ``CREATE_KEY`` takes."""
    return {
        "name": key.name,
        "digest": key.digest,
        "role": key.role,
        "campaign": key.campaign,
        "clients": json.dumps(key.clients),
        "created": key.created,
        "revoked": key.revoked,
    }


def missing(name: str) -> CampaignNotFound:
    """The error about a campaign that is not there."""
    return CampaignNotFound(f"There is no campaign {name!r}: `tutelage campaign list` shows all.")


def check_change(change: Change) -> None:
    """Raises ValueError unless the change's new position is its old one and a step for each of its rows."""
    rows = len(change.pulls) + len(change.entries)
    if change.head.position != change.after + rows:
        raise ValueError(
            f"{rows} rows behind position {change.after} of campaign {change.name!r} "
            f"end at {change.after + rows}, not at {change.head.position}"
        )


def fenced(change: Change) -> LeaseLost:
    """The error about a change whose campaign has moved on without it."""
    return LeaseLost(
        f"The campaign {change.name!r} is led by another server now, or has left position {change.after}: "
        "nothing was written.",
        change.name,
    )


def check_removable(name: str, row: tuple[Any, ...]) -> None:
    """Raises InputError unless ``REMOVABLE``'s row allows the campaign to be deleted."""
    status, exported, pulled, bypassed = row
    if status == "registering":  # it has never been started, so it holds no pulls
        return
    if status != "stopped":
        raise InputError(f"The campaign {name!r} is {status}: stop it before it is deleted.")
    if exported <= max(pulled, bypassed):
        since = "since it was stopped" if exported == 0 else "since its last pull or report"
        raise InputError(
            f"No administrator has exported the campaign {name!r} {since}: export it, again if it was "
            "exported before, now that it is stopped and with an administrator's key."
        )
