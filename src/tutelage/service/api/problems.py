"""Refusals as RFC 9457 problem details; the ``type`` of a kind of problem never changes."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Literal

import msgspec

from tutelage.service.campaigns.messages import Fault, NotLeader, Reason, Refusal, describe, limit
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

#: The status of each kind of problem, and what it means.
PROBLEMS: Mapping[ProblemKind, tuple[int, str]] = {
    "malformed": (
        400,
        "not JSON, a key twice in an object, a NUL character, nested more than 8 levels deep, more than one `Host`",
    ),
    "unauthorized": (401, "no key, or an unknown, expired or revoked one"),
    "forbidden": (
        403,
        "the key does not allow this, or is for another campaign, or a page of another site sent the request",
    ),
    "unknown-campaign": (404, "the campaign does not exist"),
    "unknown-client": (404, "the campaign has no client of this name"),
    "not-found": (404, "the address does not exist"),
    "method-not-allowed": (405, "see the header `Allow`"),
    "timeout": (408, "the body took longer than `--body-timeout`"),
    "exists": (409, "a campaign of this name exists"),
    "conflict": (409, "the id is already stored with different content"),
    "not-started": (409, "the campaign has not started, so it does not accept pulls"),
    "not-startable": (409, "the campaign has no clients yet, or its teacher cannot serve those that it has"),
    "stopped": (409, "the campaign is stopped, so it does not accept pulls"),
    "registration-closed": (409, "the campaign has started, has no open registration, or is full"),
    "not-excludable": (409, "the client is already excluded, or the teacher cannot go on without it"),
    "moved": (409, "the client's pulls are answered by another server: an edge, or the leader"),
    "not-removable": (409, "the campaign must be stopped and exported first"),
    "too-large": (413, "more than 10,000 pulls, or a body longer than `--max-body`"),
    "unsupported-media-type": (415, "a `Content-Type` that the route does not accept, or a `Content-Encoding`"),
    "invalid": (422, "a value that is not allowed"),
    "warned": (422, "the campaign would have warnings, and `strict` was given"),
    "busy": (429, "too many pulls wait to be stored; see `Retry-After`"),
    "internal": (500, "a fault of the server; see its log"),
    "unavailable": (503, "the store cannot be reached or written; see `Retry-After`"),
    "no-leader": (503, "the server that leads the campaign cannot be reached; see `Retry-After`"),
}
STATUSES: Mapping[ProblemKind, int] = {kind: status for kind, (status, _) in PROBLEMS.items()}
_RETRY_SECONDS: Mapping[ProblemKind, int] = {"busy": 1, "unavailable": 2, "no-leader": 3}


class ProblemDetails(msgspec.Struct, omit_defaults=True):
    """The body of a refusal (RFC 9457)."""

    type: Annotated[
        str,
        limit(
            "`urn:tutelage:problem:` and the kind of problem, which never changes.",
            enum=[TYPE_PREFIX + kind for kind in PROBLEMS],
        ),
    ]
    title: Annotated[str, describe("The name of the HTTP status.")]
    status: Annotated[int, limit("The HTTP status.", minimum=400, maximum=599)]
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
