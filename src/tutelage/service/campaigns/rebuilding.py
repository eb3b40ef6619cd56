"""A campaign from its ledger: after a start, a failure or a takeover, and when it is verified.

Everything that is not a row of the ledger follows from the rows, and must come out the same.  So must the
rows themselves, but for what comes from outside: a step's rewards, ids, time and places in the request.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tutelage.errors import InputError
from tutelage.service.campaigns.campaign import Pull, restored
from tutelage.service.campaigns.live import Live
from tutelage.service.campaigns.messages import Refused
from tutelage.service.campaigns.settings import RULES_VERSION
from tutelage.service.campaigns.trail import KeptTrail
from tutelage.stores.base import EntryRow, Head, Known, PullRow, Reader, Snapshot, Stored, pages
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
    stored: Stored,
    token: int,
    snapshot: Snapshot | None,
    rows: Iterable[PullRow | EntryRow],
    last_id: str = "",
) -> Live:
    """The campaign as its ledger tells it; ``rows`` are those behind the snapshot, or all.

    ``last_id`` is the greatest id among its stored pulls: whoever takes new ones has to tell it.

    Raises :class:`Disagreement`.
    """
    live = without_rows(stored, token, last_id)
    if snapshot is not None:
        _load(live, snapshot)
    repeat(live, rows)
    settle(live, stored.head)
    return live


def without_rows(stored: Stored, token: int = 0, last_id: str = "") -> Live:
    """The campaign without any row.  Raises :class:`Disagreement` if this release cannot serve it."""
    check_rules(stored)
    try:
        return Live(stored, token, last_id)
    except (InputError, msgspec.MsgspecError) as error:
        told = str(error).removesuffix(".")
        raise Disagreement(f"The settings of {stored.name} cannot be read: {told}.") from error


def check_rules(stored: Stored) -> None:
    """Raises :class:`Disagreement` for a campaign that began under rules which this release lacks."""
    if stored.rules_version != RULES_VERSION:
        raise Disagreement(
            f"{stored.name} began under rules {stored.rules_version}, which this release lacks."
        )


def as_committed(reader: Reader, stored: Stored, snapshot: Snapshot | None) -> Live:
    """The campaign as it was when ``stored`` was read.  Raises :class:`Disagreement`."""
    after = snapshot.position if snapshot else 0
    return rebuilt(stored, 0, snapshot, rows_between(reader, stored.name, after, stored.head.position))


def rows_between(reader: Reader, name: str, after: int, last: int) -> Iterator[PullRow | EntryRow]:
    """A campaign's rows behind a position, up to another: more may have been committed since."""
    return itertools.takewhile(lambda row: row.position <= last, pages(reader, name, after))


def repeat(live: Live, rows: Iterable[PullRow | EntryRow]) -> None:
    """Let a campaign go through the rows that come next in its ledger, whole steps of them.

    Raises :class:`Disagreement`.
    """
    step: list[PullRow] = []
    for row in rows:
        last = live.position - len(live.new_entries) + len(step)
        if row.position != last + 1:
            raise Disagreement(f"In the ledger of {live.name} position {row.position} follows {last}.")
        if step and not (isinstance(row, PullRow) and row.step == step[0].step):
            _repeat_step(live, step)
            step = []
        if isinstance(row, PullRow):
            if live.new_entries:
                raise _disagreement(live, row, live.new_entries[0])
            step.append(row)
        else:
            _repeat_entry(live, row)
    if step:
        _repeat_step(live, step)


def settle(live: Live, head: Head) -> None:
    """Compare where the rows have led to with what is stored of it.  Raises :class:`Disagreement`."""
    live.note_state()
    for what in ("position", "step", "status", "state", "digest"):
        found, kept = getattr(live.head, what), getattr(head, what)
        if found != kept and (head.position or what != "digest"):
            raise Disagreement(
                f"The head of {live.name} has the {what} {_short(kept)}; its ledger leads to {_short(found)}."
            )
    live.begin_draft()


def _load(live: Live, snapshot: Snapshot) -> None:
    try:
        clients, status, step, digest, content, trail = msgspec.msgpack.decode(
            snapshot.content, type=tuple[list[str], str, int, bytes, bytes, KeptTrail]
        )
        for client in clients[len(live.clients) :]:
            live.roster.admit(client)
        live.campaign = restored(live.settings.setup(live.clients), content)
        live.trail.load(trail)
    except (msgspec.MsgspecError, ValueError, InputError) as error:
        raise Disagreement(f"The snapshot of {live.name} cannot be read: {error}.") from error
    live.position = live.snapshot_position = snapshot.position
    live.status, live.step, live.digest = status, step, digest
    live.state = encode_state(live.begun.state)


def _repeat_step(live: Live, rows: Sequence[PullRow]) -> None:
    settings = live.settings
    for row in rows:
        is_one = 0 <= row.client < len(live.clients) and 0 <= row.arm < len(settings.arms)
        if not (is_one and settings.low <= row.observed <= settings.high):
            raise Disagreement(f"Position {row.position} of {live.name} holds no pull of it: {row}.")
    pulls = [Pull(row.client, row.arm, row.observed, row.bypassed) for row in rows]
    try:
        made = live.advance(pulls, [row.id for row in rows], rows[0].time, [row.index for row in rows])
    except Refused as error:
        raise Disagreement(f"Position {rows[0].position} of {live.name}: {error}") from error
    live.new_pulls.clear()
    live.remembered.forget_oldest()
    for row, expected in zip(rows, made, strict=True):
        if row != expected:
            raise _disagreement(live, row, expected)


def _repeat_entry(live: Live, row: EntryRow) -> None:
    if not live.new_entries:
        try:
            _act(live, row)
        except (Refused, msgspec.MsgspecError, TypeError, LookupError) as error:
            raise Disagreement(f"Position {row.position} of {live.name} cannot be: {error}") from error
    expected = live.new_entries.pop(0) if live.new_entries else None
    if row != expected:
        raise _disagreement(live, row, expected)


def _act(live: Live, row: EntryRow) -> None:
    """Do what an entry says was done."""
    if row.kind == "enrolled":
        live.enrol(msgspec.json.decode(row.content, type=_Client).client, row.time)
    elif row.kind == "retired":
        live.retire(msgspec.json.decode(row.content, type=_Client).client, row.time)
    elif row.kind == "bypassed":
        pull = PullRow(**msgspec.json.decode(row.content, type=_Bypassed).pull)  # type: ignore[arg-type]
        live.bypass(Known(pull, corrected=False), row.time)
    elif row.kind == "started":
        live.start(row.time)
    elif row.kind == "stopped":
        live.stop(row.time)
    elif row.kind == "exported":
        live.exported(row.position - 1, row.time)


def _disagreement(live: Live, row: PullRow | EntryRow, expected: PullRow | EntryRow | None) -> Disagreement:
    place = f"Position {row.position} of {live.name}"
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
