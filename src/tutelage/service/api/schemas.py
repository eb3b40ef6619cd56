"""The JSON of the API: every body and answer but pulls, whose structs are in ``campaigns.messages``."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tutelage.service.campaigns.messages import describe, limit
from tutelage.service.campaigns.settings import CAMPAIGN_NAME, MOST_ARMS, MOST_CLIENTS, MOST_HORIZON, MOST_NAME
from tutelage.service.monitoring.status import KINDS, Severity
from tutelage.stores.base import EntryKind, Role
from tutelage.teachers.base import QuotaMode

MAX_WHOLE = 2**53  # the largest whole number that every JSON reader takes exactly

CampaignName = Annotated[
    str,
    Meta(
        pattern=f"^{CAMPAIGN_NAME.pattern}$",
        description="Name of the campaign: 1 to 64 letters, digits, dots, dashes and underscores.",
    ),
]
Status = Annotated[
    Literal["registering", "running", "stopped"],
    describe("`registering` before the start, `running` while pulls are accepted, or `stopped`."),
]
Arms = Annotated[
    tuple[Annotated[str, limit("Name of the arm.", minLength=1, maxLength=MOST_NAME)], ...],
    limit("Names of the arms, each once.", minItems=1, maxItems=MOST_ARMS, uniqueItems=True),
]
Clients = Annotated[
    tuple[Annotated[str, limit("Name of the client.", minLength=1, maxLength=MOST_NAME)], ...],
    limit("Names of the clients, each once.", maxItems=MOST_CLIENTS, uniqueItems=True),
]
Horizon = Annotated[int, limit("Number of rounds for which the campaign is planned.", minimum=1, maximum=MOST_HORIZON)]
Teacher = Annotated[str, limit("The teacher's SPEC, for example `twl(gamma1=1)`.", minLength=1)]
Low = Annotated[float, describe("Smallest reward.")]
High = Annotated[float, describe("Largest reward.")]
OpenRegistration = Annotated[bool, describe("Whether clients may be registered before the campaign starts.")]
Position = Annotated[int, describe("Number of the last row of the ledger.")]
RowPosition = Annotated[int, describe("Number of the row in the campaign's ledger, from 1.")]
Step = Annotated[int, describe("Number of the step: all new pulls of one request are one step, from 1.")]
Time = Annotated[str, describe("When the row was made: ISO 8601, UTC, to the microsecond.")]
Round = Annotated[int, describe("Largest number of pulls that any client has made, at most the horizon.")]
Directive = Annotated[
    int, describe("Number of the directive (rules) in force: 1 + the teacher's consultations so far.")
]
Cost = Annotated[
    float, describe("Sum of the absolute adjustments (attack cost); rewards from `low` to `high` count as 0 to 1.")
]
ActiveArms = Annotated[list[str], describe("Arms that the teacher still considers.")]
Target = Annotated[str | None, describe("The arm the teacher decided on; null before a decision.")]
Report = Annotated[str, describe("The teacher's own sentence on where learning stands.")]
BeyondHorizon = Annotated[
    int, describe("Pulls after the horizon, which are answered with the observed reward and are not evidence.")
]


BinaryReveals = Annotated[
    bool, describe("Whether only the smallest and the largest reward are revealed, by seeded random rounding.")
]


class NewCampaign(msgspec.Struct, forbid_unknown_fields=True):
    """A campaign to create."""

    name: CampaignName
    arms: Arms
    horizon: Horizon
    teacher: Teacher
    clients: Clients = ()
    open_registration: OpenRegistration = False
    low: Low = 0.0
    high: High = 1.0
    weights: Annotated[
        list[float] | dict[str, float] | None,
        describe("Weight of each client, in the order of clients or by name; equal if null."),
    ] = None
    seed: Annotated[int, Meta(ge=0, le=MAX_WHOLE, description="Seed of the teacher's random numbers.")] = 0
    binary_reveals: BinaryReveals = False
    start: Annotated[bool, describe("Whether to start the campaign at once.")] = False
    strict: Annotated[bool, describe("Whether to refuse the campaign if there are warnings.")] = False


class ClientReference(msgspec.Struct, forbid_unknown_fields=True):
    """A client of the campaign, by name."""

    client: Annotated[str, Meta(min_length=1, max_length=128, description="Name of the client.")]


class CampaignAccess(msgspec.Struct):
    """A campaign that a key may send pulls to."""

    name: CampaignName
    status: Status


class ClientAssignment(msgspec.Struct, forbid_unknown_fields=True):
    """Which server answers a client's pulls."""

    client: Annotated[str, limit("Name of the client.", minLength=1, maxLength=MOST_NAME)]
    edge: Annotated[str, describe("Name of the edge; empty for the leader.")]


class Registration(msgspec.Struct):
    """The answer to the registration of a client."""

    client: Annotated[str, describe("Name of the client.")]
    added: Annotated[bool, describe("Whether the client was added now; false if it was registered before.")]


class CampaignSummary(msgspec.Struct):
    """The settings of a campaign and where it stands."""

    name: CampaignName
    status: Status
    teacher: Teacher
    horizon: Horizon
    low: Low
    high: High
    seed: Annotated[int, describe("Seed of the teacher's random numbers.")]
    binary_reveals: BinaryReveals
    open_registration: OpenRegistration
    weights: Annotated[tuple[float, ...] | None, describe("Weight of each client; null if all are equal.")]
    arms: Arms
    clients: Clients
    excluded: Annotated[list[str], describe("Clients whose pulls are answered but are not evidence.")]
    num_pulls: Annotated[int, describe("Pulls of all clients so far.")]
    round: Round
    beyond_horizon: BeyondHorizon
    bypassed: Annotated[int, describe("Pulls whose client used the observed reward, as it reported.")]
    directive: Directive
    cost: Cost
    report: Report
    active_arms: ActiveArms
    target: Target
    position: Position


class ChangedCampaign(CampaignSummary):
    """A campaign that was created or started, with warnings about its settings."""

    warnings: Annotated[
        list[str], describe("Why teaching would have no effect, as with too short a horizon; empty if it may have one.")
    ]


class AssignedCampaign(CampaignSummary):
    """A campaign in which a client was assigned to an edge or to the leader."""

    moved: Annotated[bool, describe("Whether the client was moved; false if its pulls were answered there already.")]


class CampaignList(msgspec.Struct):
    """All campaigns of the store."""

    campaigns: list[CampaignSummary]


class QuotaTotals(msgspec.Struct):
    """How many pulls the teacher waits for before its next consultation."""

    counts: Annotated[list[int], describe("Pulls of each arm required of every client.")]
    mode: Annotated[
        QuotaMode, describe("Whether a client must reach the counts of `all` arms or of `any` one of them.")
    ]


class CampaignTotals(msgspec.Struct):
    """Counts, sums and costs; inner lists are by arm.  Rewards from `low` to `high` count as 0 to 1."""

    name: CampaignName
    position: Position
    step: Annotated[int, describe("Number of the last step.")]
    clients: Clients
    arms: Arms
    rounds: Annotated[list[int], describe("Pulls of each client.")]
    beyond_horizon: BeyondHorizon
    pulls: Annotated[list[list[int]], describe("Pulls by client and arm.")]
    observed: Annotated[list[list[float]], describe("Sum of observed rewards by client and arm.")]
    revealed: Annotated[list[list[float]], describe("Sum of revealed rewards by client and arm.")]
    costs: Annotated[list[float], describe("Cost of each client.")]
    quota: Annotated[QuotaTotals | None, describe("Null if the teacher waits for no pulls.")]
    teacher: Annotated[msgspec.Raw, describe("The teacher's own state; its form depends on it.")]


class DecisionRecord(msgspec.Struct, kw_only=True):
    """A consultation or decision of the teacher, or the exclusion of a client, with the evidence used for it."""

    position: RowPosition
    kind: Annotated[
        Literal["consulted", "decided", "excluded"],
        describe("What happened; `consulted` is a consultation that did not lead to a decision."),
    ]
    step: Step
    time: Time
    round: Round
    directive: Annotated[int, describe("Number of consultations so far.")]
    cost: Cost
    active_arms: ActiveArms
    target: Target
    report: Report
    lower: Annotated[list[float | None] | None, describe("Lower confidence bound of each arm, if the teacher has any.")]
    upper: Annotated[list[float | None] | None, describe("Upper confidence bound of each arm, if the teacher has any.")]
    evidence: Annotated[
        list[list[list[float]]],
        describe("New sums of observed rewards by arm, segment (stretch of pulls) and client; empty if none are."),
    ]
    client: Annotated[str | UnsetType, describe("The excluded client.")] = UNSET


class DecisionPage(msgspec.Struct):
    """A page of decisions and exclusions."""

    decisions: list[DecisionRecord]
    next: Annotated[int | None, describe("`after` of the next page; null on the last page.")]


class LedgerRow(msgspec.Struct, kw_only=True):
    """A row of the ledger.  A pull has the fields from `index` to `id`; any other row has `content`."""

    position: RowPosition
    kind: Annotated[str, limit("`pull`, or what else happened.", enum=["pull", *get_args(EntryKind)])]
    step: Step
    index: Annotated[int | UnsetType, describe("Place of the pull in its request, from 0.")] = UNSET
    client: Annotated[str | UnsetType, describe("Client that pulled.")] = UNSET
    arm: Annotated[str | UnsetType, describe("Arm that was pulled.")] = UNSET
    number: Annotated[int | UnsetType, describe("Number of this pull among the client's pulls of the arm, from 1.")] = (
        UNSET
    )
    observed: Annotated[float | UnsetType, describe("Reward the client observed.")] = UNSET
    revealed: Annotated[float | UnsetType, describe("Reward the server answered.")] = UNSET
    directive: Annotated[
        int | UnsetType, describe("Number of the directive by which the pull was answered; 0 beyond the horizon.")
    ] = UNSET
    bypassed: Annotated[bool | UnsetType, describe("Whether the client used the observed reward instead.")] = UNSET
    time: Time
    id: Annotated[str | UnsetType, describe("Id of the pull.")] = UNSET
    key: Annotated[str | UnsetType, describe("Name of the key that asked for what the row records.")] = UNSET
    content: Annotated[dict[str, Any] | UnsetType, describe("Content of a row that is not a pull.")] = UNSET


class LedgerPage(msgspec.Struct):
    """A page of ledger rows."""

    rows: list[LedgerRow]
    next: Annotated[int | None, describe("`after` of the next page; null on the last page.")]


class AuditRecord(msgspec.Struct):
    """An act of an administrator, of a command or of a client that registered."""

    number: Annotated[int, describe("Number of the record, increasing.")]
    time: Annotated[str, describe("When it was done: ISO 8601, UTC, to the microsecond.")]
    actor: Annotated[str, describe("Name of the key, empty if none exists; of a command, the user and the machine.")]
    source: Annotated[str, describe("Address of the caller, or `command line`.")]
    action: Annotated[str, describe("What was done, for example `exclude client` or `rotate key`.")]
    campaign: Annotated[str | None, describe("Campaign that it concerns.")]
    subject: Annotated[str | None, describe("Client or key that it concerns.")]


class AuditPage(msgspec.Struct):
    """A page of the audit log."""

    records: list[AuditRecord]
    next: Annotated[int | None, describe("`after` of the next page; null on the last page.")]


class KeyRecord(msgspec.Struct):
    """A key, without its secret.  Times are ISO 8601, UTC, to the microsecond."""

    name: Annotated[str, describe("Name of the key.")]
    role: Annotated[
        Role, describe("What the key permits: `viewer` reads, `reporter` sends pulls, `admin` may do everything.")
    ]
    campaign: Annotated[str | None, describe("The only campaign that the key is valid for; null for all.")]
    clients: Annotated[tuple[str, ...], describe("The only clients that the key is valid for; empty for all.")]
    created: Annotated[str, describe("When its secret was made: at its creation or rotation.")]
    expires: Annotated[str | None, describe("When it ends; null for never.")]
    last_used: Annotated[str | None, describe("When its secret was last used, to about a minute; null for never.")]
    revoked: Annotated[str | None, describe("When it was revoked; null if it was not.")]
    old_secret_until: Annotated[
        str | None, describe("Until when the secret before its last rotation is valid; null if it never was rotated.")
    ]


class KeyList(msgspec.Struct):
    """All keys of the store, by name, including revoked ones."""

    keys: list[KeyRecord]


class PageQuery(msgspec.Struct):
    """Which page of a ledger to return."""

    after: Annotated[int, Meta(ge=0, le=MAX_WHOLE, description="Return rows after this position.")] = 0
    limit: Annotated[int, Meta(ge=1, le=10_000, description="Largest number of rows to return.")] = 1_000


class ExportQuery(msgspec.Struct):
    """How to export a ledger."""

    format: Annotated[Literal["ndjson", "csv", "parquet"], describe("File format; parquet requires pyarrow.")] = (
        "ndjson"
    )


class CampaignStatusItem(msgspec.Struct):
    """One thing that an operator should know about a campaign."""

    kind: Annotated[str, limit("Name of the condition.", enum=[kind.name for kind in KINDS])]
    severity: Annotated[Severity, describe("How urgently an operator must act: critical and warning are alerts.")]
    message: Annotated[str, describe("What was found.")]
    action: Annotated[str, describe("What to do about it; empty if nothing.")]
    command: Annotated[str, describe("Command line that does it; empty if none is needed.")]
    client: Annotated[str | None, describe("The client concerned; null if it is the campaign.")]
    arm: Annotated[str | None, describe("The arm concerned; null if it is not one arm.")]
    missing: Annotated[
        int | None, limit("Pulls that the next consultation still needs of `client`, of `arm` if given.", minimum=0)
    ]
    silent_seconds: Annotated[
        float | None,
        limit("Seconds since the last pull of `client`, or of any client if none pulls; otherwise null.", minimum=0),
    ]


class CampaignStatus(msgspec.Struct):
    """What an operator should know about a campaign, most severe first."""

    name: CampaignName
    position: Position
    items: list[CampaignStatusItem]


class ListedStatus(msgspec.Struct):
    """What an operator should know about one of the campaigns, most severe first."""

    name: CampaignName
    items: list[CampaignStatusItem]


class StatusList(msgspec.Struct):
    """What an operator should know about all campaigns, by name."""

    campaigns: list[ListedStatus]


class Health(msgspec.Struct):
    """The server works."""

    status: Literal["ok"] = "ok"
