"""Refusals as RFC 9457 problem details; the ``type`` of a kind of problem never changes."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Literal

import msgspec

from tutelage.service.campaigns.messages import Fault, NotLeader, Reason, Refusal, describe
from tutelage.stores.base import CampaignNotFound, StoreError

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:tutelage:problem:"

ProblemKind = (
    Reason
    | Literal[
        "unauthorized",
        "forbidden",
        "not-found",
        "method-not-allowed",
        "not-removable",
        "warned",
        "timeout",
        "too-large",
        "unsupported-media-type",
        "no-leader",
        "internal",
    ]
)

STATUSES: Mapping[ProblemKind, int] = {
    "malformed": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "unknown-campaign": 404,
    "not-found": 404,
    "method-not-allowed": 405,
    "timeout": 408,
    "exists": 409,
    "conflict": 409,
    "not-started": 409,
    "stopped": 409,
    "registration-closed": 409,
    "not-excludable": 409,
    "not-removable": 409,
    "too-large": 413,
    "unsupported-media-type": 415,
    "invalid": 422,
    "warned": 422,
    "busy": 429,
    "internal": 500,
    "unavailable": 503,
    "no-leader": 503,
}
_RETRY_SECONDS: Mapping[ProblemKind, int] = {"busy": 1, "unavailable": 2, "no-leader": 3}


class ProblemDetails(msgspec.Struct, omit_defaults=True):
    """The body of a refusal (RFC 9457)."""

    type: Annotated[str, describe("`urn:tutelage:problem:` and the kind of problem.")]
    title: Annotated[str, describe("The name of the HTTP status.")]
    status: Annotated[int, describe("The HTTP status.")]
    detail: Annotated[str, describe("What is wrong and what to do.")] = ""
    faults: Annotated[Sequence[Fault], describe("The first hundred faults of the request.")] = ()


class BrokenStream(Exception):
    """A streamed answer cannot be completed; the text says why.

    The connection ends without the end of the answer, so that the reader sees that it is incomplete.
    """


class HttpProblem(Exception):
    """The refusal of a request: its kind, a sentence, faults, and headers of the answer."""

    def __init__(
        self, kind: ProblemKind, detail: str, faults: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.status = kind, detail, STATUSES[kind]
        self.faults = tuple(faults[: Refusal.MOST_FAULTS])
        self.headers = dict(headers or {})
        if kind in _RETRY_SECONDS:
            self.headers["Retry-After"] = str(_RETRY_SECONDS[kind])
        if kind == "unauthorized":
            self.headers["WWW-Authenticate"] = 'Bearer realm="tutelage"'

    def encode(self) -> bytes:
        """Return the body of the answer."""
        title = HTTPStatus(self.status).phrase
        return msgspec.json.encode(
            ProblemDetails(TYPE_PREFIX + self.kind, title, self.status, self.detail, self.faults)
        )


def convert_error(error: Exception) -> HttpProblem:
    """Return the problem that an error is answered with.

    Of an unexpected error it names only the class, since the text may hold secrets.
    """
    if isinstance(error, HttpProblem):
        return error
    if isinstance(error, Refusal):
        return HttpProblem(error.reason, error.sentence, error.faults)
    if isinstance(error, NotLeader):
        return HttpProblem("no-leader", f"{error} No other server can be reached now: try again.")
    if isinstance(error, CampaignNotFound):
        return HttpProblem("unknown-campaign", str(error))
    if isinstance(error, StoreError):
        return HttpProblem("unavailable", str(error))
    return HttpProblem("internal", f"The server failed ({type(error).__name__}): see its log.")
