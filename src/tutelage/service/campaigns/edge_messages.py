"""What an edge and the leader send each other, and how a client's counters are read and changed for it.

Shapes: K arms.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tutelage.service.campaigns.campaign import Campaign, ClientMemory
from tutelage.service.campaigns.edge_teacher import HeldDirective
from tutelage.service.campaigns.snapshot_format import StoredClient, dump_client, restore_client
from tutelage.stores.base import KeyRow


class ClientRecord(msgspec.Struct, array_like=True):
    """All that a campaign knows of one client but the sums of its completed segments.

    ``restarts`` and ``windows`` are those of the directive that was held: evidence of another period does not
    count.  ``counts`` [K] are the pulls that are evidence, ``segments`` [K] the completed segments, ``sums`` [K]
    those of the open segments.
    """

    rounds: int
    restarts: int
    windows: int
    is_left_out: bool
    pulls: list[int]
    memory: StoredClient
    counts: list[int]
    segments: list[int]
    sums: list[float]


class ClientReport(msgspec.Struct, array_like=True):
    """A client's record, and for each arm the sums of the last segments up to ``record.segments``."""

    client: int
    fence: int
    record: ClientRecord
    closed: list[list[float]]


class EdgeReport(msgspec.Struct, forbid_unknown_fields=True):
    """What an edge reports, as of a position of its ledger; ``created`` is that of the leader's campaign."""

    edge: str
    created: int
    position: int
    directive: int
    clients: list[ClientReport]


class EdgeClaim(msgspec.Struct, forbid_unknown_fields=True):
    """An edge asks to answer the pulls of these clients; without any, it asks for the campaign."""

    edge: str
    clients: list[str]


class EdgeKeys(msgspec.Struct):
    """The keys that are valid for a campaign, with the digests of their secrets and without the time of their use."""

    keys: list[KeyRow]


class Moved(msgspec.Struct, array_like=True):
    """A client that an edge does not hold, or not any more: who does, and since which fence."""

    client: int
    edge: str
    fence: int


class EdgeResponse(msgspec.Struct):
    """What the leader responds to a report: where the campaign stands, and the clients that the edge has lost.

    ``position`` is that of the leader's ledger; of two responses the one with the greater position is newer.
    ``behind`` are clients of which sums between the leader's and the reported ones are missing.
    """

    position: int
    status: str
    directive: HeldDirective
    lost: list[Moved] = []
    behind: list[int] = []


class ClaimResponse(msgspec.Struct):
    """The campaign, and the clients that the edge holds from now on, each with its fence and its record."""

    created: int
    settings: str
    clients: list[str]
    response: EdgeResponse
    held: list[tuple[int, int, ClientRecord]]


def read_record(campaign: Campaign, client: int) -> ClientRecord:
    """Return a client's record."""
    collected = campaign.collected
    return ClientRecord(
        rounds=campaign.rounds[client],
        restarts=campaign.restarts,
        windows=campaign.windows,
        is_left_out=client in campaign.left_out,
        pulls=list(campaign.counts[client]),
        memory=dump_client(campaign.clients[client]),
        counts=list(collected.counts[client]),
        segments=list(collected.segments[client]),
        sums=list(collected.sums[client]),
    )


def is_of_this_period(campaign: Campaign, record: ClientRecord) -> bool:
    """Whether the evidence has not begun again since the record's directive."""
    return (record.restarts, record.windows) == (campaign.restarts, campaign.windows)


def load_record(campaign: Campaign, client: int, record: ClientRecord, closed: list[list[float]]) -> None:
    """Set a client's counters to a record, and add the sums of newly completed segments.

    From before the present period only the pulls and the cost count, and what rules remember unless it begins
    again with the evidence.
    """
    campaign.rounds[client] = record.rounds
    campaign.counts[client][:] = record.pulls
    memory: ClientMemory = campaign.clients[client]
    if record.restarts == campaign.restarts:
        restore_client(memory, record.memory)
    memory.cost = record.memory.cost
    if is_of_this_period(campaign, record):
        campaign.collected.receive(client, record.counts, record.segments, record.sums, closed)
        if not record.is_left_out:
            campaign.left_out.discard(client)


def find_fault(campaign: Campaign, report: ClientReport) -> str | None:
    """Return what is wrong with a client's report, as the rest of a sentence; None if nothing is."""
    record, arms = report.record, campaign.setup.problem.num_arms
    memory = record.memory
    lists: list[list[Any]] = [record.pulls, record.counts, record.segments, record.sums, report.closed]
    lists += [memory.pulls, memory.observed, memory.revealed]
    if any(len(one) != arms for one in lists) or len(memory.rule_state) != len(campaign.clients[0].rule_state):
        return "does not have one number for each arm"
    if min(record.rounds, *record.pulls, *memory.pulls, *record.counts, *record.segments) < 0:
        return "has a negative count"
    if record.rounds != sum(record.pulls):
        return "has other pulls in all than by arm"
    cuts = (0, *campaign.cuts, campaign.setup.problem.horizon + 1)
    segments = zip(record.counts, record.segments, report.closed, strict=True)
    return None if all(_can_be(cuts, *one) for one in segments) else "has sums that its pulls cannot have"


def _can_be(cuts: Sequence[int], count: int, segment: int, closed: Sequence[float]) -> bool:
    """Whether ``count`` pulls of an arm complete ``segment`` segments, the last of them with these sums."""
    if segment > len(cuts) - 2 or len(closed) > segment or not cuts[segment] <= count < cuts[segment + 1]:
        return False
    lengths = [cuts[end] - cuts[end - 1] for end in range(segment - len(closed) + 1, segment + 1)]
    return all(0.0 <= total <= length for total, length in zip(closed, lengths, strict=True))
