"""The OpenAPI document, generated from the list of routes and their structs."""

import functools
import inspect
import itertools
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from importlib import resources
from typing import Any

import msgspec

from tutelage.service.api.access import COOKIE
from tutelage.service.api.problems import MEDIA_TYPE, PROBLEMS, STATUSES, TYPE_PREFIX, ProblemDetails
from tutelage.service.api.route import Route
from tutelage.service.api.schemas import CampaignName

_REFERENCE = "#/components/schemas/{name}"
_JSON = "application/json"
_DESCRIPTION = (
    "Bodies are JSON.  Once a key exists, each request needs one: `Authorization: Bearer KEY`, or the cookie "
    "that the login form sets.  A refused request is answered with `application/problem+json` (RFC 9457)."
)
_TAGS: Mapping[str, str] = {
    "campaigns": "Create, start, stop, list and delete campaigns.",
    "pulls": "Exchange observed rewards for rewards to reveal.",
    "ledger": "Read what happened in a campaign.",
    "keys": "Read who has access.",
    "monitoring": "Observe the server and its campaigns.",
}
_SECURITY_SCHEMES = {
    "key": {
        "type": "http",
        "scheme": "bearer",
        "description": "The secret of a key made with `tutelage key create`.  Operations list the role that it needs: "
        "a key with the role admin has all of them.  A key that is limited to one campaign is refused elsewhere.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "Set by the login form; it has the role of the key that was given there.",
    },
}
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_LOCATION = {"Location": {"description": "Path of the campaign.", "schema": {"type": "string"}}}


def build_document(routes: Sequence[Route], root_path: str = "") -> dict[str, Any]:
    """Return the document of all routes that have a summary, served under ``root_path``."""
    listed = [route for route in routes if route.summary]
    types = {ProblemDetails: None}
    for route in listed:
        types |= dict.fromkeys([*_alternatives(route.body), *_alternatives(route.answer)])
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _describe_operation(route, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tutelage", "version": "1", "description": _DESCRIPTION},
        "servers": [{"url": root_path or "/"}],
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY_SCHEMES},
    }


def _describe_operation(route: Route, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    """``operationId`` is the handler's name, and its docstring the description."""
    examples = read_examples().get(route.handler.__name__, {})
    access = f"Requires a key with the role {route.role}." if route.role != "anyone" else "Requires no key."
    found: dict[str, Any] = {
        "tags": [route.tag],
        "summary": route.summary,
        "description": f"{inspect.getdoc(route.handler)}\n\n{access}",
        "operationId": route.handler.__name__,
        "parameters": [*_describe_path(route.path), *_describe_query(route.query)],
        "responses": {
            str(route.status): _describe_success(route, schemas, examples.get("response", {})),
            **_describe_refusals(route, schemas[ProblemDetails]),
        },
        "security": _describe_security(route),
    }
    if route.body is not None:
        found["requestBody"] = {
            "required": True,
            "content": {_JSON: _describe_content(route.body, schemas, examples.get("request", {}))},
        }
    return found


def _describe_success(route: Route, schemas: Mapping[Any, Any], examples: Mapping[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": route.summary}
    if route.status == HTTPStatus.CREATED:
        success["headers"] = _LOCATION
    if route.answer is not None:
        success["content"] = {_JSON: _describe_content(route.answer, schemas, examples)}
    elif route.content_types:
        success["content"] = {one: {"schema": {"type": "string"}} for one in route.content_types}
    return success


def _describe_content(types: Any, schemas: Mapping[Any, Any], examples: Mapping[str, Any]) -> dict[str, Any]:
    """``examples`` are values by their names."""
    found = [schemas[one] for one in _alternatives(types)]
    content: dict[str, Any] = {"schema": found[0] if len(found) == 1 else {"anyOf": found}}
    if examples:
        content["examples"] = {name: {"value": value} for name, value in examples.items()}
    return content


def _describe_refusals(route: Route, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Every status with which the route refuses a request: the types of problems, each with its meaning."""
    found: dict[str, Any] = {}
    for status, kinds in itertools.groupby(route.all_problems, STATUSES.__getitem__):
        meanings = {kind: PROBLEMS[kind][1] for kind in kinds}
        types = {"properties": {"type": {"type": "string", "enum": [TYPE_PREFIX + kind for kind in meanings]}}}
        found[str(status)] = {
            "description": "; ".join(f"`{kind}`: {meaning}" for kind, meaning in meanings.items()),
            "content": {MEDIA_TYPE: {"schema": {"allOf": [schema, types]}}},
        }
        if status in {STATUSES["busy"], STATUSES["unavailable"]}:
            found[str(status)]["headers"] = _RETRY_AFTER
    return found


def _describe_security(route: Route) -> list[dict[str, list[str]]]:
    """The role of a key in the header or of a login; nothing for a route that is open to anyone.

    The last alternative, nothing, holds while no key exists.  A reporter's key cannot log in.
    """
    if route.role == "anyone":
        return []
    login = "admin" if route.role == "reporter" else route.role
    return [{"key": [route.role]}, {"cookie": [login]}, {}]


@functools.cache
def read_examples() -> dict[str, dict[str, dict[str, Any]]]:
    """Requests and responses by operation and name, as a server answered them (tests/service/api/examples.py)."""
    content = resources.files(__package__).joinpath("static", "examples.json").read_bytes()
    found: dict[str, dict[str, dict[str, Any]]] = msgspec.json.decode(content)
    return found


def _alternatives(types: Any) -> tuple[Any, ...]:
    return () if types is None else types if isinstance(types, tuple) else (types,)


def _describe_path(path: str) -> list[dict[str, Any]]:
    schema = msgspec.json.schema(CampaignName)
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in re.findall(r"{(\w+)}", path)]


def _describe_query(query: Any) -> list[dict[str, Any]]:
    if query is None:
        return []
    (_,), components = msgspec.json.schema_components([query])
    properties = components[query.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]
