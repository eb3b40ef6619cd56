"""The answers of the newest pulls, kept in memory for replays; of older ones the store has to be asked."""

from collections.abc import Iterable, Mapping, Sequence

from tutelage.stores.base import PullRow, StoredPull

REMEMBERED = 100_000  # the newest pulls, at the least


class PullCache:
    """The newest ``REMEMBERED`` pulls by id, and at most as many again.

    ``forgotten`` is no smaller than the id of any stored pull that is missing here, byte by byte ("" if none
    is): what is greater and not remembered is new, without a look into the store.  Ids that are ordered in
    time seldom lie below it.
    """

    def __init__(self, forgotten: str = "") -> None:
        self.forgotten = forgotten
        self._young: dict[str, PullRow] = {}
        self._old: dict[str, PullRow] = {}
        self._corrected: set[str] = set()  # ids of those whose adjustment was taken back

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, id: str) -> StoredPull | None:
        """A pull that is remembered."""
        row = self._young.get(id) or self._old.get(id)
        return None if row is None else StoredPull(row, id in self._corrected)

    def knows_any(self, ids: Sequence[str]) -> bool:
        """Whether one of these is remembered."""
        return not (self._young.keys().isdisjoint(ids) and self._old.keys().isdisjoint(ids))

    def perhaps_stored(self, ids: Iterable[str]) -> list[str]:
        """Those of which only the store can tell whether they are known."""
        forgotten, young, old = self.forgotten, self._young, self._old
        return [id for id in ids if id <= forgotten and id not in young and id not in old]

    def add(self, rows: Mapping[str, PullRow]) -> None:
        """Remember new pulls."""
        self._young.update(rows)

    def correct(self, row: PullRow) -> None:
        """Remember a pull whose adjustment was taken back."""
        self._young[row.id] = row
        self._corrected.add(row.id)

    def forget_oldest(self) -> None:
        """Leave the oldest to the store, once there are enough younger ones."""
        if len(self._young) >= REMEMBERED:
            self.forgotten = max(self.forgotten, max(self._old, default=""))
            self._corrected &= self._young.keys()
            self._old, self._young = self._young, {}
