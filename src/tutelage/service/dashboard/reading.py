"""Figures from the ledger alone: of a past that is asked for, and what was before this server led."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Protocol, TypeVar

from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.rebuilding import Disagreement, repeat, without_rows
from tutelage.service.campaigns.session import Session
from tutelage.service.monitoring.event_log import EventLog, with_pulls
from tutelage.service.monitoring.figures import Figures, Sample, Server, sample, take
from tutelage.service.monitoring.history import History, from_ledger, pulls_since
from tutelage.stores.base import EntryRow, PullRow, Reader, pages

SEEDED_ROWS = 20_000  # of the ledger, for what was before anybody looked
MOST_REPEATED = 1_000_000  # positions that a page of the past goes through
_PAGE = 5_000
Found = TypeVar("Found")


class Reading(Protocol):
    """Runs a function with a reader of the store, in a thread of its own."""

    def read(self, look: Callable[[Reader], Found]) -> Awaitable[Found]: ...


def seeded(reader: Reader, name: str, taken: Sample, width: float, now: float) -> History:
    """The history that the ledger's end tells, up to the sample's position.

    Without a pull it begins with the last start, and without that now.
    """
    rows = list(pages(reader, name, max(0, taken.position - SEEDED_ROWS)))
    begun = [row.time / 1e6 for row in rows if isinstance(row, EntryRow) and row.kind == "started"]
    return from_ledger(taken, rows, width) or History(begun[-1] if begun else now, taken)


def take_entries(reader: Reader, name: str, event_log: EventLog, last: int | None = None) -> None:
    """Let a story go on with the ledger's entries, up to a position or to the end."""
    while entries := reader.entries(name, event_log.position, _PAGE):
        event_log.take(entry for entry in entries if last is None or entry.position <= last)
        if last is not None and entries[-1].position > last:
            return


def past_figures(reader: Reader, name: str, round: int, server: Server) -> Figures:
    """A campaign up to the first pull that some client makes in a round; all of it if none does.

    Raises :class:`Refusal` for a ledger that would take too long, or that cannot be served.
    """
    stored, _ = reader.load(name)
    if stored.head.position > MOST_REPEATED:
        raise Refusal(
            "invalid",
            f"The ledger of {name} has {stored.head.position:,} positions, too many for a page of its past: "
            "export it instead.",
        )
    last = [0.0]
    try:
        session = without_rows(stored)
        repeat(session, _until(pages(reader, name), round, last))
    except Disagreement as error:
        raise Refusal("unavailable", str(error)) from error
    if session.campaign is not None and session.status == "registering":
        session.status = "running"
    event_log, now = EventLog(session.settings.arms), last[0] or stored.created / 1e6
    take_entries(reader, name, event_log, session.position)
    figures = told(session, begun(reader, session, now), event_log, server, now)
    return replace(figures, at=min(round, max(figures.taken.round, 1)))


def begun(reader: Reader, session: Session, now: float) -> History:
    """The history of a campaign that was made from its ledger."""
    counters, settings = sample(session), session.settings
    return seeded(reader, session.name, counters, settings.high - settings.low, now)


def told(session: Session, history: History, event_log: EventLog, server: Server, now: float) -> Figures:
    """The figures of a campaign that was made from its ledger."""
    taken, heard = take(session), event_log.told()
    if heard.settled is not None:
        heard = with_pulls(heard, pulls_since(taken, heard.settled.time))
    return Figures(taken, history.recent(now, taken, heard.resumed), heard, server, now, now)


def _until(rows: Iterable[PullRow | EntryRow], round: int, last: list[float]) -> Iterable[PullRow | EntryRow]:
    """The rows up to the end of the step in which a client makes its pull number ``round``."""
    made: dict[int, int] = {}
    step = None
    for row in rows:
        if step is not None and row.step != step:
            return
        last[0] = row.time / 1e6
        if isinstance(row, PullRow):
            made[row.client] = made.get(row.client, 0) + 1
            if made[row.client] >= round:
                step = row.step
        yield row
