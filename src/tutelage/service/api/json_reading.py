"""Strict JSON from strangers: what two readers might understand differently is refused.

msgspec decodes, and refuses NaN, Infinity, numbers out of range, lone surrogates, raw control characters and
booleans where numbers belong.  It takes the last of two values with one key in silence; that, escaped NULs
and nesting beyond 8 are looked for here.
"""

import json
import re
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from tutelage.service.api.problems import Problem
from tutelage.service.api.validation import objection
from tutelage.service.campaigns.messages import Fault, PullRequest

MOST_PULLS = 10_000
MOST_NESTING = 8
# A string that nobody closes reaches to the end: looked for once, and not anew from each quote within.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")

Read = TypeVar("Read")


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """One pull, or ``pulls``; both at once are refused."""

    id: str | UnsetType = UNSET
    client: str | UnsetType = UNSET
    arm: str | UnsetType = UNSET
    reward: float | UnsetType = UNSET
    bypassed: bool | UnsetType = UNSET
    pulls: list[PullRequest] | UnsetType = UNSET


_REQUEST = msgspec.json.Decoder(Request)


def read_pulls(body: bytes) -> tuple[list[PullRequest], bool]:
    """The pulls of a request, and whether it was one object.  Raises :class:`Problem`."""
    try:
        request = _REQUEST.decode(body)
    except ValueError:
        return _read_slowly(body)
    one = request.pulls is UNSET
    if request.pulls is UNSET:
        if request.id is UNSET or request.client is UNSET or request.arm is UNSET or request.reward is UNSET:
            return _read_slowly(body)
        bypassed = request.bypassed is True
        pulls = [PullRequest(request.id, request.client, request.arm, request.reward, bypassed)]
    else:
        pulls = request.pulls
        if len(pulls) > MOST_PULLS:
            raise Problem("too-large", f"{len(pulls)} pulls are more than the {MOST_PULLS} of one request.")
    if not _is_plain(body, len(pulls), one=one):
        return _read_slowly(body)
    return pulls, one


def _is_plain(body: bytes, size: int, *, one: bool) -> bool:
    """Whether no key can be there twice, nor anything be escaped: counted, since that is quick.

    Without a backslash, four keys and three strings are fourteen quotes a pull, and a key more is two more.
    """
    return b"\\" not in body and body.count(b'"') == 14 * size + (0 if one else 2)


def _read_slowly(body: bytes) -> tuple[list[PullRequest], bool]:
    """The same, for bodies in which something is wrong or unusual."""
    content = _parse(body)
    if not isinstance(content, dict):
        raise Problem("malformed", "The body is no JSON object: send a pull, or an object with pulls.")
    one = "pulls" not in content
    if not one and len(content) > 1:
        raise Problem("malformed", "Beside pulls the object has other keys: send one pull or pulls.")
    items = [content] if one else content["pulls"]
    if not isinstance(items, list) or not items:
        raise Problem("invalid", "pulls is no list of at least one pull.")
    if len(items) > MOST_PULLS:
        raise Problem("too-large", f"{len(items)} pulls are more than the {MOST_PULLS} of one request.")
    pulls, faults = [], list[Fault]()
    for index, item in enumerate(items):
        try:
            pulls.append(msgspec.convert(item, PullRequest))
        except msgspec.ValidationError as error:
            faults.append(_fault(index, item, error))
    if faults:
        raise Problem("invalid", "Pulls have fields that are missing, unknown or of a wrong type.", faults)
    return pulls, one


def _fault(index: int, item: Any, error: msgspec.ValidationError) -> Fault:
    id = item.get("id", "") if isinstance(item, dict) else ""
    field, what = objection(error)
    return Fault(index, id if isinstance(id, str) else "", field, what)


def read_json(body: bytes, type: type[Read]) -> Read:
    """A body as a value of this type.  Raises :class:`Problem`."""
    content = _parse(body)
    try:
        return msgspec.convert(content, type)
    except msgspec.ValidationError as error:
        field, what = objection(error)
        raise Problem("invalid", what, [Fault(0, "", field, what)]) from None


def _parse(body: bytes) -> Any:
    """Any JSON, with what msgspec would let pass refused."""
    if not body:
        raise Problem("malformed", "The body is empty: send JSON.")
    if _nesting(body) > MOST_NESTING:
        raise Problem("malformed", f"The body is nested more than {MOST_NESTING} deep.")
    try:
        content = msgspec.json.decode(body)
    except msgspec.ValidationError as error:
        raise Problem("malformed", f"{error}.") from None
    except ValueError as error:
        told = str(error) if isinstance(error, msgspec.DecodeError) else "The body is not UTF-8"
        raise Problem("malformed", f"{told}.") from None
    if b"\\u0000" in body and _holds_nul(content):
        raise Problem("malformed", "The body holds a NUL character.")
    json.loads(body, object_pairs_hook=_once)
    return content


def _once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise Problem("malformed", f"The key {key!r} is there twice in one object.")
        seen.add(key)


def _holds_nul(content: Any) -> bool:
    if isinstance(content, str):
        return "\0" in content
    if isinstance(content, dict):
        return any(_holds_nul(part) for pair in content.items() for part in pair)
    return isinstance(content, list) and any(map(_holds_nul, content))


def _nesting(body: bytes) -> int:
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest
