"""What clients send and are answered, and why they may be refused."""

from dataclasses import dataclass
from typing import Literal

import msgspec


class PullRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A pull as it is sent.  ``bypassed``: its client has been shown the reward itself."""

    id: str
    client: str
    arm: str
    reward: float
    bypassed: bool = False


class PullResponse(msgspec.Struct):
    """The answer to a pull: what to show its client.  ``replayed``: the pull was stored before."""

    id: str
    reward: float
    adjustment: float
    directive: int
    replayed: bool


Reason = Literal[
    "malformed", "unknown-campaign", "exists", "conflict", "not-started", "stopped", "invalid", "unavailable"
]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong in a request: of which pull (its index and id), which field, and what."""

    index: int
    id: str
    field: str
    what: str


class Refusal(Exception):
    """A request that changes nothing: why, in a sentence, with the first of its faults."""

    MOST_FAULTS = 100

    def __init__(self, reason: Reason, sentence: str, faults: tuple[Fault, ...] = ()) -> None:
        super().__init__(sentence)
        self.reason, self.sentence, self.faults = reason, sentence, faults[: self.MOST_FAULTS]


class NotLeader(Exception):
    """Another server leads this campaign, or none does now (``address`` is None)."""

    def __init__(self, name: str, address: str | None) -> None:
        super().__init__(f"This server does not lead the campaign {name}.")
        self.name, self.address = name, address
