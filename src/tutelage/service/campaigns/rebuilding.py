"""Rebuilding a campaign from its ledger: after a start, a failure or a takeover, and for verification.

Everything that is not a row of the ledger follows from the rows, and must come out the same.  So must the
rows themselves, except what comes from outside: a step's rewards, ids, time and places in the request.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns import actions, edges
from tutelage.service.campaigns.campaign import Assignment
from tutelage.service.campaigns.entry_contents import (
    AssignedContent,
    DirectedContent,
    ReportedContent,
    read_bypassed,
    read_client,
)
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import RULES_VERSION
from tutelage.service.campaigns.snapshot_format import decode_snapshot, restore_campaign
from tutelage.stores.base import EntryRow, Head, PullRow, Reader, Snapshot, StoredCampaign, StoredPull, pages


class Disagreement(Exception):
    """The ledger differs from what its earlier rows lead to; the message says where."""


def rebuild(
    stored: StoredCampaign, token: int, snapshot: Snapshot | None, rows: Iterable[PullRow | EntryRow], last_id: str = ""
) -> Session:
    """Return the session of a stored campaign; ``rows`` are those after the snapshot, or all.

    ``last_id`` is the greatest id among its stored pulls, which a session needs that accepts new pulls.

    Raises :class:`Disagreement`.
    """
    session = make_session(stored, token, last_id)
    if snapshot is not None:
        _load(session, snapshot)
    replay_rows(session, rows)
    check_head(session, stored.head)
    return session


def make_session(stored: StoredCampaign, token: int = 0, last_id: str = "") -> Session:
    """Return a session without any rows.  Raises :class:`Disagreement` if this release cannot serve it."""
    check_rules(stored)
    try:
        return Session(stored, token, last_id)
    except (InputError, msgspec.MsgspecError) as error:
        reason = str(error).removesuffix(".")
        raise Disagreement(f"The settings of {stored.name} cannot be read: {reason}.") from error


def check_rules(stored: StoredCampaign) -> None:
    """Raise :class:`Disagreement` for a campaign whose version of the rules this release does not have."""
    if stored.rules_version != RULES_VERSION:
        raise Disagreement(
            f"{stored.name} uses version {stored.rules_version} of the rules, but this release of Tutelage has "
            f"version {RULES_VERSION}: serve it with the release that created it."
        )


def rebuild_committed(reader: Reader, stored: StoredCampaign, snapshot: Snapshot | None) -> Session:
    """Return a campaign as it was when ``stored`` was read.  Raises :class:`Disagreement`."""
    after = snapshot.position if snapshot else 0
    return rebuild(stored, 0, snapshot, read_rows_between(reader, stored.name, after, stored.head.position))


def read_rows_between(reader: Reader, name: str, after: int, last: int) -> Iterator[PullRow | EntryRow]:
    """Yield a campaign's rows after one position up to another; more may have been committed since."""
    return itertools.takewhile(lambda row: row.position <= last, pages(reader, name, after))


def replay_rows(session: Session, rows: Iterable[PullRow | EntryRow]) -> None:
    """Apply the next rows of its ledger to a session, in whole steps.

    Raises :class:`Disagreement`.
    """
    step: list[PullRow] = []
    for row in rows:
        last = session.position - len(session.new_entries) + len(step)
        if row.position != last + 1:
            raise Disagreement(f"Position {row.position} of {session.name} follows position {last}: rows are missing.")
        if step and not (isinstance(row, PullRow) and row.step == step[0].step):
            _replay_step(session, step)
            step = []
        if isinstance(row, PullRow):
            if session.new_entries:
                raise _describe_difference(session, row, session.new_entries[0])
            step.append(row)
        else:
            _replay_entry(session, row)
    if step:
        _replay_step(session, step)


def check_head(session: Session, head: Head) -> None:
    """Compare a session with its stored head.  Raises :class:`Disagreement`."""
    made = session.head
    for what in ("position", "step", "status", "state", "digest"):
        found, kept = getattr(made, what), getattr(head, what)
        if found != kept and (head.position or what != "digest"):
            raise Disagreement(
                f"The store notes the {what} {_shorten(kept)} of {session.name}; its ledger leads to {_shorten(found)}."
            )
    session.mark_committed()


def _load(session: Session, snapshot: Snapshot) -> None:
    try:
        stored = decode_snapshot(snapshot.content)
        for client in stored.clients[len(session.clients) :]:
            session.admit(client)
        session.campaign = restore_campaign(session.settings.setup(session.clients), stored.campaign)
        session.series.load(stored.series)
    except (msgspec.MsgspecError, ValueError, InputError) as error:
        raise Disagreement(f"The snapshot of {session.name} cannot be read: {error}.") from error
    session.position = session.snapshot_position = snapshot.position
    session.status, session.step, session.digest = stored.status, stored.step, stored.digest
    session.bypassed = stored.standing.bypassed if stored.standing is not None else 0
    for number, assignment in session.begun.assignments.items():
        session.assign(number, assignment)


def _replay_step(session: Session, rows: Sequence[PullRow]) -> None:
    settings = session.settings
    for row in rows:
        is_valid = 0 <= row.client < len(session.clients) and 0 <= row.arm < len(settings.arms)
        if not (is_valid and settings.low <= row.observed <= settings.high):
            raise Disagreement(f"Position {row.position} of {session.name} is not a valid pull: {row}.")
    try:
        made = session.advance(
            [row.client for row in rows],
            [row.arm for row in rows],
            [row.observed for row in rows],
            [row.bypassed for row in rows],
            [row.id for row in rows],
            rows[0].time,
            [row.index for row in rows],
        )
    except Refusal as error:
        raise Disagreement(f"Position {rows[0].position} of {session.name}: {error}") from error
    session.new_pulls.clear()
    session.cache.drop_oldest()
    for row, expected in zip(rows, made, strict=True):
        if row != expected:
            raise _describe_difference(session, row, expected)


def _replay_entry(session: Session, row: EntryRow) -> None:
    if not session.new_entries:
        try:
            apply_entry(session, row)
        except (Refusal, msgspec.MsgspecError, TypeError, LookupError) as error:
            raise Disagreement(f"Position {row.position} of {session.name} cannot be applied: {error}") from error
    expected = session.new_entries.pop(0) if session.new_entries else None
    if row != expected:
        raise _describe_difference(session, row, expected)


def apply_entry(session: Session, row: EntryRow) -> None:
    """Do again what an entry records; nothing for a decision, which follows from the pulls."""
    if row.kind == "registered":
        actions.register(session, read_client(row.content), row.time, row.key)
    elif row.kind == "excluded":
        actions.exclude(session, read_client(row.content), row.time, row.key)
    elif row.kind == "bypassed":
        pull = PullRow(**read_bypassed(row.content))  # type: ignore[arg-type]
        session.bypass(StoredPull(pull, corrected=False), row.time)
    elif row.kind == "started":
        actions.start(session, row.time, row.key)
    elif row.kind == "stopped":
        actions.stop(session, row.time, row.key)
    elif row.kind == "exported":
        actions.note_export(session, row.position - 1, row.time, row.key)
    elif row.kind == "assigned":
        assigned = msgspec.json.decode(row.content, type=AssignedContent)
        known = Assignment(assigned.edge, assigned.fence)
        record = None if assigned.record is msgspec.UNSET else assigned.record
        edges.add_client(session, session.client_numbers[assigned.client], known, record, row.time, row.key)
    elif row.kind == "reported":
        edges.add_report(session, msgspec.json.decode(row.content, type=ReportedContent), row.time, row.key)
    elif row.kind == "directed":
        edges.direct(session, msgspec.json.decode(row.content, type=DirectedContent).directive, row.time)


def _describe_difference(
    session: Session, row: PullRow | EntryRow, expected: PullRow | EntryRow | None
) -> Disagreement:
    place = f"Position {row.position} of {session.name}"
    if type(row) is not type(expected):
        return Disagreement(f"{place} is {_shorten(row)}; the earlier rows lead to {_shorten(expected)}.")
    fields = row._fields if isinstance(row, PullRow) else row.__slots__
    for what in fields:
        found, wanted = getattr(row, what), getattr(expected, what)
        if found != wanted:
            break
    return Disagreement(f"{place} has {what} = {_shorten(found)}; the earlier rows lead to {_shorten(wanted)}.")


def _shorten(value: object) -> str:
    text = str(value)
    return text if len(text) <= 300 else f"{text[:297]}..."
