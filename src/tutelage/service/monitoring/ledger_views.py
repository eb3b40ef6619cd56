"""Views made from the ledger only: of the past, and of campaigns that this server does not lead."""

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.rebuilding import Disagreement, make_session, replay_rows
from tutelage.service.campaigns.session import Session
from tutelage.service.monitoring.activity import (
    ENOUGH_PULLS,
    WINDOW_SECONDS,
    ActivityHistory,
    count_pulls_since,
    read_history,
)
from tutelage.service.monitoring.campaign_view import (
    CampaignView,
    CounterSample,
    Metrics,
    ServerHealth,
    read_metrics,
    sample_counters,
)
from tutelage.service.monitoring.event_log import EventLog
from tutelage.stores.base import EntryRow, PullRow, Reader, entries_after, pages

HISTORY_ROWS = 20_000  # of the ledger, for the activity before the first request
HISTORY_PAGE = 1_000  # rows that are read at first; twice as many with each further page
MAX_REPLAYED_ROWS = 1_000_000  # of a ledger whose past can be shown


def load_history(reader: Reader, name: str, counters: CounterSample, width: float, now: float) -> ActivityHistory:
    """Read the recent activity from the ledger's end, up to the sample's position.

    Without a pull the history starts at the campaign's last start, and without that now.
    """
    rows = _read_recent(reader, name, counters, now)
    starts = [row.time / 1e6 for row in rows if isinstance(row, EntryRow) and row.kind == "started"]
    return read_history(counters, rows, width) or ActivityHistory(starts[-1] if starts else now, counters)


def _read_recent(reader: Reader, name: str, counters: CounterSample, now: float) -> list[PullRow | EntryRow]:
    """Read the ledger's last rows: back to a time before the window, and to enough pulls of every client."""
    rows: list[PullRow | EntryRow] = []
    first, size, num_pulls = counters.position, HISTORY_PAGE, Counter[int]()
    while first > 0 and len(rows) < HISTORY_ROWS:
        last, first = first, max(0, first - size)
        page = reader.read(name, first, last - first)
        rows[:0] = page
        num_pulls.update(row.client for row in page if isinstance(row, PullRow))
        is_known = all(num_pulls[client] > ENOUGH_PULLS for client in range(len(counters.pulls)))
        if is_known and rows[0].time / 1e6 <= now - WINDOW_SECONDS:
            break
        size = min(2 * size, HISTORY_ROWS - len(rows))
    return rows


def read_entries(reader: Reader, name: str, event_log: EventLog, last: int | None = None) -> None:
    """Let an event log read the ledger's next entries, up to a position or to the end."""
    entries = entries_after(reader, name, event_log.position)
    event_log.read(itertools.takewhile(lambda entry: last is None or entry.position <= last, entries))


def view_at_round(reader: Reader, name: str, round: int, server: ServerHealth) -> CampaignView:
    """The campaign up to the first pull that any client makes in a round, or at its end.

    Raises :class:`Refusal` for a ledger that is too long or cannot be served.
    """
    stored, _ = reader.load(name)
    if stored.head.position > MAX_REPLAYED_ROWS:
        raise Refusal(
            "invalid",
            f"The ledger of {name} has {stored.head.position:,} rows; pages of the past are limited to "
            f"{MAX_REPLAYED_ROWS:,}: export the campaign instead.",
        )
    last = [0.0]
    try:
        session = make_session(stored)
        replay_rows(session, _until_round(pages(reader, name), round, last))
    except Disagreement as error:
        raise Refusal("unavailable", str(error)) from error
    if session.campaign is not None and session.status == "registering":
        session.status = "running"
    event_log, now = EventLog(session.settings.arms), last[0] or stored.created / 1e6
    read_entries(reader, name, event_log, session.position)
    view = build_view(read_metrics(session), start_history(reader, session, now), event_log, server, now)
    return replace(view, at_round=min(round, max(view.metrics.round, 1)))


def start_history(reader: Reader, session: Session, now: float) -> ActivityHistory:
    """The recent activity of a campaign that was rebuilt from its ledger."""
    counters, settings = sample_counters(session), session.settings
    return load_history(reader, session.name, counters, settings.high - settings.low, now)


def build_view(
    metrics: Metrics, history: ActivityHistory, event_log: EventLog, server: ServerHealth, now: float
) -> CampaignView:
    """The view of a campaign whose ledger ``event_log`` has read."""
    ledger = event_log.summarize()
    if ledger.decision is not None:
        ledger = ledger.add_pulls_since(count_pulls_since(metrics, ledger.decision.time))
    decided = None if ledger.decision is None else ledger.decision.time
    activity = history.summarize(now, metrics, ledger.resumed, decided)
    return CampaignView(metrics, activity, ledger, server, now, now)


def _until_round(rows: Iterable[PullRow | EntryRow], round: int, last: list[float]) -> Iterable[PullRow | EntryRow]:
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
