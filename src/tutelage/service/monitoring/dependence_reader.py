"""Reads the pulls of a ledger for the test for dependence between clients (docs/dependence.md)."""

from tutelage.dependence_test import DependenceFinding, DependenceTest, PullRounds
from tutelage.service.campaigns.campaign import RewardScale
from tutelage.service.campaigns.settings import Settings, decode_settings, parse_teacher
from tutelage.stores.base import PullRow, Reader, entries_after
from tutelage.teachers.dependence import groups_of

MOST_ROWS = 5_000  # read at once, once a second
FAR_BEHIND = 50_000  # rows; a reader that is further behind goes on at the ledger's end


class DependenceReader:
    """Tests the pulls of a campaign in the order of its ledger; ``position`` is that of the last row read.

    Clients whose dependence the teacher allows are not compared: of each of its groups only the first client is.
    """

    def __init__(self, settings: Settings, num_clients: int) -> None:
        groups = groups_of(parse_teacher(settings.teacher, settings.arms).dependence, num_clients)
        self._places = {groups.index(group): place for place, group in enumerate(dict.fromkeys(groups))}
        self._scale = RewardScale(settings.low, settings.high)
        self._rounds = PullRounds(DependenceTest(len(self._places), len(settings.arms)), len(self._places))
        self.position = 0
        self.finding: DependenceFinding | None = None

    @property
    def num_compared(self) -> int:
        """The number of clients that are compared."""
        return len(self._places)

    def read(self, reader: Reader, name: str, last: int) -> DependenceFinding | None:
        """Read the ledger's next rows if there are any up to position ``last``; return what was found, else None."""
        rows = reader.read(name, self.position, MOST_ROWS) if last > self.position else []
        if not rows:
            return None
        for row in rows:
            self.position = row.position
            if isinstance(row, PullRow) and row.client in self._places:
                self._rounds.add(self._places[row.client], row.arm, self._scale.to_unit(row.observed))
        return self._rounds.test_finished()

    def catch_up(self, reader: Reader, name: str, last: int) -> None:
        """Read next rows, without those far behind position ``last``: the server is never busy with them for long."""
        if last - self.position > FAR_BEHIND:
            self.position = last - MOST_ROWS
        self.finding = self.read(reader, name, last) or self.finding


def find_dependence_in_ledger(reader: Reader, name: str) -> tuple[int, DependenceFinding]:
    """Return the number of clients that are compared, and what the test finds in a campaign's whole ledger."""
    stored, _ = reader.load(name)
    settings = decode_settings(stored.settings)
    registered = sum(entry.kind == "registered" for entry in entries_after(reader, name))
    dependence = DependenceReader(settings, len(settings.clients) + registered)
    while (found := dependence.read(reader, name, stored.head.position)) is not None:
        dependence.finding = found
    return dependence.num_compared, dependence.finding or DependenceTest(1, 1).finding()
