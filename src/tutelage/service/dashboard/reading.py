"""Figures from the ledger alone: of a past that is asked for, and what was before this server led."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Protocol, TypeVar

from tutelage.service.campaigns.live import Live
from tutelage.service.campaigns.messages import Refused
from tutelage.service.campaigns.rebuilding import Disagreement, repeat, without_rows
from tutelage.service.watching.figures import Figures, Sample, Server, sample, take
from tutelage.service.watching.history import History, from_ledger, pulls_since
from tutelage.service.watching.story import Story, with_pulls
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


def take_entries(reader: Reader, name: str, story: Story, last: int | None = None) -> None:
    """Let a story go on with the ledger's entries, up to a position or to the end."""
    while entries := reader.entries(name, story.position, _PAGE):
        story.take(entry for entry in entries if last is None or entry.position <= last)
        if last is not None and entries[-1].position > last:
            return


def past_figures(reader: Reader, name: str, round: int, server: Server) -> Figures:
    """A campaign up to the first pull that some client makes in a round; all of it if none does.

    Raises :class:`Refused` for a ledger that would take too long, or that cannot be served.
    """
    stored, _ = reader.load(name)
    if stored.head.position > MOST_REPEATED:
        raise Refused(
            "invalid",
            f"The ledger of {name} has {stored.head.position:,} positions, too many for a page of its past: "
            "export it instead.",
        )
    last = [0.0]
    try:
        live = without_rows(stored)
        repeat(live, _until(pages(reader, name), round, last))
    except Disagreement as error:
        raise Refused("unavailable", str(error)) from error
    if live.campaign is not None and live.status == "enrolling":
        live.status = "running"
    story, now = Story(live.settings.arms), last[0] or stored.created / 1e6
    take_entries(reader, name, story, live.position)
    figures = told(live, begun(reader, live, now), story, server, now)
    return replace(figures, at=min(round, max(figures.taken.round, 1)))


def begun(reader: Reader, live: Live, now: float) -> History:
    """The history of a campaign that was made from its ledger."""
    counters, settings = sample(live), live.settings
    return seeded(reader, live.name, counters, settings.high - settings.low, now)


def told(live: Live, history: History, story: Story, server: Server, now: float) -> Figures:
    """The figures of a campaign that was made from its ledger."""
    taken, heard = take(live), story.told()
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
