"""The pages of reference that are written from the code when the site is built: commands, HTTP and Python."""

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import typer.main

import tutelage
from tutelage.cli.app import app
from tutelage.service.api.api_routes import api_routes
from tutelage.service.api.openapi import build_document


def underlined(title: str, mark: str) -> list[str]:
    """A heading of reStructuredText."""
    return [title, mark * len(title), ""]


def literal(text: str) -> str:
    """Text as code, or nothing for no text."""
    return f"``{text}``" if text else ""


def plain(text: str) -> str:
    """Text of one paragraph, in which nothing is markup but code in backticks."""
    words = " ".join(text.split()).replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")
    return words.replace("_ ", "\\_ ")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table of reStructuredText."""
    yield ".. list-table::"
    yield "   :header-rows: 1"
    yield ""
    for row in (head, *rows):
        for index, cell in enumerate(row):
            yield f"   {'* -' if index == 0 else '  -'} {cell}"
    yield ""


def commands(group: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Every command of a group and of the groups in it, with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{words} {name}")
        else:
            yield f"{words} {name}", command


def describe_command(words: str, command: Any) -> Iterator[str]:
    """Help, usage and options of a command."""
    context = command.make_context(words, [], resilient_parsing=True)
    yield from underlined(words, "-")
    for paragraph in (command.help or "").split("\n\n"):
        yield from (plain(paragraph.replace("\b", "")), "")
    yield from (".. code-block:: text", "", f"   {command.get_usage(context).removeprefix('Usage: ')}", "")
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    rows = [(literal(record[0]), plain(record[1])) for record in records if record]
    yield from table(("argument or option", "meaning"), rows)


def command_page() -> str:
    """Every command with its options."""
    lines = [
        *underlined("Commands", "="),
        "Every command with its arguments and options, as ``--help`` prints them.",
        "",
    ]
    for words, command in commands(typer.main.get_command(app), "tutelage"):
        lines += describe_command(words, command)
    return "\n".join(lines)


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema of JSON in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"`{name}`_"
    if "anyOf" in schema:
        return " or ".join(schema_text(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(literal(json.dumps(each)) for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {schema_text(schema.get('items', {}))}"
    if schema.get("type") == "object" and schema.get("additionalProperties"):
        return f"object of {schema_text(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))


def describe_operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    """What an operation does, and the bodies of its request and of its response."""
    yield from underlined(f"{method.upper()} {path}", "-")
    for paragraph in operation["description"].split("\n\n"):
        yield from (plain(paragraph), "")
    rows = [
        (literal(each["name"]), each["in"], schema_text(each["schema"]), plain(each["schema"].get("description", "")))
        for each in operation["parameters"]
    ]
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        rows.append(("body", media, schema_text(content["schema"]), ""))
    for code, response in operation["responses"].items():
        for media, content in response.get("content", {}).items():
            rows.append((f"response {code}", media, schema_text(content["schema"]), ""))
    yield from table(("name", "where", "type", "meaning"), rows)


def http_page(document: Mapping[str, Any]) -> str:
    """Every operation and every struct of the HTTP API."""
    lines = [*underlined("HTTP operations and structs", "=")]
    lines += ["Every operation and every field, as the server's own ``/openapi.json`` has them.", ""]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            lines += describe_operation(method, path, operation)
    for name, schema in document["components"]["schemas"].items():
        lines += [*underlined(name, "-"), plain(schema.get("description", "")), ""]
        rows = []
        for field, value in schema.get("properties", {}).items():
            required = "required" if field in schema.get("required", ()) else ""
            rows.append((literal(field), schema_text(value), required, plain(value.get("description", ""))))
        if rows:
            lines += table(("field", "type", "", "meaning"), rows)
    return "\n".join(lines)


HIDDEN = {"cli", "__main__"}  # the commands have a page of their own


def module_names(package: Path, name: str) -> Iterator[str]:
    """The dotted names of a package and of the modules and packages in it."""
    yield name
    for path in sorted(package.iterdir()):
        if path.is_dir() and (path / "__init__.py").exists():
            yield from module_names(path, f"{name}.{path.name}")
        elif path.suffix == ".py" and not path.stem.startswith("__"):
            yield f"{name}.{path.stem}"


def public_names() -> Iterator[tuple[str, str]]:
    """Every name that `import tutelage` gives, with a link to where it is described, and its first sentence."""
    for name in tutelage.__all__:
        thing = getattr(tutelage, name)
        if name != "__version__":
            first = (inspect.getdoc(thing) or "").split("\n\n")[0]
            yield f":py:obj:`tutelage.{name} <{thing.__module__}.{thing.__qualname__}>`", plain(first)


def api_pages() -> Iterator[tuple[str, str]]:
    """A page for each package and module right below `tutelage`, and the index of them."""
    root = Path(tutelage.__file__).parent
    tops = {
        path.stem
        for path in root.iterdir()
        if path.stem not in HIDDEN and not path.stem.startswith("__") and (path.suffix == ".py" or path.is_dir())
    }
    names = list(module_names(root, "tutelage"))
    for top in sorted(tops):
        prefix = f"tutelage.{top}"
        lines = underlined(prefix, "=")
        for name in names:
            if name == prefix or name.startswith(f"{prefix}."):
                lines += underlined(name, "-") if name != prefix else []
                lines += [f".. automodule:: {name}", "   :members:", "   :ignore-module-all:", ""]
        yield f"api/{top}", "\n".join(lines)
    index = [*underlined("Python API", "="), "What ``import tutelage`` gives:", ""]
    index += table(("name", "what it is"), public_names())
    index += ["Programs that pull arms of a live campaign use :doc:`tutelage.client <client>`, authors of policies,"]
    index += ["teachers and stores :doc:`tutelage.testing <testing>`.", "The other packages are described below for"]
    index += ["those who read or extend the code.", "", ".. toctree::", "   :maxdepth: 1", ""]
    index += [f"   {top}" for top in sorted(tops)]
    yield "api/index", "\n".join(index)


def write_reference(folder: Path) -> None:
    """Write the generated pages into a folder, leaving alone those that are as they would be written."""
    nothing = MagicMock()  # routes are only described here, never called
    routes = api_routes(nothing, nothing, nothing)
    pages = {"commands": command_page(), "http": http_page(build_document(routes)), **dict(api_pages())}
    (folder / "api").mkdir(exist_ok=True)
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
