"""What a request is told when it is not carried out: RFC 9457 bodies whose ``type`` never changes."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Literal

import msgspec

from tutelage.service.campaigns.messages import Fault, NotLeader, Reason, Refusal

MEDIA_TYPE = b"application/problem+json"
TYPE_PREFIX = "urn:tutelage:problem:"

Kind = (
    Reason
    | Literal[
        "unauthorized",
        "forbidden",
        "not-found",
        "method-not-allowed",
        "not-acceptable",
        "not-removable",
        "timeout",
        "too-large",
        "unsupported-media-type",
        "busy",
        "no-leader",
        "internal",
    ]
)

STATUSES: Mapping[Kind, int] = {
    "malformed": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "unknown-campaign": 404,
    "not-found": 404,
    "method-not-allowed": 405,
    "not-acceptable": 406,
    "timeout": 408,
    "exists": 409,
    "conflict": 409,
    "not-started": 409,
    "stopped": 409,
    "not-removable": 409,
    "too-large": 413,
    "unsupported-media-type": 415,
    "invalid": 422,
    "busy": 429,
    "internal": 500,
    "unavailable": 503,
    "no-leader": 503,
}
_RETRY_SECONDS: Mapping[Kind, int] = {"busy": 1, "unavailable": 2, "no-leader": 3}


class Told(msgspec.Struct, omit_defaults=True):
    """The body of a refusal.  ``faults``: the first hundred things that are wrong, each with its place."""

    type: str
    title: str
    status: int
    detail: str = ""
    faults: Sequence[Fault] = ()


class CutOff(Exception):
    """A stream that cannot go on: its reader sees that it has no end; the text says why."""


class Problem(Exception):
    """A request that is refused: kind, a sentence, its faults, and headers of its own."""

    def __init__(
        self, kind: Kind, detail: str, faults: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.status = kind, detail, STATUSES[kind]
        self.faults = tuple(faults[: Refusal.MOST_FAULTS])
        self.headers = dict(headers or {})
        if kind in _RETRY_SECONDS:
            self.headers["Retry-After"] = str(_RETRY_SECONDS[kind])
        if kind == "unauthorized":
            self.headers["WWW-Authenticate"] = 'Bearer realm="tutelage"'

    def body(self) -> bytes:
        """The JSON that is sent."""
        title = HTTPStatus(self.status).phrase
        return msgspec.json.encode(
            Told(TYPE_PREFIX + self.kind, title, self.status, self.detail, self.faults)
        )


def problem_of(error: Exception) -> Problem:
    """What an engine's error is told as; whatever is not known is no secret's place: its kind alone."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Refusal):
        return Problem(error.reason, error.sentence, error.faults)
    if isinstance(error, NotLeader):
        return Problem("no-leader", f"{error} No other can be reached now: try again.")
    return Problem("internal", f"The server failed ({type(error).__name__}): its log says more.")
