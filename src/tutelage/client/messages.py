"""What is sent, what comes back, and what each answer means for the caller."""

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
# The request itself is wrong, and its caller must mend it.  All else is the server's, or what stands between.
_CALLERS = frozenset({"malformed", "invalid", "conflict", "too-large", "unsupported-media-type"})
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_NAME = 128
_LONGEST_REASON = 500  # characters of a server's sentence
_CONTROLS = frozenset({"Cc", "Cs"})  # control characters, halves of surrogate pairs
_REPORT = frozenset({"id", "client", "arm", "reward", "bypassed"})

Pull = dict[str, Any]  # as it is sent: id, client, arm, reward, and bypassed if so


class PullRefused(Exception):
    """The server will never take this: the text says why, with the first fault, if there are any.

    ``status`` is of HTTP, ``problem`` its body, and ``faults`` what is wrong with which pull: objects with
    ``index`` (of the pull in the request, from 0), ``id``, ``field`` and ``what``, a sentence.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        found = problem.get("faults")
        self.faults = [fault for fault in found if isinstance(fault, dict)] if isinstance(found, list) else []
        told = str(problem.get("detail") or f"The server answered with status {status}.")
        if self.faults:
            first = self.faults[0]
            told += f" Pull {first.get('index')}, {first.get('field')}: {first.get('what')}"
        super().__init__(told)
        self.status, self.problem = status, problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.problem)


@dataclass(frozen=True)
class Observed:
    """A pull: who pulled which arm, and the reward observed, in the campaign's units."""

    client: str
    arm: str
    reward: float


@dataclass(frozen=True)
class Revealed:
    """The reward to show.  ``bypassed``: it is the observed one, since the server could not be asked."""

    reward: float
    adjustment: float
    id: str
    bypassed: bool


@dataclass(frozen=True)
class Failed:
    """No answer: why, whether another try may help, and how many seconds the server asks to wait.

    ``suspect``: one of the pulls may be the reason, so that others would be answered.
    """

    why: str
    passing: bool = True
    after: float = 0.0
    suspect: bool = False


@dataclass(frozen=True)
class Answer:
    """What came back, as far as it was read."""

    status: int
    content: bytes
    retry_after: str | None = None


def new_id() -> str:
    """An id that no other pull has and that sorts by time: milliseconds, a counter, chance; 32 digits."""
    return f"{time.time_ns() // 1_000_000:012x}{next(_COUNTER) % 0x10000:04x}{secrets.token_hex(8)}"


_COUNTER = itertools.count()


def as_sent(pulls: Sequence[Observed], ids: Sequence[str] | None) -> list[Pull]:
    """The pulls as they are sent.  Raises ``ValueError`` for what no server would take."""
    named = [new_id() for _ in pulls] if ids is None else list(ids)
    if len(named) != len(pulls):
        raise ValueError(f"The number of ids is {len(named)}, and that of the pulls {len(pulls)}.")
    return [_checked(id, pull.client, pull.arm, pull.reward) for id, pull in zip(named, pulls, strict=True)]


def _checked(id: object, client: object, arm: object, reward: object) -> Pull:
    for kind, name in (("id", id), ("client", client), ("arm", arm)):
        if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME:
            raise ValueError(f"The {kind} {name!r} is no text of 1 to {_LONGEST_NAME} characters.")
        if not name.isprintable() and any(unicodedata.category(each) in _CONTROLS for each in name):
            raise ValueError(
                f"The {kind} {name!r} is no name: it holds a control character or half of a surrogate pair."
            )
    return {"id": id, "client": client, "arm": arm, "reward": _finite(reward, client)}


def _finite(reward: object, client: object) -> float:
    """A reward as it is sent: any real number, of numpy too, but no bool and no text."""
    value = math.nan
    if not isinstance(reward, bool) and isinstance(reward, numbers.Real | Decimal):
        with contextlib.suppress(OverflowError, ValueError):
            value = float(reward)
    if not math.isfinite(value):
        raise ValueError(f"The reward {_shown(reward)} of client {client!r} is no finite number.")
    return value


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python writes no whole number of thousands of digits
        return f"of type {type(value).__name__}"


def as_report(content: object) -> Pull:
    """A line of a spool, if it is one.  Raises ``ValueError``."""
    if not isinstance(content, dict) or content.keys() != _REPORT or content["bypassed"] is not True:
        raise ValueError("This is no report.")
    return _checked(content["id"], content["client"], content["arm"], content["reward"]) | {"bypassed": True}


def understood(answer: Answer, pulls: Sequence[Pull]) -> list[Revealed] | Failed:
    """What an answer says.  Raises :class:`PullRefused` if these pulls will never be taken."""
    content = _json(answer.content)
    if answer.status == httpx.codes.OK:
        return _read(content, pulls) or Failed("the answer is not a Tutelage server's", suspect=True)
    problem = content if isinstance(content, dict) else {}
    kind = problem.get("type")
    is_callers = isinstance(kind, str) and kind.startswith(_TYPES) and kind.removeprefix(_TYPES) in _CALLERS
    if is_callers and 400 <= answer.status < 500:
        raise PullRefused(answer.status, problem)
    detail = problem.get("detail")
    is_passing = answer.status in _PASSING
    return Failed(
        _line(detail) if isinstance(detail, str) else f"the server answered with status {answer.status}",
        is_passing,
        _seconds(answer.retry_after),
        suspect=not is_passing or answer.status == httpx.codes.INTERNAL_SERVER_ERROR,
    )


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _line(text: str) -> str:
    """A stranger's sentence as it may stand in a log."""
    printable = (each if each.isprintable() else " " for each in text[:_LONGEST_REASON])
    return " ".join("".join(printable).split())


def _read(content: Any, pulls: Sequence[Pull]) -> list[Revealed] | None:
    """The answers, if they are answers to these pulls, with numbers that can be shown."""
    told = content.get("pulls") if isinstance(content, dict) else None
    if not isinstance(told, list) or len(told) != len(pulls):
        return None
    found = []
    for one, pull in zip(told, pulls, strict=True):
        if not isinstance(one, dict) or one.get("id") != pull["id"] or type(one.get("directive")) is not int:
            return None
        reward, adjustment = one.get("reward"), one.get("adjustment")
        if not (_is_number(reward) and _is_number(adjustment)):
            return None
        found.append(Revealed(float(reward), float(adjustment), pull["id"], bypassed="bypassed" in pull))
    return found


def _is_number(value: object) -> TypeGuard[float]:
    """Whether this is a finite number of JSON: true is none, nor is a text of digits."""
    try:
        return not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _seconds(header: str | None) -> float:
    """How long ``Retry-After`` asks to wait: it holds seconds or a date."""
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


def as_bypassed(pulls: Sequence[Pull]) -> list[Pull]:
    """The same pulls as they are reported."""
    return [pull | {"bypassed": True} for pull in pulls]


def observed_ones(pulls: Sequence[Pull]) -> list[Revealed]:
    """What is shown if nobody was asked."""
    return [Revealed(pull["reward"], 0.0, pull["id"], bypassed=True) for pull in pulls]
