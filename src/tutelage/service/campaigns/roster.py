"""Names of clients and arms and their numbers in a campaign, and the check of pulls against them."""

from collections.abc import Sequence

from tutelage.errors import InputError
from tutelage.service.campaigns.messages import Fault, PullRequest, Refusal
from tutelage.service.campaigns.settings import MOST_CELLS, MOST_CLIENTS, MOST_NAME, Settings, check_names, name_fault
from tutelage.stores.base import PullRow
from tutelage.text import format_exact, quote


class Roster:
    """The clients by number, including those that registered; arms and reward range are the settings'."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.clients = list(settings.clients)
        self._clients = {client: number for number, client in enumerate(self.clients)}
        self._arms = {arm: number for number, arm in enumerate(settings.arms)}

    def __contains__(self, client: str) -> bool:
        return client in self._clients

    def number(self, client: str) -> int:
        """Return a client's number."""
        if client not in self._clients:
            raise Refusal("invalid", f"Unknown client {client!r} in the campaign {self.settings.name}.")
        return self._clients[client]

    def admit(self, client: str) -> None:
        """Add a client.  Raises ``InputError`` for an invalid name, or if the campaign is full."""
        most = min(MOST_CLIENTS, MOST_CELLS // len(self.settings.arms))
        if len(self.clients) == most:
            raise InputError(
                f"The campaign {self.settings.name} is full: it has {most} clients, the most that it can have."
            )
        check_names("client", [client], 1)
        self._clients[client] = len(self.clients)
        self.clients.append(client)

    def check(self, pulls: Sequence[PullRequest]) -> None:
        """Raise ``Refusal`` with all faults of these pulls."""
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
                faults.append(Fault(index, pull.id, "client", f"Unknown client {quote(pull.client)}."))
            if pull.arm not in self._arms:
                faults.append(Fault(index, pull.id, "arm", f"Unknown arm {quote(pull.arm)}."))
            if not low <= pull.reward <= high:
                what = f"The reward {pull.reward!r} is outside [{format_exact(low)}, {format_exact(high)}]."
                faults.append(Fault(index, pull.id, "reward", what))
        if faults:
            number = "one fault" if len(faults) == 1 else f"{len(faults)} faults"
            raise Refusal("invalid", f"The pulls have {number}; none of them was stored.", tuple(faults))

    def to_numbers(self, pulls: Sequence[PullRequest]) -> tuple[list[int], list[int]]:
        """Return the numbers of the clients and of the arms of checked pulls."""
        clients, arms = self._clients, self._arms
        return [clients[pull.client] for pull in pulls], [arms[pull.arm] for pull in pulls]

    def matches(self, row: PullRow, pull: PullRequest) -> bool:
        """Whether a checked pull has the content of a stored one."""
        sent = (self._clients[pull.client], self._arms[pull.arm], pull.reward)
        return sent == (row.client, row.arm, row.observed)


def _are_plain(ids: Sequence[str]) -> bool:
    """Whether all ids are printable ASCII of valid length, checked together for speed."""
    together = "".join(ids)
    sizes = [len(id) for id in ids]
    return together.isascii() and together.isprintable() and min(sizes) >= 1 and max(sizes) <= MOST_NAME
