"""The OpenAPI document, generated from the list of routes and their structs."""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from tutelage.service.api.access import COOKIE
from tutelage.service.api.problems import MEDIA_TYPE, ProblemDetails
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
    "key": {"type": "http", "scheme": "bearer", "description": "A key made with `tutelage key create`."},
    "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "Set by the login form."},
}
_WITH_KEY: list[dict[str, list[str]]] = [{"key": []}, {"cookie": []}, {}]  # {}: while no key exists


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
    success: dict[str, Any] = {"description": HTTPStatus(route.status).phrase}
    if route.answer is not None:
        success["content"] = {_JSON: {"schema": _choose(schemas[one] for one in _alternatives(route.answer))}}
    elif route.content_types:
        success["content"] = {one: {"schema": {"type": "string"}} for one in route.content_types}
    refusal = {"description": "Refused", "content": {MEDIA_TYPE: {"schema": schemas[ProblemDetails]}}}
    found: dict[str, Any] = {
        "tags": [route.tag],
        "summary": route.summary,
        "operationId": route.handler.__name__,
        "parameters": [*_describe_path(route.path), *_describe_query(route.query)],
        "responses": {str(route.status): success, "default": refusal},
    }
    access = f"Requires a key with the role {route.role}." if route.role != "anyone" else "Requires no key."
    found["description"] = f"{inspect.getdoc(route.handler)}\n\n{access}"
    if route.role != "anyone":
        found["security"] = _WITH_KEY
    if route.body is not None:
        schema = _choose(schemas[one] for one in _alternatives(route.body))
        found["requestBody"] = {"required": True, "content": {_JSON: {"schema": schema}}}
    return found


def _alternatives(types: Any) -> tuple[Any, ...]:
    return () if types is None else types if isinstance(types, tuple) else (types,)


def _choose(schemas: Iterable[Any]) -> Any:
    found = list(schemas)
    return found[0] if len(found) == 1 else {"anyOf": found}


def _describe_path(path: str) -> list[dict[str, Any]]:
    schema = msgspec.json.schema(CampaignName)
    return [{"name": name, "in": "path", "required": True, "schema": schema} for name in re.findall(r"{(\w+)}", path)]


def _describe_query(query: Any) -> list[dict[str, Any]]:
    if query is None:
        return []
    (_,), components = msgspec.json.schema_components([query])
    properties = components[query.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in properties.items()]
