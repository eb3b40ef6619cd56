"""The JSON content of the ledger's entries, and how it is made and read."""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from tutelage.service.campaigns.campaign import Campaign, Decision
from tutelage.service.campaigns.edge_messages import ClientRecord, ClientReport
from tutelage.service.campaigns.edge_teacher import HeldDirective


class EntryContent(msgspec.Struct):
    """The content of an entry; those that say all with their kind have the empty object."""


class NamedClientContent(EntryContent):
    """Of ``registered``: the client that was added."""

    client: str


class ExportContent(EntryContent):
    """Of ``exported``: the position up to which the ledger was handed out."""

    position: int


class BypassedPull(EntryContent):
    """Of ``bypassed``: the pull whose adjustment was taken back, as its row."""

    pull: dict[str, int | float | bool | str]


class AssignedContent(EntryContent):
    """Of ``assigned``: who answers a client's pulls from now on, the leader if ``edge`` is empty.

    In the copy of the edge that holds the client, ``record`` is what it continues from.
    """

    client: str
    edge: str
    fence: int
    record: ClientRecord | UnsetType = UNSET


class ReportedContent(EntryContent):
    """Of ``reported``: what the leader accepted of an edge's report, with only the sums that it did not know.

    ``position`` is that of the edge's ledger, ``directive`` the number of the directive that it held: with the
    campaign, the client, the arm and the place of the segment they are the key of a sum.
    """

    edge: str
    position: int
    directive: int
    clients: list[ClientReport]


class DirectedContent(EntryContent):
    """Of ``directed``: the leader's directive that the edge holds from now on."""

    directive: HeldDirective


class DecisionContent(EntryContent, kw_only=True):
    """Of ``decided`` and ``excluded``: the decision for people, with arms by name, and the new evidence.

    ``client`` is the excluded one; ``directive`` is the number of consultations so far.
    """

    client: str | UnsetType = UNSET
    round: int
    directive: int
    cost: float
    active_arms: list[str]
    target: str | None
    report: str
    lower: Sequence[float | None]
    upper: Sequence[float | None]
    evidence: list[list[list[float]]]


def describe_decision(
    decision: Decision, campaign: Campaign, arms: Sequence[str], client: str | UnsetType = UNSET
) -> DecisionContent:
    """Describe a decision that the campaign has just made; ``client`` is the excluded one, if any."""
    directive, report = decision.directive, campaign.report()
    return DecisionContent(
        client=client,
        round=campaign.round,
        directive=campaign.consultations,
        cost=campaign.cost,
        active_arms=[arms[arm] for arm in directive.active_arms],
        target=None if directive.target is None else arms[directive.target],
        report=report.sentence,
        lower=report.lower,
        upper=report.upper,
        evidence=[sums.tolist() for sums in decision.evidence.sums] if decision.evidence else [],
    )


def encode_content(content: EntryContent | None) -> str:
    """Return an entry's content as JSON."""
    return msgspec.json.encode(content or EntryContent()).decode()


def read_client(content: str) -> str:
    """Return the client that an entry names."""
    return msgspec.json.decode(content, type=NamedClientContent).client


def read_bypassed(content: str) -> dict[str, int | float | bool | str]:
    """Return the fields of the row of a bypassed pull."""
    return msgspec.json.decode(content, type=BypassedPull).pull
