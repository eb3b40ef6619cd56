"""The OpenAPI document: what FastAPI sees of the routes, the quick route, and what the answers look like."""

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tutelage.service.api.json_reading import MOST_PULLS
from tutelage.service.api.ledger_formats import FORMATS
from tutelage.service.api.problems import MEDIA_TYPE, Told
from tutelage.service.api.pulls_route import PullResponses
from tutelage.service.api.routes import NamedClient, NewCampaign, Nothing
from tutelage.service.campaigns.messages import PullRequest, PullResponse

_REFERENCE = "#/components/schemas/{name}"
_JSON = "application/json"
_NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "title": "Name"}


class Summary(msgspec.Struct):
    """What a campaign is and where it stands."""

    name: str
    status: str
    teacher: str
    horizon: int
    low: float
    high: float
    seed: int
    open_registration: bool
    weights: list[float] | None
    arms: list[str]
    clients: list[str]
    excluded: list[str]
    num_pulls: int
    round: int
    beyond_horizon: int
    directive: int
    cost: float
    state: str
    active_arms: list[str]
    target: str | None
    position: int


class Summaries(msgspec.Struct):
    """Every campaign."""

    campaigns: list[Summary]


class QuotaTold(msgspec.Struct):
    """The pulls of each arm that the teacher awaits of every client."""

    counts: list[int]
    mode: str


class State(msgspec.Struct):
    """Every number, as lists by client and arm; sums are in units of [0, 1]."""

    name: str
    position: int
    step: int
    clients: list[str]
    arms: list[str]
    rounds: list[int]
    beyond_horizon: int
    pulls: list[list[int]]
    observed: list[list[float]]
    revealed: list[list[float]]
    costs: list[float]
    quota: QuotaTold | None
    teacher: Any


class Decided(msgspec.Struct):
    """A decision or a exclusion, which has a ``client``."""

    position: int
    kind: str
    step: int
    time: str
    round: int
    directive: int
    cost: float
    active_arms: list[str]
    target: str | None
    report: str
    lower: list[float | None] | None  # null where nothing is known yet
    upper: list[float | None] | None
    evidence: list[list[list[float]]]
    client: str | msgspec.UnsetType = msgspec.UNSET


class Decisions(msgspec.Struct):
    """``next`` is what to ask for as ``after``; null at the end."""

    decisions: list[Decided]
    next: int | None


class Row(msgspec.Struct, omit_defaults=True):
    """A row of the ledger; what is no pull has ``content``."""

    position: int
    kind: str
    step: int
    time: str
    id: str = ""
    index: int = 0
    client: str = ""
    arm: str = ""
    number: int = 0
    observed: float = 0.0
    revealed: float = 0.0
    directive: int = 0
    bypassed: bool = False
    content: dict[str, Any] = {}


class Rows(msgspec.Struct):
    """``next`` is what to ask for as ``after``; null at the end."""

    rows: list[Row]
    next: int | None


class StateTold(msgspec.Struct):
    """Something that is so of a campaign, and what helps."""

    kind: str
    severity: str
    message: str
    action: str
    command: str
    client: str | None


class States(msgspec.Struct):
    """All that is so, worst first."""

    name: str
    position: int
    items: list[StateTold]


class Status(msgspec.Struct):
    """All is well."""

    status: str


_ANSWERS: dict[tuple[str, str], tuple[int, type]] = {
    ("/healthz", "get"): (200, Status),
    ("/readyz", "get"): (200, Status),
    ("/v1/campaigns", "get"): (200, Summaries),
    ("/v1/campaigns", "post"): (201, Summary),
    ("/v1/campaigns/{name}", "get"): (200, Summary),
    ("/v1/campaigns/{name}/clients", "post"): (200, NamedClient),
    ("/v1/campaigns/{name}/start", "post"): (200, Summary),
    ("/v1/campaigns/{name}/stop", "post"): (200, Summary),
    ("/v1/campaigns/{name}/exclude", "post"): (200, Summary),
    ("/v1/campaigns/{name}/totals", "get"): (200, State),
    ("/v1/campaigns/{name}/decisions", "get"): (200, Decisions),
    ("/v1/campaigns/{name}/ledger", "get"): (200, Rows),
    ("/v1/campaigns/{name}/status", "get"): (200, States),
}


def document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI, made once."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(title=app.title, version=app.version, routes=app.routes)
    answers = dict.fromkeys(answer for _, answer in _ANSWERS.values())
    types = [PullRequest, PullResponses, PullResponse, Told, NewCampaign, Nothing, *answers]
    (sent, many, one, problem, *_), schemas = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    found.setdefault("components", {})["schemas"] = schemas
    paths = found["paths"]
    paths["/v1/campaigns/{name}/pulls"] = {"post": _quick(sent, many, one)}
    for (path, method), (status, answer) in _ANSWERS.items():
        told = {"$ref": _REFERENCE.format(name=answer.__name__)}
        paths[path][method]["responses"][str(status)]["content"] = {_JSON: {"schema": told}}
    exported: dict[str, Any] = {kind.media_type: {} for kind in FORMATS.values()}
    paths["/v1/campaigns/{name}/export"]["get"]["responses"]["200"]["content"] = exported
    for operations in paths.values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "name":
                    parameter["schema"] = _NAME
    refusal = {"description": "Refused", "content": {MEDIA_TYPE.decode(): {"schema": problem}}}
    for operations in paths.values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["default"] = refusal
    app.openapi_schema = found
    return found


def _quick(sent: Any, many: Any, one: Any) -> dict[str, Any]:
    """The route of the pulls, which FastAPI does not see."""
    pulls = {"type": "array", "items": sent, "minItems": 1, "maxItems": MOST_PULLS}
    batch = {
        "type": "object",
        "properties": {"pulls": pulls},
        "required": ["pulls"],
        "additionalProperties": False,
    }
    name = {"name": "name", "in": "path", "required": True, "schema": _NAME}
    return {
        "summary": "Answer one pull, or up to 10,000 as one step",
        "operationId": "pulls_v1_campaigns__name__pulls_post",
        "parameters": [name],
        "requestBody": {"required": True, "content": {_JSON: {"schema": {"oneOf": [sent, batch]}}}},
        "responses": {
            "200": {
                "description": "For one pull its answer alone.",
                "content": {_JSON: {"schema": {"anyOf": [many, one]}}},
            }
        },
    }
