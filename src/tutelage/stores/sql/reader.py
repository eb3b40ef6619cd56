"""A reader over any database that runs the statements, and rows of the tables as rows of the contract."""

import json
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Any

from sqlalchemy import ClauseElement

from tutelage.stores import base
from tutelage.stores.sql import statements
from tutelage.stores.sql.statements import Parameters


class SqlReader:
    """The methods of :class:`~tutelage.stores.base.Reader`; a database adds how statements are run."""

    #: Whether leases end, so that a stored leader may no longer be one.
    has_leases: bool

    @abstractmethod
    def _run(self, statement: ClauseElement, parameters: Parameters) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows, if it has any."""

    @abstractmethod
    def _as_of_one_moment(self) -> AbstractContextManager[object]:
        """Open a context in which all statements see the database as of one moment."""

    def campaigns(self) -> list[base.CampaignListing]:
        """List every campaign, ordered by name."""
        rows = self._run(statements.LEASED_CAMPAIGNS if self.has_leases else statements.CAMPAIGNS, {})
        return [base.CampaignListing(row[0], row[1], row[2] if self._is_led(row) else None) for row in rows]

    def load(self, name: str) -> tuple[base.StoredCampaign, base.Snapshot | None]:
        """Load a campaign and its newest snapshot, as of one moment."""
        rows = self._run(statements.LEASED_LOAD if self.has_leases else statements.LOAD, {"name": name})
        if not rows:
            raise campaign_not_found(name)
        row = rows[0]
        settings, rules_version, created, *head, leader, position, content = row[:11]
        leader = leader if self._is_led(row) else None
        stored = base.StoredCampaign(name, settings, rules_version, created, base.Head(*head), leader)
        return stored, None if position is None else base.Snapshot(position, bytes(content))

    def _is_led(self, row: tuple[Any, ...]) -> bool:
        return not self.has_leases or bool(row[-1])

    def read(self, name: str, after: int, limit: int) -> list[base.PullRow | base.EntryRow]:
        """Read the first ``limit`` rows after a position, in order."""
        parameters = {"name": name, "after": after, "last": after + limit, "limit": limit}
        with self._as_of_one_moment():
            pulls = self._run(statements.PULLS, parameters)
            entries = self._run(statements.ENTRIES_BETWEEN, parameters)
        rows: list[base.PullRow | base.EntryRow] = [_read_pull(row) for row in pulls]
        if entries:
            rows += [base.EntryRow(*row) for row in entries]
            rows.sort(key=attrgetter("position"))
        return rows

    def entries(self, name: str, after: int, limit: int) -> list[base.EntryRow]:
        """Read the first ``limit`` entries after a position, in order."""
        rows = self._run(statements.ENTRIES, {"name": name, "after": after, "limit": limit})
        return [base.EntryRow(*row) for row in rows]

    def audit(self, after: int, limit: int) -> list[base.AuditRow]:
        """Read the first ``limit`` rows of the audit log after a number, in order."""
        return [base.AuditRow(*row) for row in self._run(statements.AUDIT, {"after": after, "limit": limit})]

    def keys(self) -> list[base.KeyRow]:
        """List every key, the revoked ones included, ordered by name."""
        return [_read_key(row) for row in self._run(statements.KEYS, {})]

    def sessions(self) -> list[base.SessionRow]:
        """List the sessions that have not been ended."""
        rows = self._run(statements.SESSIONS, {})
        return [base.SessionRow(bytes(digest), bytes(key), *times) for digest, key, *times in rows]


def _read_key(row: tuple[Any, ...]) -> base.KeyRow:
    name, digest, role, campaign, clients, created, revoked, expires, used, old_digest, old_until = row
    old = None if old_digest is None else bytes(old_digest)
    names = tuple(json.loads(clients))
    return base.KeyRow(name, bytes(digest), role, campaign, names, created, revoked, expires, used, old, old_until)


def _read_pull(row: tuple[Any, ...]) -> base.PullRow:
    *fields, bypassed, time, id = row
    return base.PullRow._make((*fields, bypassed == 1, time, id))


def read_stored_pulls(rows: Iterable[tuple[Any, ...]]) -> dict[str, base.StoredPull]:
    """Map ids to pulls, from rows of pulls with a last column: whether a bypass report corrected the pull."""
    pulls = (base.StoredPull(_read_pull(row[:-1]), row[-1] == 1) for row in rows)
    return {stored.pull.id: stored for stored in pulls}


def campaign_not_found(name: str) -> base.CampaignNotFound:
    """Return the error for an unknown campaign."""
    return base.CampaignNotFound(f"Unknown campaign {name!r}: `tutelage campaign list` lists all campaigns.")
