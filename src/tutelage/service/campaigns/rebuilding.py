"""A campaign from its ledger: after a start, a failure or a takeover, and when it is verified.

Everything that is not a row of the ledger follows from the rows, and must come out the same.  So must the
rows themselves, but for what comes from outside: a step's rewards, ids, time and places in the request.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns.campaign import Pull, restored
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.series import StoredSeries
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import RULES_VERSION
from tutelage.stores.base import EntryRow, Head, PullRow, Reader, Snapshot, StoredCampaign, StoredPull, pages
from tutelage.teachers.base import encode_state


class Disagreement(Exception):
    """The ledger holds something else than what comes before leads to; the text says where."""


class _Client(msgspec.Struct):
    """The content of an entry that names a client."""

    client: str


class _Bypassed(msgspec.Struct):
    """The content of a bypass report."""

    pull: dict[str, int | float | bool | str]


def rebuilt(
    stored: StoredCampaign,
    token: int,
    snapshot: Snapshot | None,
    rows: Iterable[PullRow | EntryRow],
    last_id: str = "",
) -> Session:
    """The campaign as its ledger tells it; ``rows`` are those behind the snapshot, or all.

    ``last_id`` is the greatest id among its stored pulls: whoever takes new ones has to tell it.

    Raises :class:`Disagreement`.
    """
    session = without_rows(stored, token, last_id)
    if snapshot is not None:
        _load(session, snapshot)
    repeat(session, rows)
    settle(session, stored.head)
    return session


def without_rows(stored: StoredCampaign, token: int = 0, last_id: str = "") -> Session:
    """The campaign without any row.  Raises :class:`Disagreement` if this release cannot serve it."""
    check_rules(stored)
    try:
        return Session(stored, token, last_id)
    except (InputError, msgspec.MsgspecError) as error:
        told = str(error).removesuffix(".")
        raise Disagreement(f"The settings of {stored.name} cannot be read: {told}.") from error


def check_rules(stored: StoredCampaign) -> None:
    """Raises :class:`Disagreement` for a campaign that began under rules which this release lacks."""
    if stored.rules_version != RULES_VERSION:
        raise Disagreement(
            f"{stored.name} began under rules {stored.rules_version}, which this release lacks."
        )


def as_committed(reader: Reader, stored: StoredCampaign, snapshot: Snapshot | None) -> Session:
    """The campaign as it was when ``stored`` was read.  Raises :class:`Disagreement`."""
    after = snapshot.position if snapshot else 0
    return rebuilt(stored, 0, snapshot, rows_between(reader, stored.name, after, stored.head.position))


def rows_between(reader: Reader, name: str, after: int, last: int) -> Iterator[PullRow | EntryRow]:
    """A campaign's rows behind a position, up to another: more may have been committed since."""
    return itertools.takewhile(lambda row: row.position <= last, pages(reader, name, after))


def repeat(session: Session, rows: Iterable[PullRow | EntryRow]) -> None:
    """Let a campaign go through the rows that come next in its ledger, whole steps of them.

    Raises :class:`Disagreement`.
    """
    step: list[PullRow] = []
    for row in rows:
        last = session.position - len(session.new_entries) + len(step)
        if row.position != last + 1:
            raise Disagreement(f"In the ledger of {session.name} position {row.position} follows {last}.")
        if step and not (isinstance(row, PullRow) and row.step == step[0].step):
            _repeat_step(session, step)
            step = []
        if isinstance(row, PullRow):
            if session.new_entries:
                raise _disagreement(session, row, session.new_entries[0])
            step.append(row)
        else:
            _repeat_entry(session, row)
    if step:
        _repeat_step(session, step)


def settle(session: Session, head: Head) -> None:
    """Compare where the rows have led to with what is stored of it.  Raises :class:`Disagreement`."""
    session.note_state()
    for what in ("position", "step", "status", "state", "digest"):
        found, kept = getattr(session.head, what), getattr(head, what)
        if found != kept and (head.position or what != "digest"):
            raise Disagreement(
                f"The head of {session.name} has the {what} {_short(kept)}; its ledger leads to {_short(found)}."
            )
    session.begin_draft()


def _load(session: Session, snapshot: Snapshot) -> None:
    try:
        clients, status, step, digest, content, series = msgspec.msgpack.decode(
            snapshot.content, type=tuple[list[str], str, int, bytes, bytes, StoredSeries]
        )
        for client in clients[len(session.clients) :]:
            session.roster.admit(client)
        session.campaign = restored(session.settings.setup(session.clients), content)
        session.series.load(series)
    except (msgspec.MsgspecError, ValueError, InputError) as error:
        raise Disagreement(f"The snapshot of {session.name} cannot be read: {error}.") from error
    session.position = session.snapshot_position = snapshot.position
    session.status, session.step, session.digest = status, step, digest
    session.state = encode_state(session.begun.state)


def _repeat_step(session: Session, rows: Sequence[PullRow]) -> None:
    settings = session.settings
    for row in rows:
        is_one = 0 <= row.client < len(session.clients) and 0 <= row.arm < len(settings.arms)
        if not (is_one and settings.low <= row.observed <= settings.high):
            raise Disagreement(f"Position {row.position} of {session.name} holds no pull of it: {row}.")
    pulls = [Pull(row.client, row.arm, row.observed, row.bypassed) for row in rows]
    try:
        made = session.advance(pulls, [row.id for row in rows], rows[0].time, [row.index for row in rows])
    except Refusal as error:
        raise Disagreement(f"Position {rows[0].position} of {session.name}: {error}") from error
    session.new_pulls.clear()
    session.remembered.forget_oldest()
    for row, expected in zip(rows, made, strict=True):
        if row != expected:
            raise _disagreement(session, row, expected)


def _repeat_entry(session: Session, row: EntryRow) -> None:
    if not session.new_entries:
        try:
            _act(session, row)
        except (Refusal, msgspec.MsgspecError, TypeError, LookupError) as error:
            raise Disagreement(f"Position {row.position} of {session.name} cannot be: {error}") from error
    expected = session.new_entries.pop(0) if session.new_entries else None
    if row != expected:
        raise _disagreement(session, row, expected)


def _act(session: Session, row: EntryRow) -> None:
    """Do what an entry says was done."""
    if row.kind == "registered":
        session.register(msgspec.json.decode(row.content, type=_Client).client, row.time)
    elif row.kind == "excluded":
        session.exclude(msgspec.json.decode(row.content, type=_Client).client, row.time)
    elif row.kind == "bypassed":
        pull = PullRow(**msgspec.json.decode(row.content, type=_Bypassed).pull)  # type: ignore[arg-type]
        session.bypass(StoredPull(pull, corrected=False), row.time)
    elif row.kind == "started":
        session.start(row.time)
    elif row.kind == "stopped":
        session.stop(row.time)
    elif row.kind == "exported":
        session.exported(row.position - 1, row.time)


def _disagreement(
    session: Session, row: PullRow | EntryRow, expected: PullRow | EntryRow | None
) -> Disagreement:
    place = f"Position {row.position} of {session.name}"
    if type(row) is not type(expected):
        return Disagreement(f"{place} is {_short(row)}; what comes before leads to {_short(expected)}.")
    fields = row._fields if isinstance(row, PullRow) else row.__slots__
    for what in fields:
        found, wanted = getattr(row, what), getattr(expected, what)
        if found != wanted:
            break
    return Disagreement(f"{place} has {what} = {_short(found)}; what comes before leads to {_short(wanted)}.")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 300 else f"{text[:297]}..."
