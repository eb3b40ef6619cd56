"""Pulls as clients send them, their answers, and refusals."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from tutelage.service.campaigns.settings import MOST_NAME


def describe(text: str) -> Meta:
    """Describe a field in the OpenAPI document."""
    return Meta(description=text)


def limit(text: str, **schema: Any) -> Meta:
    """Describe a field with limits for the OpenAPI document, which are checked elsewhere, with better sentences."""
    return Meta(description=text, extra_json_schema=schema)


class PullRequest(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A pull: which client pulled which arm, and the reward it observed."""

    id: Annotated[
        str, limit("Id of the pull, chosen by the sender, unique in the campaign.", minLength=1, maxLength=MOST_NAME)
    ]
    client: Annotated[str, limit("Name of the client.", minLength=1, maxLength=MOST_NAME)]
    arm: Annotated[str, limit("Name of the arm.", minLength=1, maxLength=MOST_NAME)]
    reward: Annotated[float, describe("The observed reward, from `low` to `high` of the campaign.")]
    bypassed: Annotated[bool, describe("Whether the client has used the observed reward already.")] = False


class PullResponse(msgspec.Struct, omit_defaults=True, gc=False):
    """The answer to a pull."""

    id: Annotated[str, describe("Id of the pull.")]
    reward: Annotated[float, describe("The reward to reveal to the client.")]
    adjustment: Annotated[float, describe("The revealed minus the observed reward.")]
    directive: Annotated[int, describe("Number of the directive by which the pull was answered; 0 beyond the horizon.")]
    replayed: Annotated[bool, describe("Whether the pull had been stored before.")]
    beyond_horizon: Annotated[
        bool, describe("True if the client had reached the horizon: the reward is as observed.  Absent otherwise.")
    ] = False


@dataclass(frozen=True)
class Origin:
    """Who sent a request, for the ledger and the audit log: the key's name, and the address that it came from."""

    key: str = ""
    address: str = ""


Reason = Literal[
    "malformed",
    "unknown-campaign",
    "unknown-client",
    "exists",
    "conflict",
    "not-started",
    "not-startable",
    "stopped",
    "registration-closed",
    "not-excludable",
    "moved",
    "invalid",
    "busy",
    "unavailable",
]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong in a request."""

    index: Annotated[int, describe("Place of the pull in the request, from 0.")]
    id: Annotated[str, describe("Id of the pull, if it has one.")]
    field: Annotated[str, describe("The field that is wrong; empty if it is the whole pull or body.")]
    what: Annotated[str, describe("What is wrong with it.")]


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
