"""Rebuild a campaign from an export of its ledger, as NDJSON."""

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec

from tutelage.errors import InputError
from tutelage.service.api.ledger_pages import LedgerNames, parse_time
from tutelage.service.api.schemas import LedgerRow
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.rebuilding import Disagreement, apply_entry, check_rules, make_session
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import decode_settings
from tutelage.stores.base import AuditRow, EntryKind, EntryRow, Head, PullRow, Store, StoredCampaign, StoreError

_DECODER = msgspec.json.Decoder(LedgerRow)


def import_ledger(store: Store, lines: Iterable[bytes], audit: AuditRow) -> tuple[str, int]:
    """Create the campaign that an export describes; return its name and its last position.

    The whole ledger is computed again, and is in memory until it is committed in one transaction.  Raises
    ``InputError`` if a row does not follow from the rows before it, ``CampaignExists``, and ``StoreError``.
    """
    rows = _read_rows(lines)
    session, stored = _replay(rows)
    change = session.pending_change()
    assert change is not None  # noqa: S101 - there is a row
    audit = dataclasses.replace(audit, campaign=stored.name)
    store.create(stored.name, stored.settings, stored.rules_version, stored.created, "", audit)
    try:
        token = store.lead(stored.name, "tutelage ledger import")
        assert token is not None  # noqa: S101 - nobody else knows the campaign yet
        store.append([dataclasses.replace(change, token=token)])
    except StoreError:
        store.delete(stored.name, dataclasses.replace(audit, action="delete campaign"))
        raise
    store.release([stored.name])
    return stored.name, session.position


def _read_rows(lines: Iterable[bytes]) -> list[LedgerRow]:
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(_DECODER.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"Line {number} is not a row of a ledger ({error}): use an export in the format ndjson."
            ) from None
    return rows


def _read_settings(rows: Sequence[LedgerRow]) -> StoredCampaign:
    """Return the campaign as it was created: the row ``started`` names the registered clients too."""
    started = next((row for row in rows if row.kind == "started"), None)
    if started is None or not isinstance(started.content, dict):
        raise InputError(
            "The file has no row of the kind started, which has the campaign's settings: use a whole export."
        )
    try:
        registered = sum(row.kind == "registered" for row in rows)
        clients = started.content["clients"]
        content = started.content | {"clients": clients[: len(clients) - registered]}
        settings = decode_settings(msgspec.json.encode(content).decode())
        stored = StoredCampaign(
            settings.name,
            settings.encode(),
            content["rules_version"],
            parse_time(content["created"]),
            Head(0, 0, "", ""),
        )
        check_rules(stored)
    except (msgspec.MsgspecError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"The settings in the row {started.position} cannot be read: {error}.") from None
    except Disagreement as error:
        raise InputError(str(error)) from None
    return stored


def _replay(rows: Sequence[LedgerRow]) -> tuple[Session, StoredCampaign]:
    """Return the session that the rows lead to, all of them pending."""
    stored = _read_settings(rows)
    try:
        session = make_session(stored)
        for (kind, _), group in groupby(rows, key=attrgetter("kind", "step")):
            if kind == "pull":
                _advance(session, list(group))
            else:
                for row in group:
                    _apply(session, row)
    except (Disagreement, Refusal, msgspec.MsgspecError, TypeError, LookupError, ValueError) as error:
        raise InputError(f"The campaign {stored.name} cannot be rebuilt: {error}") from None
    names = LedgerNames(stored, session.clients)
    made: list[PullRow | EntryRow] = [*session.new_pulls, *session.new_entries]
    for row, expected in zip(rows, sorted(made, key=attrgetter("position")), strict=False):
        if row != names.describe_row(expected):
            raise InputError(
                f"Position {row.position} of {stored.name} differs from what the earlier rows lead to: use an export "
                "that was not changed."
            )
    if len(rows) != session.position:
        raise InputError(
            f"The file has {len(rows)} rows of {stored.name}, but they lead to {session.position}: use a whole export."
        )
    return session, stored


def _advance(session: Session, rows: Sequence[LedgerRow]) -> None:
    arms = {arm: number for number, arm in enumerate(session.settings.arms)}
    session.advance(
        [session.client_numbers[str(row.client)] for row in rows],
        [arms[str(row.arm)] for row in rows],
        [float(row.observed or 0.0) for row in rows],
        [bool(row.bypassed) for row in rows],
        [str(row.id) for row in rows],
        parse_time(rows[0].time),
        [int(row.index or 0) for row in rows],
    )


def _apply(session: Session, row: LedgerRow) -> None:
    kind: EntryKind = msgspec.convert(row.kind, EntryKind)
    content, (id, key) = msgspec.json.encode(row.content).decode(), (row.id or "", row.key or "")
    apply_entry(session, EntryRow(row.position, row.step, kind, parse_time(row.time), content, id, key))
