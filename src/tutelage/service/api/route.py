"""Routes as values: one list of them drives matching, roles, validation and the OpenAPI document."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, parse_qsl

import msgspec
from starlette.requests import Request
from starlette.routing import compile_path

from tutelage.service.api.access import Caller, RequiredRole, find_address
from tutelage.service.api.problems import PROBLEMS, HttpProblem, ProblemKind
from tutelage.service.api.strict_json import EmptyObject, read_json
from tutelage.service.campaigns.messages import Origin
from tutelage.struct_errors import explain_error

Scope = dict[str, Any]
_READING = frozenset({"GET", "HEAD"})
_MOST_FIELDS = 10  # of a form


@dataclass(frozen=True)
class Route:
    """One method of one path.

    ``path`` has fields in braces, as in ``/v1/campaigns/{name}``.  ``handler`` takes a :class:`Call` and
    returns a struct, JSON as bytes or a Starlette response.  ``body``, ``query`` and ``answer`` are structs,
    or tuples of alternatives.  ``read`` decodes a body that has alternatives.  ``content_types`` are those of
    an answer that is not JSON.  A route without a ``summary`` is not in the OpenAPI document; the others are
    described there by the docstring of their handler.
    """

    method: str
    path: str
    handler: Callable[["Call"], Awaitable[Any]]
    role: RequiredRole
    summary: str = ""
    tag: str = ""
    body: Any = None
    query: Any = None
    answer: Any = None
    status: int = 200
    content_types: tuple[str, ...] = ()
    read: Callable[[bytes], Any] | None = None
    is_form: bool = False
    refused: Callable[[str, Any], object] | None = None  # called with a refusal's kind and the body, if it was read
    is_frequent: bool = False  # successful requests are not logged
    max_key_age: float | None = None  # seconds for which keys stay good while the store is away, if not as usual
    problems: tuple[ProblemKind, ...] = ()  # of this route, next to those that follow from its other fields
    takes_campaign_keys: bool = False  # although the path names no campaign: the handler shows only the key's own

    @property
    def all_problems(self) -> list[ProblemKind]:
        """The kinds of problems with which the route can be answered, in the order of ``PROBLEMS``."""
        found: set[ProblemKind] = {"malformed", "timeout", "too-large", "unsupported-media-type", "internal"}
        if self.role != "anyone":
            found |= {"unauthorized", "forbidden", "unavailable"}
        if "{name}" in self.path:
            found |= {"unknown-campaign", "no-leader"}
        if self.body is not None or self.query is not None or self.method not in _READING:
            found.add("invalid")
        return [kind for kind in PROBLEMS if kind in found.union(self.problems)]

    def check_campaign(self, caller: Caller, parameters: Mapping[str, str]) -> None:
        """Raise :class:`HttpProblem` if the key is limited to another campaign than that of the path."""
        if self.role != "anyone" and not self.takes_campaign_keys:
            caller.check_campaign(parameters.get("name"))

    def read_body(self, content: bytes) -> Any:
        """Decode a body.  Raises :class:`HttpProblem`."""
        if self.read is not None:
            return self.read(content)
        if self.body is not None:
            return read_json(content, self.body)
        if content and not self.is_form and self.method not in _READING:
            read_json(content, EmptyObject)
        return None

    def read_query(self, text: bytes) -> Any:
        """Decode a query string.  Raises :class:`HttpProblem`."""
        if self.query is None:
            return None
        values = dict(parse_qsl(text.decode("latin-1"), keep_blank_values=True))
        try:
            return msgspec.convert(values, self.query, strict=False)
        except msgspec.ValidationError as error:
            fault = explain_error(error, self.query)
            fault = replace(fault, found=repr(values[fault.field]))
            raise HttpProblem("invalid", fault.describe(part="The query parameter")) from None


@dataclass(slots=True)
class Call:
    """A request that the gateway has checked: who sent it, and its decoded parts."""

    scope: Scope
    caller: Caller
    request_id: bytes
    parameters: Mapping[str, str]  # the fields of the path
    content: bytes
    body: Any = None
    query: Any = None

    @property
    def name(self) -> str:
        """The campaign in the path."""
        return self.parameters["name"]

    @property
    def origin(self) -> Origin:
        """Who sent the request, for the ledger and the audit log."""
        return Origin(self.caller.name, find_address(self.scope, dict(self.scope["headers"])))

    @property
    def form(self) -> dict[str, list[str]]:
        """The fields of a form; none if there are more than any form of the pages has."""
        try:
            return parse_qs(self.content.decode("latin-1"), max_num_fields=_MOST_FIELDS)
        except ValueError:
            return {}

    @property
    def request(self) -> Request:
        """Starlette's view of the request: headers, cookies, query."""
        return Request(self.scope | {"path_params": self.parameters})


class RouteTable:
    """Finds the routes of a path.  Paths with frequent routes are tried first; of the others earlier ones win."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.routes = tuple(routes)
        by_path: dict[str, dict[str, Route]] = {}
        for route in self.routes:
            by_path.setdefault(route.path, {}).setdefault(route.method, route)
        for methods in by_path.values():
            if "GET" in methods:
                methods["HEAD"] = methods["GET"]
        self._fixed = {path: methods for path, methods in by_path.items() if "{" not in path}
        patterns = [(compile_path(path)[0], methods) for path, methods in by_path.items() if "{" in path]
        self._patterns = sorted(patterns, key=lambda each: not any(route.is_frequent for route in each[1].values()))

    def find(self, path: str) -> tuple[Mapping[str, Route], Mapping[str, str]]:
        """Return the routes of a path by method, none if nothing is there, and the path's fields."""
        if (methods := self._fixed.get(path)) is not None:
            return methods, {}
        for pattern, methods in self._patterns:
            if found := pattern.match(path):
                return methods, found.groupdict()
        return {}, {}
