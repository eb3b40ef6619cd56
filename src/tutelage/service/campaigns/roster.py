"""Who takes part in a campaign: clients and arms by name and by number, and what pulls may tell of them."""

from collections.abc import Sequence

from tutelage.errors import InputError
from tutelage.service.campaigns.campaign import Pull
from tutelage.service.campaigns.messages import Fault, PullRequest, Refusal
from tutelage.service.campaigns.settings import (
    MOST_CELLS,
    MOST_CLIENTS,
    MOST_NAME,
    Settings,
    check_names,
    name_fault,
)
from tutelage.stores.base import PullRow
from tutelage.text import plain, quoted


class Roster:
    """The ``clients`` by number, those too that registered; arms and the range of rewards are the settings'."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clients = list(settings.clients)
        self._clients = {client: number for number, client in enumerate(self.clients)}
        self._arms = {arm: number for number, arm in enumerate(settings.arms)}

    def __contains__(self, client: str) -> bool:
        return client in self._clients

    def number(self, client: str) -> int:
        """A client's number."""
        if client not in self._clients:
            raise Refusal("invalid", f"The campaign {self.settings.name} has no client {client!r}.")
        return self._clients[client]

    def admit(self, client: str) -> None:
        """Add a client.  Raises ``InputError`` if its name is none, or there is no room."""
        most = min(MOST_CLIENTS, MOST_CELLS // len(self.settings.arms))
        if len(self.clients) == most:
            raise InputError(f"The campaign {self.settings.name} has {most} clients, and no room for more.")
        check_names("client", [client], 1)
        self._clients[client] = len(self.clients)
        self.clients.append(client)

    def check(self, pulls: Sequence[PullRequest]) -> None:
        """Raise ``Refusal`` with everything that is wrong with these pulls."""
        low, high = self.settings.low, self.settings.high
        if (
            _are_plain([pull.id for pull in pulls])
            and self._clients.keys() >= {pull.client for pull in pulls}
            and self._arms.keys() >= {pull.arm for pull in pulls}
            and all([low <= pull.reward <= high for pull in pulls])  # noqa: C419 - a list is quicker
        ):
            return
        faults: list[Fault] = []
        for index, pull in enumerate(pulls):
            if fault := name_fault(pull.id):
                faults.append(Fault(index, pull.id, "id", f"The id {fault}."))
            if pull.client not in self._clients:
                faults.append(Fault(index, pull.id, "client", f"There is no client {quoted(pull.client)}."))
            if pull.arm not in self._arms:
                faults.append(Fault(index, pull.id, "arm", f"There is no arm {quoted(pull.arm)}."))
            if not low <= pull.reward <= high:
                what = f"{pull.reward!r} lies outside [{plain(low)}, {plain(high)}]."
                faults.append(Fault(index, pull.id, "reward", what))
        if faults:
            one = "One thing is" if len(faults) == 1 else f"{len(faults)} things are"
            raise Refusal("invalid", f"{one} wrong with these pulls; none of them was taken.", tuple(faults))

    def numbered(self, pulls: Sequence[PullRequest]) -> list[Pull]:
        """Pulls that were checked, with numbers for names; -0.0 becomes 0.0."""
        clients, arms = self._clients, self._arms
        return [
            Pull(clients[sent.client], arms[sent.arm], sent.reward + 0.0, sent.bypassed) for sent in pulls
        ]

    def agrees(self, row: PullRow, pull: PullRequest) -> bool:
        """Whether a pull that was checked is the one that is stored."""
        told = (self._clients[pull.client], self._arms[pull.arm], pull.reward)
        return told == (row.client, row.arm, row.observed)


def _are_plain(ids: Sequence[str]) -> bool:
    """Whether nothing is wrong with these ids, seen in one look at all of them together."""
    together = "".join(ids)
    sizes = [len(id) for id in ids]
    return together.isascii() and together.isprintable() and min(sizes) >= 1 and max(sizes) <= MOST_NAME
