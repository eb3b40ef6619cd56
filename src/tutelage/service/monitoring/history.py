"""What a campaign has done of late: rates and silences, from counters taken every second.

The points of its charts are its own (:mod:`tutelage.service.campaigns.series`).

Shapes: M clients, K arms.
"""

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from tutelage.service.campaigns.series import Counts
from tutelage.service.monitoring.figures import Array, Recent, Sample, Taken
from tutelage.stores.base import EntryRow, PullRow

WINDOW, MINUTE = 300.0, 60.0
MARK_SECONDS = 15.0
ENOUGH_PULLS = 10  # from which a client's usual gap is judged


class History:
    """Counters of the last minutes; ``now`` is the time of the first, in seconds since 1970.

    A client is silent since then at most.
    """

    def __init__(self, now: float, first: Sample) -> None:
        num_clients = len(first.pulls)
        self._seen = np.full(num_clients, now)
        self._time, self._pulls = np.zeros(num_clients), np.zeros(num_clients)  # decayed, for the usual gap
        self._gaps: Counts = np.zeros(num_clients, dtype=np.int64)  # that it is judged from
        self._has_pulled = np.zeros(num_clients, dtype=np.bool_)  # since the first: no gap ends with that
        self._marks: deque[tuple[float, Sample]] = deque()
        self._last = first
        self._rounds: Counts = first.pulls.sum(axis=1)
        self._keep(now, first)

    def add(self, now: float, sample: Sample) -> None:
        """What the counters say now; replays and conflicts begin at 0 again when a campaign is loaded anew.

        A sample that was overtaken on its way here is left out.
        """
        if sample.pulls.shape != self._last.pulls.shape:
            self.__init__(now, sample)  # type: ignore[misc]  # clients have registered: nothing was pulled yet
            return
        if sample.position < self._last.position:
            return
        rounds: Counts = sample.pulls.sum(axis=1)
        grown = rounds - self._rounds
        pulled = grown > 0
        gap, again = np.maximum(now - self._seen, 0.0), pulled & self._has_pulled
        fading = np.exp(-gap[again] / WINDOW)
        self._time[again] = self._time[again] * fading + gap[again]
        self._pulls[again] = self._pulls[again] * fading + grown[again]
        self._gaps[again] += grown[again]
        self._seen[pulled], self._has_pulled[pulled] = now, True
        self._rounds = rounds
        self._keep(now, sample)

    def read(self, rows: Iterable[PullRow], last: Sample, width: float) -> None:
        """Go on with a ledger's next pulls; ``last`` is where they lead to, ``width`` is high - low."""
        before, time = self._last, None
        is_same = (
            before.pulls.shape == last.pulls.shape
        )  # else clients have registered: nothing was pulled yet
        pulls = before.pulls.copy() if is_same else np.zeros_like(last.pulls)
        cost, position = before.cost, before.position
        for row in rows:
            seconds = row.time / 1e6
            if time is None or seconds >= time + 1.0:
                if time is not None:
                    self.add(time, Sample(position, pulls.copy(), cost, last.replays, last.conflicts))
                time = seconds
            pulls[row.client, row.arm] += 1
            cost += abs(row.revealed - row.observed) / width
            position = row.position
        if time is not None:
            self.add(time, last)

    def _keep(self, now: float, sample: Sample) -> None:
        self._last = sample
        if not self._marks or now - self._marks[-1][0] >= MARK_SECONDS:
            self._marks.append((now, sample))
            while len(self._marks) > 1 and now - self._marks[1][0] >= WINDOW:
                self._marks.popleft()

    def recent(self, now: float, taken: Taken, resumed: float | None = None) -> Recent:
        """What is known as of now; ``taken`` has the points of the charts.

        ``resumed`` is when the campaign was started last: nobody is silent while it is stopped.
        """
        seen = self._seen if resumed is None else np.maximum(self._seen, resumed)
        times, costs, arm_pulls = _charted(taken, now)
        start, before = self._marks[0]
        minute_start, minute = next(
            ((time, old) for time, old in reversed(self._marks) if now - time >= MINUTE), (start, before)
        )
        last = self._last
        with np.errstate(invalid="ignore", divide="ignore"):
            usual_interval: Array = np.where(self._pulls > 0, self._time / self._pulls, np.nan)
        return Recent(
            silent=np.maximum(now - seen, 0.0),
            usual_interval=usual_interval,
            is_usual=self._gaps >= ENOUGH_PULLS,
            span=max(now - start, 0.0),
            window=last.pulls - before.pulls,
            replays=max(last.replays - before.replays, 0),
            conflicts=max(last.conflicts - before.conflicts, 0),
            minute_span=max(now - minute_start, 0.0),
            minute=last.pulls - minute.pulls,
            minute_cost=last.cost - minute.cost,
            times=times,
            costs=costs,
            arm_pulls=arm_pulls,
        )


def _charted(taken: Taken, now: float) -> tuple[Array, Array, Counts]:
    """Times, costs and pulls of the arms up to now, the last change among them: a silence is a flat line."""
    points, pulls = taken.series, taken.pulls.sum(axis=0)
    times = [point.time / 1e6 for point in points]
    ends = [taken.changed / 1e6, max(now, taken.changed / 1e6)] if points else [now]
    return (
        np.array(times + ends),
        np.array([point.cost for point in points] + [taken.cost] * len(ends)),
        np.array([point.pulls for point in points] + [pulls] * len(ends)),
    )


def pulls_since(taken: Taken, time: float) -> tuple[int, ...] | None:
    """The pulls of each arm [K] since the last point of the charts before a time; None if none is so old."""
    older = [point.pulls for point in taken.series if point.time <= time * 1e6]
    return tuple((taken.pulls.sum(axis=0) - older[-1]).tolist()) if older else None


def from_ledger(last: Sample, rows: Iterable[PullRow | EntryRow], width: float) -> History | None:
    """The history that the last rows of a ledger tell, up to the sample's position; None without a pull.

    ``width`` is high - low.  Corrections by bypass reports are left out: they move the cost, which ends where
    the sample says.
    """
    pulled: Sequence[PullRow] = [
        row for row in rows if isinstance(row, PullRow) and row.position <= last.position
    ]
    if not pulled:
        return None
    pulls = last.pulls.copy()
    np.subtract.at(pulls, ([row.client for row in pulled], [row.arm for row in pulled]), 1)
    cost = last.cost - sum(abs(row.revealed - row.observed) for row in pulled) / width
    first = Sample(pulled[0].position - 1, pulls, cost, last.replays, last.conflicts)
    history = History(pulled[0].time / 1e6, first)
    history.read(pulled, last, width)
    return history
