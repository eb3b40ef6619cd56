"""The messages of the client: pulls as they are sent, responses, and what a response means for the caller."""

import contextlib
import email.utils
import itertools
import json
import math
import numbers
import secrets
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeGuard

import httpx

_TYPES = "urn:tutelage:problem:"
# Problems of the request, which its caller must fix.  All others are the server's or a proxy's.
_CALLER_PROBLEMS = frozenset({"malformed", "invalid", "conflict", "too-large", "unsupported-media-type"})
_TEMPORARY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
PROXY_STATUSES = frozenset({502, 503, 504})  # of a proxy whose server is away
_LONGEST_NAME = 128
_LONGEST_REASON = 500  # characters of a server's sentence that are logged
_CONTROLS = frozenset({"Cc", "Cs"})  # control characters and halves of surrogate pairs
_REPORT_FIELDS = frozenset({"id", "client", "arm", "reward", "bypassed"})

Pull = dict[str, Any]  # as it is sent: id, client, arm, reward, and bypassed if it was


class PullRefusal(Exception):
    """The server refuses the request permanently; the text is its sentence and the first fault.

    ``status`` is the HTTP status, ``problem`` the body of the response.  ``faults`` are objects with ``index``
    (place of the pull in the request, from 0), ``id``, ``field`` and ``what``, a sentence.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        found = problem.get("faults")
        self.faults = [fault for fault in found if isinstance(fault, dict)] if isinstance(found, list) else []
        sentence = str(problem.get("detail") or f"The server answered with status {status}.")
        if self.faults:
            first = self.faults[0]
            sentence += f" Pull {first.get('index')}, {first.get('field')}: {first.get('what')}"
        super().__init__(sentence)
        self.status, self.problem = status, problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.problem)


class CheckFailure(Exception):
    """The server cannot be used with this address, campaign and key; the text says why."""


@dataclass(frozen=True)
class ObservedReward:
    """The reward that a client observed for a pull of an arm, in the campaign's units."""

    client: str
    arm: str
    reward: float


@dataclass(frozen=True)
class RevealedReward:
    """The reward to reveal.  ``bypassed``: it is the observed reward, since the server did not answer."""

    reward: float
    adjustment: float
    id: str
    bypassed: bool


@dataclass(frozen=True)
class Failure:
    """The reason why no usable response came.

    ``is_temporary``: another request may succeed.  ``retry_after`` is the number of seconds that the server
    asks to wait.  ``may_be_pulls``: one of the pulls may be the cause, so that others would be answered.
    """

    reason: str
    is_temporary: bool = True
    retry_after: float = 0.0
    may_be_pulls: bool = False


def new_id() -> str:
    """Return a unique id that sorts by time: 32 hexadecimal digits of milliseconds, a counter and chance."""
    return f"{time.time_ns() // 1_000_000:012x}{next(_COUNTER) % 0x10000:04x}{secrets.token_hex(8)}"


_COUNTER = itertools.count()


def make_pulls(pulls: Sequence[ObservedReward], ids: Sequence[str] | None) -> list[Pull]:
    """Return the pulls as they are sent.  Raises ``ValueError`` for values that no server accepts."""
    named = [new_id() for _ in pulls] if ids is None else list(ids)
    if len(named) != len(pulls):
        raise ValueError(f"There are {len(named)} ids for {len(pulls)} pulls: give one id per pull.")
    return [_make_pull(id, pull.client, pull.arm, pull.reward) for id, pull in zip(named, pulls, strict=True)]


def _make_pull(id: object, client: object, arm: object, reward: object) -> Pull:
    for kind, name in (("id", id), ("client", client), ("arm", arm)):
        if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME:
            raise ValueError(f"Invalid {kind} {name!r}: use text of 1 to {_LONGEST_NAME} characters.")
        if not name.isprintable() and any(unicodedata.category(each) in _CONTROLS for each in name):
            raise ValueError(f"Invalid {kind} {name!r}: it contains a control character or half of a surrogate pair.")
    return {"id": id, "client": client, "arm": arm, "reward": _finite(reward, client)}


def _finite(reward: object, client: object) -> float:
    """Convert a reward, which may be any finite real number, also numpy's, but not a bool or text."""
    value = math.nan
    if not isinstance(reward, bool) and isinstance(reward, numbers.Real | Decimal):
        with contextlib.suppress(OverflowError, ValueError):
            value = float(reward)
    if not math.isfinite(value):
        raise ValueError(f"Invalid reward {_format(reward)} of client {client!r}: use a finite number.")
    return value


def _format(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python does not format whole numbers of thousands of digits
        return f"of type {type(value).__name__}"


def parse_report(content: object) -> Pull:
    """Return the report in a line of a spool.  Raises ``ValueError`` if it is not one."""
    if not isinstance(content, dict) or content.keys() != _REPORT_FIELDS or content["bypassed"] is not True:
        raise ValueError("The line is not a report.")
    return _make_pull(content["id"], content["client"], content["arm"], content["reward"]) | {"bypassed": True}


def interpret_answer(answer: httpx.Response, pulls: Sequence[Pull]) -> list[RevealedReward] | Failure:
    """Return what a response says.  Raises :class:`PullRefusal` if the pulls are refused permanently."""
    content = _json(answer.content)
    if answer.status_code == httpx.codes.OK:
        return _read(content, pulls) or Failure("the response is not that of a Tutelage server", may_be_pulls=True)
    problem = content if isinstance(content, dict) else {}
    kind = problem.get("type")
    is_callers_problem = (
        isinstance(kind, str) and kind.startswith(_TYPES) and kind.removeprefix(_TYPES) in _CALLER_PROBLEMS
    )
    if is_callers_problem and 400 <= answer.status_code < 500:
        raise PullRefusal(answer.status_code, problem)
    detail = problem.get("detail")
    is_temporary = answer.status_code in _TEMPORARY_STATUSES
    return Failure(
        _line(detail) if isinstance(detail, str) else f"the server answered with status {answer.status_code}",
        is_temporary,
        _seconds(answer.headers.get("Retry-After")),
        may_be_pulls=not is_temporary or answer.status_code == httpx.codes.INTERNAL_SERVER_ERROR,
    )


def interpret_access(answer: httpx.Response, server: str) -> str:
    """Return the status of the campaign that a key may send pulls to.  Raises :class:`CheckFailure`."""
    content = _json(answer.content)
    found = content if isinstance(content, dict) else {}
    status, kind, detail = found.get("status"), found.get("type"), found.get("detail")
    if answer.status_code == httpx.codes.OK and isinstance(status, str):
        return status
    if isinstance(kind, str) and kind.startswith(_TYPES) and isinstance(detail, str):
        raise CheckFailure(f"{server}: {_line(detail)}")
    if answer.status_code in PROXY_STATUSES:
        raise CheckFailure(f"{server} {describe_proxy_status(answer.status_code)}")
    fault = f"{server} is not a Tutelage server: it answers with status {answer.status_code}."
    raise CheckFailure(f"{fault} Check its address.")


def describe_proxy_status(status: int) -> str:
    """Return the end of a sentence about an address that answers with one of ``PROXY_STATUSES``."""
    return f"answers with status {status}, as a proxy does while its server is away: check that the server is running."


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _line(text: str) -> str:
    """Return a server's sentence as one printable line for the log."""
    printable = (each if each.isprintable() else " " for each in text[:_LONGEST_REASON])
    return " ".join("".join(printable).split())


def _read(content: Any, pulls: Sequence[Pull]) -> list[RevealedReward] | None:
    """Return the rewards, or None unless they answer these pulls with finite numbers."""
    responses = content.get("pulls") if isinstance(content, dict) else None
    if not isinstance(responses, list) or len(responses) != len(pulls):
        return None
    found = []
    for one, pull in zip(responses, pulls, strict=True):
        if not isinstance(one, dict) or one.get("id") != pull["id"] or type(one.get("directive")) is not int:
            return None
        reward, adjustment = one.get("reward"), one.get("adjustment")
        if not (_is_number(reward) and _is_number(adjustment)):
            return None
        found.append(RevealedReward(float(reward), float(adjustment), pull["id"], bypassed="bypassed" in pull))
    return found


def _is_number(value: object) -> TypeGuard[float]:
    """Whether this is a finite JSON number, which true or a text of digits is not."""
    try:
        return not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _seconds(header: str | None) -> float:
    """Return the seconds to wait that ``Retry-After`` asks for, as a number or a date."""
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return seconds if 0.0 <= seconds < math.inf else 0.0


def mark_bypassed(pulls: Sequence[Pull]) -> list[Pull]:
    """Return the pulls as they are reported."""
    return [pull | {"bypassed": True} for pull in pulls]


def reveal_observed(pulls: Sequence[Pull]) -> list[RevealedReward]:
    """Return the observed rewards, to be revealed without a response."""
    return [RevealedReward(pull["reward"], 0.0, pull["id"], bypassed=True) for pull in pulls]
