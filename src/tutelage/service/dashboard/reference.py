"""``/docs``: what OpenAPI says of this server, as a page of our own; nothing is fetched for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tutelage.service.dashboard.templating import BrowserTab, environment, icon_address

Document = Mapping[str, Any]
_PREFIX = "#/components/schemas/"
_LIMITS = (("minimum", "at least {}"), ("maximum", "at most {}"), ("minItems", "at least {} of them"),
           ("maxItems", "at most {} of them"))  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A parameter of an address, or a field of a schema; ``links`` are the schemas that its kind names."""

    name: str
    place: str
    kind: str
    needed: bool
    default: str
    links: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    """A method of an address; ``body`` and ``answer`` say what goes in and what comes out."""

    method: str
    path: str
    summary: str
    fields: tuple[Field, ...]
    body: Field | None
    answer: Field | None


@dataclass(frozen=True)
class Schema:
    """An object that is sent or told."""

    name: str
    description: str
    fields: tuple[Field, ...]


def reference_page(document: Document, *, signed_in: bool = False) -> str:
    """The page."""
    template = environment().get_template("reference.html")
    return template.render(
        root="",
        tab=BrowserTab("API · Tutelage", icon_address("plain"), ""),
        operations=list(operations_of(document)),
        schemas=list(schemas_of(document)),
        refresh=False,
        signed_in=signed_in,
    )


def operations_of(document: Document) -> Iterator[Operation]:
    """Every method of every address, in the document's order of addresses."""
    for path, methods in sorted(document["paths"].items()):
        for method, told in methods.items():
            yield Operation(
                method.upper(),
                path,
                told.get("description") or told.get("summary", ""),
                tuple(
                    _field(item["name"], item["in"], item["schema"], needed=item.get("required", False))
                    for item in told.get("parameters", ())
                ),
                _content(told.get("requestBody", {})),
                next(
                    (_content(answer) for code, answer in told["responses"].items() if code.startswith("2")),
                    None,
                ),
            )


def schemas_of(document: Document) -> Iterator[Schema]:
    """The schemas that have fields."""
    for name, schema in sorted(document["components"]["schemas"].items()):
        needed = schema.get("required", ())
        yield Schema(
            name,
            schema.get("description", ""),
            tuple(
                _field(key, "", value, needed=key in needed)
                for key, value in schema.get("properties", {}).items()
            ),
        )


def _content(told: Document) -> Field | None:
    for media, content in told.get("content", {}).items():
        if content.get("schema"):
            return _field(media, "", content["schema"], needed=True)
    return None


def _field(name: str, place: str, schema: Document, *, needed: bool) -> Field:
    default = "" if "default" not in schema or schema["default"] is None else repr(schema["default"])
    return Field(name, place, _kind(schema), needed, default, tuple(dict.fromkeys(_links(schema))))


def _kind(schema: Document) -> str:
    """A schema in words: ``list of strings, at least 1 of them``."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_PREFIX)
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return " or ".join(dict.fromkeys(_kind(one) for one in schema[union]))
    if "enum" in schema or "const" in schema:
        return " or ".join(str(value) for value in schema.get("enum", [schema.get("const")]))
    kind = schema.get("type", "anything")
    if kind == "array":
        kind = f"list of {_kind(schema.get('items', {}))}"
    elif kind == "object" and "properties" in schema:
        inside = ", ".join(f"{name}: {_kind(one)}" for name, one in schema["properties"].items())
        kind = f"object with {inside}"
    elif kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        kind = f"object of {_kind(schema['additionalProperties'])}"
    limits = [words.format(f"{schema[key]:,}") for key, words in _LIMITS if key in schema]
    return ", ".join([str(kind), *limits])


def _links(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield str(schema["$ref"]).removeprefix(_PREFIX)
        for value in schema.values():
            yield from _links(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _links(value)
