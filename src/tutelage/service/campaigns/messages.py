"""Pulls as clients send them, their answers, and refusals."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class PullRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A pull: which client pulled which arm, and the reward it observed."""

    id: Annotated[str, Meta(description="Id of the pull, chosen by the sender, unique in the campaign.")]
    client: Annotated[str, Meta(description="Name of the client.")]
    arm: Annotated[str, Meta(description="Name of the arm.")]
    reward: Annotated[float, Meta(description="The observed reward, in the campaign's range.")]
    bypassed: Annotated[bool, Meta(description="Whether the client has been shown the observed reward already.")] = (
        False
    )


class PullResponse(msgspec.Struct):
    """The answer to a pull."""

    id: Annotated[str, Meta(description="Id of the pull.")]
    reward: Annotated[float, Meta(description="The reward to reveal to the client.")]
    adjustment: Annotated[float, Meta(description="The revealed minus the observed reward.")]
    directive: Annotated[int, Meta(description="Number of the directive by which the pull was answered.")]
    replayed: Annotated[bool, Meta(description="Whether the pull had been stored before.")]


Reason = Literal[
    "malformed", "unknown-campaign", "exists", "conflict", "not-started", "stopped", "invalid", "busy", "unavailable"
]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong in a request."""

    index: Annotated[int, Meta(description="Place of the pull in the request, from 0.")]
    id: Annotated[str, Meta(description="Id of the pull, if it has one.")]
    field: Annotated[str, Meta(description="The field that is wrong; empty if it is the whole.")]
    what: Annotated[str, Meta(description="What is wrong with it.")]


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
