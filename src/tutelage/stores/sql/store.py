"""The methods of a store that are the same on every SQL database."""

import contextlib
import dataclasses
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import attrgetter
from typing import Any

from tutelage.errors import InputError
from tutelage.stores import base
from tutelage.stores.sql import statements
from tutelage.stores.sql.reader import SqlReader, campaign_not_found


class SqlKeys(SqlReader):
    """Reads, and writes keys.  A failure that a retry cannot mend is raised again by every later write."""

    caveats: tuple[str, ...] = ()

    def __init__(self, notes: Sequence[str] = ()) -> None:
        self.notes = tuple(notes)
        self._broken: base.StoreBroken | None = None

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[object]:
        """Open a context that commits what is done in it, or rolls it back."""

    @abstractmethod
    def _is_duplicate(self, error: BaseException | None) -> bool:
        """Whether a driver's error says that a row is not unique."""

    @contextlib.contextmanager
    def _refusing_duplicates(self, sentence: str) -> Iterator[None]:
        try:
            yield
        except base.StoreError as error:
            if self._is_duplicate(error.__context__):  # a store may hide the driver's error, and what its text holds
                raise base.CampaignExists(sentence) from None
            raise

    def _add_audit(self, rows: Iterable[base.AuditRow | None]) -> None:
        for row in rows:
            if row is not None:
                self._run(statements.ADD_AUDIT, dataclasses.asdict(row))

    def create_key(self, key: base.KeyRow, audit: base.AuditRow | None = None) -> None:
        """Store a key, in the place of a revoked one of its name.  Raises ``CampaignExists`` if its name is in use."""
        values = dataclasses.asdict(key) | {"clients": json.dumps(key.clients)}
        sentence = (
            f"A key named {key.name!r} already exists: choose another name, or replace its secret with "
            f"`tutelage key rotate {key.name}`."
        )
        with self._refusing_duplicates(sentence), self._transaction():
            self._run(statements.DROP_REVOKED_KEY, {"name": key.name})
            self._run(statements.CREATE_KEY, values)
            self._add_audit([audit])

    def rotate_key(self, key: base.KeyRow, audit: base.AuditRow | None = None) -> None:
        """Replace the secret and the times of a key.  Raises ``CampaignNotFound``."""
        with self._transaction():
            if not self._run(statements.ROTATE_KEY, dataclasses.asdict(key) | {"used": None}):
                raise base.CampaignNotFound(f"The key {key.name!r} was changed meanwhile: try again.")
            self._add_audit([audit])

    def revoke_key(self, name: str, time: int, audit: base.AuditRow | None = None) -> None:
        """Mark a key as revoked.  Raises ``CampaignNotFound``."""
        with self._transaction():
            found = self._run(statements.REVOKE_KEY, {"name": name, "time": time})
            if not found:
                raise base.CampaignNotFound(f"Unknown key {name!r}: `tutelage key list` lists all keys.")
            self._add_audit([audit] if found == [(time,)] else [])


class SqlStore(SqlKeys):
    """Writes campaigns; a database adds how campaigns are led, and how pulls are found and inserted."""

    #: The greatest id of a campaign's pulls, with one positional parameter.
    _last_id_sql: str

    def __init__(self, notes: Sequence[str] = ()) -> None:
        super().__init__(notes)
        self._numbers: dict[str, int] = {}
        self._tokens: dict[str, int] = {}

    @abstractmethod
    def _execute(self, text: str, parameters: Mapping[str, object] | Sequence[object]) -> Any:
        """Run SQL of this database's dialect and return its cursor."""

    @abstractmethod
    def _insert_pulls(self, number: int, pulls: Sequence[base.PullRow]) -> None:
        """Insert pulls of a campaign, at least one."""

    def _require_lease(self, name: str, number: int) -> None:
        """Raise ``LeaseLost`` if another server leads the campaign."""

    def create(
        self, name: str, settings: str, rules_version: int, time: int, state: str, audit: base.AuditRow | None = None
    ) -> None:
        """Create a campaign without a leader.  Raises ``CampaignExists``."""
        values = {"name": name, "settings": settings, "rules_version": rules_version, "created": time}
        sentence = f"A campaign named {name!r} already exists: choose another name."
        with self._refusing_duplicates(sentence), self._transaction():
            self._run(statements.CREATE, values)
            number = self._find_number(name)
            self._run(statements.CREATE_HEAD, {"campaign": number})
            self._run(statements.CREATE_STATE, {"campaign": number, "state": state})
            self._add_audit([audit])

    def delete(self, name: str, audit: base.AuditRow | None = None) -> None:
        """Delete a stopped and exported campaign with its rows and its keys."""
        with self._transaction():
            number = self._find_number(name)
            self._require_lease(name, number)
            _check_removable(name, self._run(statements.REMOVABLE, {"campaign": number})[0])
            for statement in statements.REMOVE:
                self._run(statement, {"campaign": number, "name": name})
            self._add_audit([audit])
        for known in (self._numbers, self._tokens):
            known.pop(name, None)

    def release(self, names: Sequence[str]) -> None:
        """Give up the leases of campaigns."""
        held = {self._number(name): self._tokens.pop(name) for name in names if name in self._tokens}
        if held:
            with self._transaction():
                self._release(held)

    def _release(self, held: Mapping[int, int]) -> None:
        """End the leases with these tokens, by the campaigns' numbers."""
        for number, token in held.items():
            self._run(statements.RELEASE, {"campaign": number, "held": token})

    def last_id(self, name: str) -> str:
        """Return the greatest id among a campaign's pulls."""
        row = self._execute(self._last_id_sql, (self._number(name),)).fetchone()
        return str(row[0]) if row else ""

    def append(self, changes: Sequence[base.Change]) -> None:
        """Commit all changes in one transaction."""
        with self._transaction():
            # Two servers that move the same heads meet at the first of them, so they cannot deadlock.
            moved = {change.name: self._move(change) for change in sorted(changes, key=attrgetter("name"))}
            for change in changes:
                self._write(moved[change.name], change)

    def _move(self, change: base.Change) -> int:
        """Move the head, unless it has left the change's position; return the campaign's number."""
        rows = len(change.pulls) + len(change.entries)
        head = change.head
        if head.position != change.after + rows:
            raise ValueError(
                f"{rows} rows after position {change.after} of campaign {change.name!r} "
                f"end at {change.after + rows}, not at {head.position}"
            )
        with contextlib.suppress(base.CampaignNotFound):
            number = self._number(change.name)
            values = {"position": head.position, "step": head.step, "status": head.status}
            held = {"campaign": number, "held": change.token, "after": change.after}
            if self._run(statements.MOVE_HEAD, values | {"digest": head.digest} | held):
                return number
        raise base.LeaseLost(
            f"Another server now leads the campaign {change.name!r}, or the campaign has left position "
            f"{change.after}: nothing was written.",
            change.name,
        )

    def _write(self, number: int, change: base.Change) -> None:
        """Write everything of a change but the head."""
        of_campaign = {"campaign": number}
        if change.head.state is not None:
            self._run(statements.SET_STATE, of_campaign | {"state": change.head.state})
        if change.pulls:
            self._insert_pulls(number, change.pulls)
        for entry in change.entries:
            self._run(statements.ADD_ENTRY, of_campaign | dataclasses.asdict(entry))
        self._add_audit(change.audit)
        if change.snapshot:
            self._run(statements.DROP_SNAPSHOT, of_campaign)
            self._run(statements.ADD_SNAPSHOT, of_campaign | dataclasses.asdict(change.snapshot))

    def note_key_uses(self, uses: Mapping[bytes, int]) -> None:
        """Store when secrets were last used; in one order, so that two servers cannot deadlock."""
        with self._transaction():
            for digest in sorted(uses):
                self._run(statements.NOTE_KEY_USE, {"used_digest": digest, "used": uses[digest]})

    def open_session(self, session: base.SessionRow, audit: base.AuditRow | None = None) -> None:
        """Store a session, and remove those that have expired."""
        with self._transaction():
            self._run(statements.DROP_EXPIRED_SESSIONS, {"created": session.created})
            self._run(statements.OPEN_SESSION, dataclasses.asdict(session))
            self._add_audit([audit])

    def end_session(self, digest: bytes, audit: base.AuditRow | None = None) -> None:
        """Remove a session."""
        with self._transaction():
            if self._run(statements.END_SESSION, {"ended": digest}):
                self._add_audit([audit])

    def probe(self) -> None:
        """Commit a heartbeat."""
        with self._transaction():
            self._run(statements.BEAT, {})

    def _number(self, name: str) -> int:
        return self._numbers.get(name) or self._find_number(name)

    def _find_number(self, name: str) -> int:
        """Look up a campaign's number: another server may have deleted it and created one of the same name."""
        rows = self._run(statements.NUMBER, {"name": name})
        if not rows:
            raise campaign_not_found(name)
        number: int = rows[0][0]
        self._numbers[name] = number
        return number


def _check_removable(name: str, row: tuple[Any, ...]) -> None:
    """Raise ``InputError`` unless the row of ``REMOVABLE`` allows deleting the campaign."""
    status, exported, pulled, bypassed = row
    if status == "registering":  # it has never been started, so it has no pulls
        return
    if status != "stopped":
        raise InputError(f"The campaign {name!r} is {status}: stop it before deleting it.")
    if exported <= max(pulled, bypassed):
        since = "since it was stopped" if exported == 0 else "since its last pull or bypass report"
        raise InputError(
            f"The campaign {name!r} has not been exported by an administrator {since}: export the stopped "
            "campaign with an administrator's key before deleting it."
        )
