"""docs/table.md, every teacher against every policy, is as new as the tables of both."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS

ROOT = Path(__file__).parents[1]
REFRESH = "run make docs-tables, or make table to measure it"


@pytest.fixture(scope="module")
def table():
    """The script that makes the page."""
    spec = importlib.util.spec_from_file_location("benchmarks_table", ROOT / "benchmarks" / "table.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_page_has_every_teacher_and_policy():
    """A new one makes the page stale."""
    text = (ROOT / "docs" / "table.md").read_text(encoding="utf-8")
    heads = [line for line in text.splitlines() if line.startswith("| clients |")]
    for policy in (*(f"`{name}`" for name in POLICIES), "mixed"):
        assert text.count(f"\n| {policy} |") == len(heads) == 4, f"{policy} is not in every table: {REFRESH}"
    for teacher in TEACHERS:
        listed = [*heads, *re.findall(r"^Not measured yet: .*$", text, re.MULTILINE)]
        assert any(f"`{teacher}`" in line or f"`{teacher}(" in line for line in listed), (
            f"{teacher}: {REFRESH}"
        )


def test_a_short_page_is_the_same_twice(table):
    """The same runs and seed give the same bytes; the cells are those of the lab."""
    setting = table.Setting(horizon=300, runs=2, workers=1, executor="threads")
    teachers = ("twl", "known", "none")
    clients = {"ucb1": "ucb1", "mixed": table.MIXED}
    rows = table.measure(clients, teachers, setting)
    text = table.page(rows, teachers, setting)
    assert text == table.page(table.measure(clients, teachers, setting), teachers, setting)
    known = rows["ucb1"][1]
    assert (known.finished, known.wrong) == (2, 0)
    assert rows["ucb1"][2].finished is None
    assert f"{known.regret:,.0f} / {known.cost:,.0f}" in text
    assert "| `ucb1` | **0 / 0** |" in text
