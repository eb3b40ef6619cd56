"""One word for one thing: names that people read use the words of docs/glossary.md, and no name stands twice."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import typer.main

from tutelage.cli.app import app
from tutelage.distributions import DISTRIBUTIONS
from tutelage.instances import INSTANCES
from tutelage.policies import POLICIES
from tutelage.service.api.api_routes import api_routes
from tutelage.service.api.openapi import build_document
from tutelage.service.monitoring.prometheus import CAMPAIGN_METRICS, SERVER_METRICS, TIMED_METRICS
from tutelage.service.monitoring.status import KINDS
from tutelage.teachers import TEACHERS

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\|([^|\n]+)\|([^|\n]+)\|([^|\n]*)\|$", re.MULTILINE)
GLOSSARY = [
    row for row in ROW.findall((ROOT / "docs/glossary.md").read_text()) if row[0].strip() not in {"word", "---"}
]


def avoided_words():
    """The words of the glossary's last column, but for those that are avoided in one sense only."""
    listed = {word.strip() for row in GLOSSARY for word in row[2].split(",")}
    return {word for word in listed if word and "(" not in word}


def options(command, path=""):
    """Every option of a command and of those below it."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from options(inner, f"{path} {name}")
    for parameter in command.params:
        for written in (*parameter.opts, *parameter.secondary_opts):
            yield f"{path} {written}", written.lstrip("-")


def spec_parameters():
    """Every parameter of an entry of the open sets."""
    for table in (POLICIES, TEACHERS, INSTANCES, DISTRIBUTIONS):
        for name in table:
            for item in table.parameters(name):
                yield f"{name}({item.name})", item.name


def http_names():
    """Every field, query parameter and listed value of the HTTP API."""
    nothing: Any = Mock()  # routes are only described here
    routes = api_routes(nothing, nothing, nothing)
    document = build_document(routes)
    for schema, content in document["components"]["schemas"].items():
        for field, wanted in content.get("properties", {}).items():
            yield f"{schema}.{field}", field
            for value in wanted.get("enum", ()):
                yield f"{schema}.{field}={value}", str(value)


def monitoring_names():
    """Every status item and every metric."""
    for kind in KINDS:
        yield f"status {kind.name}", kind.name
    for metric in (*CAMPAIGN_METRICS, *TIMED_METRICS, *SERVER_METRICS):
        yield f"metric {metric.name}", metric.name


NAMES = [*options(typer.main.get_command(app)), *spec_parameters(), *http_names(), *monitoring_names()]


def words_of(name):
    """The words that a name is made of: ``exclude-after`` and ``target_arm``."""
    return {word for word in re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()) if word}


def test_the_glossary_is_read():
    """The table has rows, no word stands twice, and no word that is used is also one to avoid."""
    used = [word.strip() for row in GLOSSARY for word in row[0].split(",")]
    assert len(used) > 60
    assert len(used) == len(set(used))
    assert not set(used) & avoided_words()
    assert {"law", "retire", "enrol"} <= avoided_words()


@pytest.mark.parametrize(("place", "name"), NAMES, ids=[place for place, _ in NAMES])
def test_names_avoid_replaced_words(place, name):
    """No option and no parameter uses a word that the glossary has replaced."""
    avoided = {word for word in avoided_words() if words_of(word) <= words_of(name)}
    assert not avoided, f"{place} uses {avoided}: see docs/glossary.md"


def test_class_names_are_unique():
    """No class name stands twice in the package."""
    places = defaultdict(list)
    source = ROOT / "src" / "tutelage"
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(source).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


# File names that stand more than once, each with its reason.
SHARED_MODULE_NAMES = {
    "app.py": "the command line, and the server as an ASGI application",
    "base.py": "the contract of the entries of a set: distributions, instances, policies, stores, teachers",
    "campaign.py": "a campaign in memory, and the command about campaigns",
    "checks.py": "of what a teacher returns, and of what a picture needs",
    "connection.py": "of SQLite and of PostgreSQL",
    "database.py": "of SQLite and of PostgreSQL",
    "dependence.py": "a parameter of teachers, and a status item",
    "plan.py": "a plan, and the command that makes one",
    "store.py": "what SQL stores share, and the stores in SQLite and PostgreSQL",
    "tal.py": "the teacher, and its theorems",
    "twl.py": "the teacher, and its theorems",
    "ucb1.py": "the policy, and the theorems about its clients",
}


def test_module_names_are_unique():
    """No two modules have the same file name, except for the pairs above."""
    places = defaultdict(list)
    for path in sorted((ROOT / "src" / "tutelage").rglob("*.py")):
        if path.name != "__init__.py":
            places[path.name].append(path)
    assert {name for name, found in places.items() if len(found) > 1} == set(SHARED_MODULE_NAMES)
