"""Writes the tables of the documentation that follow from the code: `make docs-tables`.

A page marks the place of a table with two lines, ``<!-- table: NAME -->`` and ``<!-- end -->``.  The same
command runs benchmarks/table.py, which adds new policies and teachers to docs/table.md as "not measured".
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tutelage.distributions import DISTRIBUTIONS
from tutelage.instances import INSTANCES
from tutelage.policies import POLICIES
from tutelage.registry import Table, write_value
from tutelage.service.api.problems import PROBLEMS
from tutelage.service.configuration import ServerSettings
from tutelage.service.instruments import Instruments
from tutelage.service.monitoring import prometheus, status
from tutelage.service.settings_field import settings_of
from tutelage.teachers import TEACHERS

DOCS = Path(__file__).parent


def status_table() -> Iterator[Sequence[str]]:
    """Every kind of status item at every severity."""
    yield "status item", "severity", "shown when", "what to do"
    for kind in status.KINDS:
        for severity, (when, action) in kind.cases.items():
            yield kind.name, severity, when, action


def settings_table() -> Iterator[Sequence[str]]:
    """Every setting of the server but the thresholds."""
    yield "option", "line of `tutelage.toml`", "value", "default", "meaning"
    for name, setting in settings_of(ServerSettings).items():
        value = setting.allowed if setting.choices or setting.type is not str else setting.metavar
        default = f"`{setting.shown_default}`" if setting.shown_default else ""
        yield f"`{setting.option}`", f"`{name}`", value, default, setting.help


def threshold_table() -> Iterator[Sequence[str]]:
    """Every threshold with its default."""
    yield "option", "line of `tutelage.toml`", "default", "meaning"
    for name, setting in settings_of(status.Thresholds).items():
        yield f"`{setting.option}`", f"`{name}`", setting.shown_default, setting.help


SUFFIXES = {"counter": "_total", "info": "_info"}  # which the text format adds to a metric's name
KINDS = {"info": "gauge"}  # 1, with the information as labels


def metric_table() -> Iterator[Sequence[str]]:
    """Every metric of campaigns and of the server."""
    yield "metric", "type", "meaning"
    for metric in (*prometheus.CAMPAIGN_METRICS, *prometheus.TIMED_METRICS):
        yield f"`{metric.name}`", "counter" if metric.name.endswith("_total") else "gauge", metric.help
    for metric in prometheus.CLIENT_METRICS:
        yield f"`{metric.name}`", "gauge, of a client", metric.help
    yield "`tutelage_leads`", "gauge", prometheus.LEADS_HELP
    yield "`tutelage_clients_without_metrics`", "gauge, of the server", prometheus.LEFT_OUT_HELP
    for metric in prometheus.SERVER_METRICS:
        yield f"`{metric.name}`", "gauge, of the server", metric.help
    for family in Instruments().collect():
        if family.name.startswith("tutelage_"):
            name = f"{family.name}{SUFFIXES.get(family.type, '')}"
            yield f"`{name}`", f"{KINDS.get(family.type, family.type)}, of the server", family.documentation


def alert_table() -> Iterator[Sequence[str]]:
    """Every gauge of a status item."""
    yield "metric", "status item", "1 while"
    for kind in status.KINDS:
        if kind.is_alert:
            yield f"`{kind.metric}`", kind.name, kind.gauge


def problem_table() -> Iterator[Sequence[str]]:
    """Every type of problem with its status."""
    yield "status", "type", "meaning"
    for kind, (code, meaning) in PROBLEMS.items():
        yield str(code), f"`{kind}`", meaning


Rows = Callable[[], Iterable[Sequence[str]]]


def entry_table(table: Table[Any]) -> Rows:
    """Every entry of an open set, with the first line of its docstring."""

    def rows() -> Iterator[Sequence[str]]:
        yield table.kind, "what it is"
        for name in table:
            yield f"`{name}`", table.summary(name).replace("``", "`")

    return rows


def parameter_table(table: Table[Any]) -> Rows:
    """Every parameter of an open set's entries, with its default and its help."""

    def rows() -> Iterator[Sequence[str]]:
        yield table.kind, "parameter", "default", "meaning"
        for name in table:
            for item in table.parameters(name):
                optional = "none" if item.default is None else f"`{write_value(item.default)}`"
                default = "required" if item.required else optional
                yield f"`{name}`", f"`{item.name}`", default, item.help

    return rows


def teacher_table() -> Iterator[Sequence[str]]:
    """Every teacher with its default parameters."""
    yield "SPEC", "what it does", "compared by default"
    for name in TEACHERS:
        cls: Any = TEACHERS.cls(name)
        variants = ", ".join(f"`{TEACHERS.label(cls(**arguments))}`" for arguments in cls.side_by_side)
        yield f"`{TEACHERS.label(cls())}`", TEACHERS.summary(name), variants


TABLES: dict[str, dict[str, Rows]] = {
    "policies.md": {"policies": entry_table(POLICIES), "parameters": parameter_table(POLICIES)},
    "teachers.md": {"teachers": teacher_table, "parameters": parameter_table(TEACHERS)},
    "instances.md": {
        "instances": entry_table(INSTANCES),
        "parameters": parameter_table(INSTANCES),
        "distributions": entry_table(DISTRIBUTIONS),
        "distribution parameters": parameter_table(DISTRIBUTIONS),
    },
    "operating.md": {"settings": settings_table},
    "server.md": {"problems": problem_table},
    "dashboard.md": {
        "status": status_table,
        "thresholds": threshold_table,
        "metrics": metric_table,
        "alerts": alert_table,
    },
}


def fill(page: str, tables: dict[str, Rows]) -> str:
    """The text of a page with its tables written from the code."""
    for name, rows in tables.items():
        head, *body = ["| " + " | ".join(row) + " |" for row in rows()]
        line = "|" + " --- |" * (head.count(" | ") + 1)
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        table = "\n".join([head, line, *body])
        page, count = re.subn(pattern, lambda found: f"{found[1]}{table}\n{found[2]}", page, flags=re.DOTALL)  # noqa: B023
        if count != 1:
            raise SystemExit(f"The page needs one place for the table {name!r}, but has {count}.")
    return page


def outdated_pages() -> dict[Path, str]:
    """The pages whose tables differ from the code, with the text that they should have."""
    found = {}
    for name, tables in TABLES.items():
        path = DOCS / name
        text = path.read_text(encoding="utf-8")
        if (changed := fill(text, tables)) != text:
            found[path] = changed
    return found


if __name__ == "__main__":
    for path, text in outdated_pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.name}: tables updated\n")
