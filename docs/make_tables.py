"""Writes the tables of the documentation that follow from the code: `make docs-tables`.

A page marks the place of a table with two lines, ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tutelage.service.monitoring import prometheus, status
from tutelage.service.settings_field import settings_of

DOCS = Path(__file__).parent


def status_table() -> Iterator[Sequence[str]]:
    """Every kind of status item at every severity."""
    yield "status item", "severity", "shown when", "what to do"
    for kind in status.KINDS:
        for severity, (when, action) in kind.cases.items():
            yield kind.name, severity, when, action


def threshold_table() -> Iterator[Sequence[str]]:
    """Every threshold with its default."""
    yield "option", "line of `tutelage.toml`", "default", "meaning"
    for name, setting in settings_of(status.Thresholds).items():
        yield f"`{setting.option}`", f"`{name}`", setting.shown_default, setting.help


def metric_table() -> Iterator[Sequence[str]]:
    """Every metric of campaigns and of the server."""
    yield "metric", "type", "meaning"
    for metric in prometheus.CAMPAIGN_METRICS:
        yield f"`{metric.name}`", "counter" if metric.name.endswith("_total") else "gauge", metric.help
    for metric in prometheus.SERVER_METRICS:
        yield f"`{metric.name}`", "gauge, of the server", metric.help


def alert_table() -> Iterator[Sequence[str]]:
    """Every gauge of a status item."""
    yield "metric", "status item"
    for kind in status.KINDS:
        if kind.is_alert:
            yield f"`{kind.metric}`", kind.name


TABLES: dict[str, dict[str, Callable[[], Iterable[Sequence[str]]]]] = {
    "dashboard.md": {
        "status": status_table,
        "thresholds": threshold_table,
        "metrics": metric_table,
        "alerts": alert_table,
    },
}


def fill(page: str, tables: dict[str, Callable[[], Iterable[Sequence[str]]]]) -> str:
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
        if (filled := fill(text, tables)) != text:
            found[path] = filled
    return found


if __name__ == "__main__":
    for path, text in outdated_pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.name}: tables updated\n")
