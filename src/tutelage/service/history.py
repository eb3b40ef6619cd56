"""A campaign over time: rates, silences and the charts' points, from counters taken every second.

Shapes: M clients, K arms.
"""

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from tutelage.service.figures import Array, Counts, Recent, Sample
from tutelage.stores.base import EntryRow, PullRow

MOST_POINTS = 2_000
MOST_NUMBERS = 2_000_000  # in all points together, for campaigns of very many arms
FINE_POINTS = 600  # the newest, which stay a second apart
WINDOW, MINUTE = 300.0, 60.0
MARK_SECONDS = 15.0


class History:
    """Counters over time, the older the coarser: at most ``MOST_POINTS`` of them.

    ``begin`` is the time of the first sample, in seconds since 1970; a client is silent since then at most.
    """

    def __init__(self, now: float, first: Sample) -> None:
        num_clients, num_arms = first.pulls.shape
        self._most = max(100, min(MOST_POINTS, MOST_NUMBERS // num_arms))
        self._seen = np.full(num_clients, now)
        self._time, self._pulls = np.zeros(num_clients), np.zeros(num_clients)  # decayed, for the usual gap
        self._marks: deque[tuple[float, Sample]] = deque()
        self._points: list[tuple[float, float, Counts]] = []
        self._last = first
        self._rounds: Counts = first.pulls.sum(axis=1)
        self._keep(now, first)

    def add(self, now: float, sample: Sample) -> None:
        """What the counters say now; replays and conflicts begin at 0 again when a campaign is loaded anew.

        A sample that was overtaken on its way here is left out.
        """
        if sample.pulls.shape != self._last.pulls.shape:
            self.__init__(now, sample)  # type: ignore[misc]  # clients have enrolled: nothing was pulled yet
            return
        if sample.position < self._last.position:
            return
        rounds: Counts = sample.pulls.sum(axis=1)
        grown = rounds - self._rounds
        pulled = grown > 0
        gap = np.maximum(now - self._seen, 0.0)
        fading = np.exp(-gap[pulled] / WINDOW)
        self._time[pulled] = self._time[pulled] * fading + gap[pulled]
        self._pulls[pulled] = self._pulls[pulled] * fading + grown[pulled]
        self._seen[pulled] = now
        self._rounds = rounds
        self._keep(now, sample)

    def _keep(self, now: float, sample: Sample) -> None:
        self._last = sample
        if not self._marks or now - self._marks[-1][0] >= MARK_SECONDS:
            self._marks.append((now, sample))
            while len(self._marks) > 1 and now - self._marks[1][0] >= WINDOW:
                self._marks.popleft()
        self._points.append((now, sample.cost, sample.pulls.sum(axis=0)))
        if len(self._points) > self._most:
            fine = min(FINE_POINTS, self._most // 2)
            self._points = self._points[:-fine:2] + self._points[-fine:]

    def pulls_since(self, time: float) -> tuple[int, ...] | None:
        """The pulls of each arm [K] since the last point before a time; None if none is so old."""
        older = [pulls for when, _, pulls in self._points if when <= time]
        return tuple((self._points[-1][2] - older[-1]).tolist()) if older else None

    def recent(self, now: float) -> Recent:
        """What is known as of now."""
        start, before = self._marks[0]
        minute_start, minute = next(
            ((time, old) for time, old in reversed(self._marks) if now - time >= MINUTE), (start, before)
        )
        last = self._last
        with np.errstate(invalid="ignore", divide="ignore"):
            usual_gap: Array = np.where(self._pulls > 0, self._time / self._pulls, np.nan)
        return Recent(
            silent=np.maximum(now - self._seen, 0.0),
            usual_gap=usual_gap,
            span=max(now - start, 0.0),
            window=last.pulls - before.pulls,
            replays=max(last.replays - before.replays, 0),
            conflicts=max(last.conflicts - before.conflicts, 0),
            minute_span=max(now - minute_start, 0.0),
            minute=last.pulls - minute.pulls,
            minute_cost=last.cost - minute.cost,
            times=np.array([time for time, _, _ in self._points]),
            costs=np.array([cost for _, cost, _ in self._points]),
            arm_pulls=np.array([pulls for _, _, pulls in self._points]),
        )


def from_ledger(last: Sample, rows: Iterable[PullRow | EntryRow], width: float) -> History | None:
    """The history that the last rows of a ledger tell, up to the sample's position; None without a pull.

    ``width`` is high - low.  Corrections by bypass reports are left out: they move the line of the cost,
    which ends where the sample says.
    """
    pulled: Sequence[PullRow] = [
        row for row in rows if isinstance(row, PullRow) and row.position <= last.position
    ]
    if not pulled:
        return None
    pulls = last.pulls.copy()
    np.subtract.at(pulls, ([row.client for row in pulled], [row.arm for row in pulled]), 1)
    cost = last.cost - sum(abs(row.revealed - row.observed) for row in pulled) / width
    position, time = pulled[0].position - 1, pulled[0].time / 1e6
    history = History(time, Sample(position, pulls.copy(), cost, last.replays, last.conflicts))
    for row in pulled:
        if row.time / 1e6 >= time + 1.0:
            history.add(time, Sample(position, pulls.copy(), cost, last.replays, last.conflicts))
            time = row.time / 1e6
        pulls[row.client, row.arm] += 1
        cost += abs(row.revealed - row.observed) / width
        position = row.position
    history.add(time, last)
    return history
