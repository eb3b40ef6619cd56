"""The bytes of a snapshot: everything that the rows of a ledger have made of a campaign."""

import msgspec
import numpy as np

from tutelage.service.campaigns.campaign import Assignment, Campaign, CampaignSetup, ClientMemory
from tutelage.service.campaigns.series import StoredSeries
from tutelage.service.campaigns.standing import Standing
from tutelage.teachers.base import decode_state, encode_state


class StoredEvidence(msgspec.Struct):
    """The collected evidence without the quota, which is in the directive."""

    is_evidence: bytes
    pulls: bytes
    segments: bytes
    sums: bytes
    closed: list[list[list[float]]]
    delivered: list[int]


class StoredClient(msgspec.Struct, array_like=True):
    """The memory of one client."""

    pulls: list[int]
    observed: list[float]
    revealed: list[float]
    rule_state: list[float]
    cost: float


class StoredState(msgspec.Struct, omit_defaults=True):
    """A campaign without what its setup or its teacher's state determine."""

    rounds: list[int]
    pulls: bytes
    excluded: list[int]
    consultations: int
    restarts: int
    state: str
    target: int | None
    collected: StoredEvidence
    clients: list[StoredClient]
    windows: int = 0
    left_out: list[int] = []
    assignments: list[tuple[int, str, int, int]] = []


class StoredSession(msgspec.Struct, array_like=True):
    """The content of a snapshot; ``standing`` follows from the rest, and older releases did not store it."""

    clients: list[str]
    status: str
    step: int
    digest: bytes
    campaign: StoredState
    series: StoredSeries
    standing: Standing | None = None


class StoredListing(msgspec.Struct, array_like=True):
    """What a list needs of a :class:`StoredSession`, read in a fiftieth of the time of a session."""

    clients: list[str]
    status: str
    step: int
    digest: bytes
    campaign: msgspec.Raw
    series: msgspec.Raw
    standing: Standing | None = None


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(StoredSession)
_LISTING_DECODER = msgspec.msgpack.Decoder(StoredListing)


def encode_snapshot(stored: StoredSession) -> bytes:
    """Return a snapshot's bytes."""
    return _ENCODER.encode(stored)


def decode_snapshot(content: bytes) -> StoredSession:
    """Read what :func:`encode_snapshot` wrote.  Raises ``MsgspecError``."""
    return _DECODER.decode(content)


def decode_listing(content: bytes) -> StoredListing:
    """Read the part of a snapshot that lists show.  Raises ``MsgspecError``."""
    return _LISTING_DECODER.decode(content)


def dump_campaign(campaign: Campaign) -> StoredState:
    """Return a campaign's stored form; :func:`restore_campaign` reads it."""
    collected = campaign.collected
    return StoredState(
        rounds=campaign.rounds,
        pulls=campaign.pulls.tobytes(),
        excluded=campaign.excluded,
        consultations=campaign.consultations,
        restarts=campaign.restarts,
        state=encode_state(campaign.state),
        target=campaign.target,
        collected=StoredEvidence(
            collected.is_evidence.tobytes(),
            collected.pulls.tobytes(),
            np.array(collected.segments, dtype=np.int64).tobytes(),
            np.array(collected.sums).tobytes(),
            collected.closed,
            collected.delivered,
        ),
        clients=list(map(dump_client, campaign.clients)),
        windows=campaign.windows,
        left_out=sorted(campaign.left_out),
        assignments=[(client, *assignment) for client, assignment in sorted(campaign.assignments.items())],
    )


def dump_client(client: ClientMemory) -> StoredClient:
    """Return the stored form of a client's memory; :func:`restore_client` reads it."""
    # Rules leave numpy's numbers in the rule state.
    rule_state = list(map(float, client.rule_state))
    return StoredClient(client.pulls, client.observed, client.revealed, rule_state, client.cost)


def restore_client(client: ClientMemory, kept: StoredClient) -> None:
    """Change a client's memory to the stored one."""
    client.pulls[:], client.observed[:], client.revealed[:] = kept.pulls, kept.observed, kept.revealed
    client.rule_state[:], client.cost = kept.rule_state, kept.cost


def restore_campaign(setup: CampaignSetup, stored: StoredState) -> Campaign:
    """Return the campaign of :func:`dump_campaign`."""
    campaign, evidence = Campaign(setup), stored.collected
    size = (setup.problem.num_clients, setup.problem.num_arms)
    campaign.rounds, campaign.excluded, campaign.target = stored.rounds, stored.excluded, stored.target
    campaign.consultations, campaign.restarts = stored.consultations, stored.restarts
    campaign.windows, campaign.left_out = stored.windows, set(stored.left_out)
    campaign.counts = np.frombuffer(stored.pulls, dtype=np.int64).reshape(size).tolist()
    campaign.state = decode_state(setup.teacher, stored.state)
    collected = campaign.collected
    collected.is_evidence = np.frombuffer(evidence.is_evidence, dtype=np.bool_).copy()
    collected.counts = np.frombuffer(evidence.pulls, dtype=np.int64).reshape(size).tolist()
    collected.segments = np.frombuffer(evidence.segments, dtype=np.int64).reshape(size).tolist()
    collected.sums = np.frombuffer(evidence.sums, dtype=np.float64).reshape(size).tolist()
    collected.closed, collected.delivered = evidence.closed, evidence.delivered
    for client, kept in zip(campaign.clients, stored.clients, strict=True):
        restore_client(client, kept)
    campaign.assignments = {
        client: Assignment(edge, fence, position) for client, edge, fence, position in stored.assignments
    }
    campaign.publish()
    return campaign
