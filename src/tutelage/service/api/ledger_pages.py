"""The ledger with names in place of numbers, one page at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from tutelage.service.api.schemas import (
    AuditPage,
    AuditRecord,
    DecisionPage,
    DecisionRecord,
    KeyRecord,
    LedgerPage,
    LedgerRow,
)
from tutelage.stores.base import AuditRow, EntryRow, KeyRow, PullRow, Reader, StoredCampaign, entries_after
from tutelage.text import name_arms

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LedgerNames:
    """A campaign's clients and arms by number, with the head of its ledger.

    ``clients`` are all of them, with those that registered.  The settings can be read even if this release
    cannot serve the campaign.
    """

    def __init__(self, stored: StoredCampaign, clients: list[str]) -> None:
        self.head, self.created, self.clients = stored.head, stored.created, clients
        self.settings = msgspec.json.decode(stored.settings) | {
            "clients": clients,
            "rules_version": stored.rules_version,
            "created": _format_time(stored.created),
        }
        self.arms = tuple(self.settings["arms"])

    def describe_row(self, row: PullRow | EntryRow) -> LedgerRow:
        """Return a row of the store with names."""
        time = _format_time(row.time)
        if isinstance(row, EntryRow):
            content = msgspec.json.decode(row.content)
            if "report" in content:
                content["report"] = name_arms(content["report"], self.arms)
            if row.kind == "started":
                content = self.settings
            return LedgerRow(
                position=row.position,
                kind=row.kind,
                step=row.step,
                time=time,
                id=row.id or msgspec.UNSET,
                key=row.key or msgspec.UNSET,
                content=content,
            )
        names = {"client": self.clients[row.client], "arm": self.arms[row.arm]}
        return LedgerRow(kind="pull", **row._asdict() | names | {"time": time})


def load_names(reader: Reader, name: str) -> LedgerNames:
    """Load the names of a campaign in a store.  Raises ``CampaignNotFound``."""
    stored, _ = reader.load(name)
    settings = msgspec.json.decode(stored.settings)
    registered = _read_registered(reader, name) if settings["open_registration"] else ()
    return LedgerNames(stored, [*settings["clients"], *registered])


def read_page(reader: Reader, name: str, after: int, limit: int) -> LedgerPage:
    """Return the rows after a position."""
    names = load_names(reader, name)
    rows = reader.read(name, after, limit)
    has_more = bool(rows) and rows[-1].position < names.head.position
    return LedgerPage([names.describe_row(row) for row in rows], rows[-1].position if has_more else None)


def read_decisions(reader: Reader, name: str, after: int, limit: int) -> DecisionPage:
    """Return the consultations, decisions and exclusions after a position."""
    names, found = load_names(reader, name), list[DecisionRecord]()
    for entry in entries_after(reader, name, after):
        if entry.kind in {"decided", "excluded"}:
            row = msgspec.to_builtins(names.describe_row(entry))  # without what is unset
            record = msgspec.convert(row | row["content"], DecisionRecord)
            if record.kind == "decided" and record.target is None:
                record.kind = "consulted"  # the ledger has one kind for both
            found.append(record)
            if len(found) == limit:
                return DecisionPage(found, entry.position)
    return DecisionPage(found, None)


def read_audit(reader: Reader, after: int, limit: int) -> AuditPage:
    """Return the rows of the audit log after a number."""
    rows = reader.audit(after, limit)
    return AuditPage([describe_audit(row) for row in rows], rows[-1].number if len(rows) == limit else None)


def describe_audit(row: AuditRow) -> AuditRecord:
    """Return a row of the audit log as the API and the command print it."""
    time, campaign, subject = _format_time(row.time), row.campaign or None, row.subject or None
    return AuditRecord(row.number, time, row.actor, row.source, row.action, campaign, subject)


def describe_key(row: KeyRow) -> KeyRecord:
    """Return a key as the API and the command print it."""
    return KeyRecord(
        name=row.name,
        role=row.role,
        campaign=row.campaign,
        clients=row.clients,
        created=_format_time(row.created),
        expires=_format_if_set(row.expires),
        last_used=_format_if_set(row.used),
        revoked=_format_if_set(row.revoked),
        old_secret_until=_format_if_set(row.old_until),
    )


def _read_registered(reader: Reader, name: str) -> Iterator[str]:
    """Yield the clients that were registered; nobody is after the first start."""
    for entry in entries_after(reader, name):
        if entry.kind == "started":
            return
        if entry.kind == "registered":
            yield msgspec.json.decode(entry.content)["client"]


def parse_time(text: str) -> int:
    """Return the microseconds since 1970 of a row's time.  Raises ``ValueError``."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def _format_time(microseconds: int) -> str:
    time = (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")
    return time.replace("+00:00", "Z")


def _format_if_set(microseconds: int | None) -> str | None:
    return None if microseconds is None else _format_time(microseconds)
