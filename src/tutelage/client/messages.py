"""What is sent, what comes back, and what each answer means for the caller."""

import email.utils
import itertools
import math
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

_TYPES = "urn:tutelage:problem:"
# The request itself is wrong, and its caller must mend it.  All else is the server's, or what stands between.
_CALLERS = frozenset({"malformed", "invalid", "conflict", "too-large", "unsupported-media-type"})
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_LONGEST_NAME = 128

Pull = dict[str, Any]  # as it is sent: id, client, arm, reward, and bypassed if so


class PullRefused(Exception):
    """The server will never take this: the text says why, ``status`` is of HTTP, ``problem`` its body."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail") or f"The server answered with status {status}.")
        self.status, self.problem = status, problem


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
    """No answer: why, whether another try may help, and how many seconds the server asks to wait."""

    why: str
    passing: bool = True
    after: float = 0.0


def new_id() -> str:
    """An id that no other pull has and that sorts by time: milliseconds, a counter, chance; 32 digits."""
    return f"{time.time_ns() // 1_000_000:012x}{next(_COUNTER) % 0x10000:04x}{secrets.token_hex(8)}"


_COUNTER = itertools.count()


def as_sent(pulls: Sequence[Observed], ids: Sequence[str] | None) -> list[Pull]:
    """The pulls as they are sent.  Raises ``ValueError`` for what no server would take."""
    named = [new_id() for _ in pulls] if ids is None else list(ids)
    if len(named) != len(pulls):
        raise ValueError(f"There are {len(named)} ids for {len(pulls)} pulls.")
    for id in named:
        _check_name("id", id)
    for pull in pulls:
        _check_name("client", pull.client)
        _check_name("arm", pull.arm)
        if not math.isfinite(pull.reward):
            raise ValueError(f"The reward {pull.reward!r} of client {pull.client!r} is no finite number.")
    return [
        {"id": id, "client": pull.client, "arm": pull.arm, "reward": float(pull.reward)}
        for id, pull in zip(named, pulls, strict=True)
    ]


def _check_name(kind: str, name: object) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= _LONGEST_NAME:
        raise ValueError(f"The {kind} {name!r} is no text of 1 to {_LONGEST_NAME} characters.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"The {kind} {name!r} is no text that can be sent.") from None


def understood(response: httpx.Response, pulls: Sequence[Pull]) -> list[Revealed] | Failed:
    """What an answer says.  Raises :class:`PullRefused` if these pulls will never be taken."""
    content = _json(response)
    if response.status_code == httpx.codes.OK:
        return _read(content, pulls) or Failed("the answer is not a Tutelage server's")
    problem = content if isinstance(content, dict) else {}
    kind = str(problem.get("type", "")).removeprefix(_TYPES)
    if kind in _CALLERS and str(problem["type"]).startswith(_TYPES):
        raise PullRefused(response.status_code, problem)
    why = str(problem.get("detail") or f"the server answered with status {response.status_code}")
    return Failed(why, response.status_code in _PASSING, _seconds(response.headers.get("Retry-After")))


def _json(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def _read(content: Any, pulls: Sequence[Pull]) -> list[Revealed] | None:
    """The answers, if they are answers to these pulls."""
    try:
        told = [(one["id"], float(one["reward"]), float(one["adjustment"])) for one in content["pulls"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if [id for id, *_ in told] != [pull["id"] for pull in pulls]:
        return None
    return [
        Revealed(reward, adjustment, id, bypassed="bypassed" in pull)
        for (id, reward, adjustment), pull in zip(told, pulls, strict=True)
    ]


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
