"""What a campaign's clients did in the last minutes: rates and silences, from counters sampled every second.

The points of the charts belong to the campaign (:mod:`tutelage.service.campaigns.series`).

Shapes: M clients, K arms.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from tutelage.service.campaigns.series import Counts
from tutelage.service.monitoring.campaign_view import Array, ChartPoints, CounterSample, Metrics, RecentActivity
from tutelage.stores.base import EntryRow, PullRow

WINDOW_SECONDS, MINUTE = 300.0, 60.0
MARK_SECONDS = 15.0
ENOUGH_PULLS = 10  # after which a client's usual interval is known


class ActivityHistory:
    """Counters of the last minutes; ``now`` is the time of the first, in seconds since 1970.

    No client is silent for longer than since then.
    """

    def __init__(self, now: float, first: CounterSample) -> None:
        num_clients = len(first.pulls)
        self._seen = np.full(num_clients, now)
        self._time, self._pulls = (np.zeros(num_clients), np.zeros(num_clients))  # decayed, for the usual interval
        self._intervals: Counts = np.zeros(num_clients, dtype=np.int64)  # behind the usual one
        self._has_pulled = np.zeros(num_clients, dtype=np.bool_)  # since the first sample
        self._marks: deque[tuple[float, CounterSample]] = deque()
        self._last, self._last_time = first, now
        self._rounds: Counts = first.pulls.sum(axis=1)
        self._mark(now, first)

    def add(self, now: float, sample: CounterSample) -> None:
        """Add a sample; replays and conflicts restart at 0 when a campaign is loaded again.

        A sample older than the last one is ignored.
        """
        if sample.pulls.shape != self._last.pulls.shape:
            self.__init__(now, sample)  # type: ignore[misc]  # clients registered: no pulls yet
            return
        if sample.position < self._last.position:
            return
        rounds: Counts = sample.pulls.sum(axis=1)
        grown = rounds - self._rounds
        pulled = grown > 0
        interval, again = np.maximum(now - self._seen, 0.0), pulled & self._has_pulled
        fading = np.exp(-interval[again] / WINDOW_SECONDS)
        self._time[again] = self._time[again] * fading + interval[again]
        self._pulls[again] = self._pulls[again] * fading + grown[again]
        self._intervals[again] += grown[again]
        self._seen[pulled], self._has_pulled[pulled] = now, True
        self._rounds = rounds
        self._mark(now, sample)

    def read(self, rows: Iterable[PullRow], last: CounterSample, width: float) -> None:
        """Add the ledger's next pulls; ``last`` are the counters after them, ``width`` is high - low."""
        before, time = self._last, None
        is_same = before.pulls.shape == last.pulls.shape  # otherwise clients registered: no pulls yet
        pulls = before.pulls.copy() if is_same else np.zeros_like(last.pulls)
        cost, position = before.cost, before.position
        for row in rows:
            seconds = row.time / 1e6
            if time is None or seconds >= time + 1.0:
                if time is not None:
                    self.add(time, CounterSample(position, pulls.copy(), cost, before.replays, before.conflicts))
                time = seconds
            pulls[row.client, row.arm] += 1
            cost += abs(row.revealed - row.observed) / width
            position = row.position
        if time is not None:
            self.add(time, last)

    def _mark(self, now: float, sample: CounterSample) -> None:
        gap = np.arange(self._marks[-1][0] + MARK_SECONDS if self._marks else now, now, MARK_SECONDS)
        self._marks.extend((float(time), self._last) for time in gap[-int(WINDOW_SECONDS // MARK_SECONDS) - 1 :])
        self._last, self._last_time = sample, now
        if not self._marks or now - self._marks[-1][0] >= MARK_SECONDS:
            self._marks.append((now, sample))
            while len(self._marks) > 1 and now - self._marks[1][0] >= WINDOW_SECONDS:
                self._marks.popleft()

    def _counters_before(self, time: float) -> tuple[float, CounterSample]:
        """The latest known counters up to a time, or the first; they do not change after the last sample."""
        if self._last_time <= time:
            return time, self._last
        return next((mark for mark in reversed(self._marks) if mark[0] <= time), self._marks[0])

    def _counters_after(self, time: float, now: float) -> tuple[float, CounterSample]:
        """The first known counters at or after a time; the last sample if none are."""
        return next((mark for mark in self._marks if mark[0] >= time), (now, self._last))

    def summarize(
        self, now: float, metrics: Metrics, resumed: float | None = None, decided: float | None = None
    ) -> RecentActivity:
        """Return the activity up to ``now``; ``metrics`` has the points of the charts.

        ``resumed`` is when the campaign was last started: no client is silent while it is stopped.
        ``decided`` is when the teacher decided.
        """
        seen = self._seen if resumed is None else np.maximum(self._seen, resumed)
        start, before = self._counters_before(now - WINDOW_SECONDS)
        minute_start, minute = taught_start, taught = self._counters_before(now - MINUTE)
        if decided is not None and decided > minute_start:
            taught_start, taught = self._counters_after(decided, now)
        last = self._last
        with np.errstate(invalid="ignore", divide="ignore"):
            usual_interval: Array = np.where(self._pulls > 0, self._time / self._pulls, np.nan)
        return RecentActivity(
            silence=np.maximum(now - seen, 0.0),
            usual_interval=usual_interval,
            is_interval_known=self._intervals >= ENOUGH_PULLS,
            window_seconds=max(now - start, 0.0),
            window_pulls=last.pulls - before.pulls,
            replays=max(last.replays - before.replays, 0),
            conflicts=max(last.conflicts - before.conflicts, 0),
            minute_seconds=max(now - minute_start, 0.0),
            minute_pulls=last.pulls - minute.pulls,
            minute_cost=last.cost - minute.cost,
            taught_seconds=max(now - taught_start, 0.0),
            taught_pulls=last.pulls - taught.pulls,
            make_points=partial(_make_points, metrics, now),
        )


def _make_points(metrics: Metrics, now: float) -> ChartPoints:
    """Return the points of the charts with the last change and now, so that a silence is a flat line."""
    times, costs, pulls = metrics.series
    ends = [metrics.changed / 1e6, max(now, metrics.changed / 1e6)] if len(times) else [now]
    return ChartPoints(
        np.append(times / 1e6, ends),
        np.append(costs, [metrics.cost] * len(ends)),
        np.concatenate((pulls.reshape(-1, metrics.pulls.shape[1]), [metrics.pulls.sum(axis=0)] * len(ends))),
    )


def count_pulls_since(metrics: Metrics, time: float) -> tuple[int, ...] | None:
    """The pulls of each arm [K] since the last point of the charts before ``time``; None without one."""
    older = int(np.searchsorted(metrics.series.times, time * 1e6, side="right"))
    return tuple((metrics.pulls.sum(axis=0) - metrics.series.pulls[older - 1]).tolist()) if older else None


def read_history(last: CounterSample, rows: Iterable[PullRow | EntryRow], width: float) -> ActivityHistory | None:
    """Reconstruct the history from the last rows of a ledger, up to the sample; None without a pull.

    ``width`` is high - low.  Corrections of the cost by bypass reports are ignored, since the cost at the end
    is the sample's.
    """
    pulled: Sequence[PullRow] = [row for row in rows if isinstance(row, PullRow) and row.position <= last.position]
    if not pulled:
        return None
    pulls = last.pulls.copy()
    np.subtract.at(pulls, ([row.client for row in pulled], [row.arm for row in pulled]), 1)
    cost = last.cost - sum(abs(row.revealed - row.observed) for row in pulled) / width
    first = CounterSample(pulled[0].position - 1, pulls, cost, 0, 0)  # both count since this server leads
    history = ActivityHistory(pulled[0].time / 1e6, first)
    history.read(pulled, last, width)
    return history
