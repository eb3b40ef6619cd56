"""Strict JSON: whatever two JSON readers might understand differently is refused.

msgspec refuses NaN, Infinity, numbers out of range, lone surrogates, raw control characters and booleans in
place of numbers.  It silently keeps the last of two values with the same key; this module refuses those, and
NUL characters and deep nesting.
"""

import json
import re
from typing import Any, TypeVar

import msgspec

from tutelage.service.api.problems import HttpProblem
from tutelage.service.campaigns.messages import Fault
from tutelage.struct_errors import explain_error

MAX_NESTING = 8
# A string without a closing quote reaches to the end: the search is not repeated from each quote in it.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")

Content = TypeVar("Content", bound=msgspec.Struct)


class EmptyObject(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request that takes none."""


def read_json(body: bytes, wanted: type[Content]) -> Content:
    """Decode a body as this type.  Raises :class:`HttpProblem`."""
    content = parse_json(body)
    try:
        return msgspec.convert(content, wanted)
    except msgspec.ValidationError as error:
        fault = explain_error(error, wanted)
        raise HttpProblem("invalid", fault.describe(), [Fault(0, "", fault.field, fault.describe())]) from None


def parse_json(body: bytes) -> Any:
    """Parse any JSON strictly.  Raises :class:`HttpProblem`."""
    if not body:
        raise HttpProblem("malformed", "The body is empty: send JSON.")
    if _measure_nesting(body) > MAX_NESTING:
        raise HttpProblem("malformed", f"The body is nested more than {MAX_NESTING} levels deep.")
    try:
        content = msgspec.json.decode(body)
    except ValueError as error:
        reason = str(error) if isinstance(error, msgspec.MsgspecError) else "it is not UTF-8"
        raise HttpProblem("malformed", f"The body is not valid JSON: {reason}.") from None
    if b"\\u0000" in body and _contains_nul(content):
        raise HttpProblem("malformed", "The body contains a NUL character.")
    json.loads(body, object_pairs_hook=_check_keys)
    return content


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise HttpProblem("malformed", f"The key {key!r} occurs twice in one object: remove one.")
        seen.add(key)


def _contains_nul(content: Any) -> bool:
    if isinstance(content, str):
        return "\0" in content
    if isinstance(content, dict):
        return any(_contains_nul(part) for pair in content.items() for part in pair)
    return isinstance(content, list) and any(map(_contains_nul, content))


def _measure_nesting(body: bytes) -> int:
    depth = deepest = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", body)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest
