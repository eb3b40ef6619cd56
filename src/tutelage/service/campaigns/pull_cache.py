"""The newest pulls in memory, for replays; only older ones must be looked up in the store."""

from collections.abc import Iterable, Mapping, Sequence

from tutelage.stores.base import PullRow, StoredPull

MIN_CACHED = 100_000


class PullCache:
    """The newest ``MIN_CACHED`` pulls by id, and up to as many older ones.

    ``forgotten`` is not less, byte by byte, than the id of any stored pull that is not in the cache ("" if
    all are): a greater id that is not in the cache is new, without a query of the store.  Ids that increase
    over time are seldom less.
    """

    def __init__(self, forgotten: str = "") -> None:
        self.forgotten = forgotten
        self._newer: dict[str, PullRow] = {}
        self._older: dict[str, PullRow] = {}
        self._corrected: set[str] = set()  # ids of pulls whose adjustment was taken back

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)

    def get(self, id: str) -> StoredPull | None:
        """Return a pull, if it is in the cache."""
        row = self._newer.get(id) or self._older.get(id)
        return None if row is None else StoredPull(row, id in self._corrected)

    def has_any(self, ids: Sequence[str]) -> bool:
        """Whether one of these ids is in the cache."""
        return not (self._newer.keys().isdisjoint(ids) and self._older.keys().isdisjoint(ids))

    def find_uncertain(self, ids: Iterable[str]) -> list[str]:
        """Return the ids that may be in the store and are not in the cache."""
        forgotten, newer, older = self.forgotten, self._newer, self._older
        return [id for id in ids if id <= forgotten and id not in newer and id not in older]

    def add(self, rows: Mapping[str, PullRow]) -> None:
        """Add new pulls."""
        self._newer.update(rows)

    def correct(self, row: PullRow) -> None:
        """Add a pull whose adjustment was taken back."""
        self._newer[row.id] = row
        self._corrected.add(row.id)

    def drop_oldest(self) -> None:
        """Drop the older pulls once there are enough newer ones."""
        if len(self._newer) >= MIN_CACHED:
            self.forgotten = max(self.forgotten, max(self._older, default=""))
            self._corrected &= self._newer.keys()
            self._older, self._newer = self._newer, {}

    def clear(self) -> None:
        """Drop all pulls; the store has them."""
        self.forgotten = max(self.forgotten, max(self._older, default=""), max(self._newer, default=""))
        self._corrected.clear()
        self._older, self._newer = {}, {}
