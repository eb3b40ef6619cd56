"""benchmarks/table.py, which writes docs/table.md: every teacher with every policy."""

import dataclasses
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from tutelage.metrics import summarize_runs
from tutelage.simulator import make_request, simulate_request

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def table():
    """The script that writes the page."""
    spec = importlib.util.spec_from_file_location("benchmarks_table", ROOT / "benchmarks" / "table.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for it
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_page_is_up_to_date(table):
    """It has every teacher and policy, measured or not, and today's explanations."""
    text = table.PAGE.read_text(encoding="utf-8")
    assert table.add_missing(text) == text, "run make docs-tables"


def test_a_new_entry_is_not_measured(table):
    """The numbers of the others stay, and the text can be read back."""
    text = table.PAGE.read_text(encoding="utf-8")
    measured = table.read_page(text)
    clients, teachers = [*table.list_clients(), "new"], [*table.list_teachers(), "blt(rho=2)"]
    extended = table.read_page(table.write_page(measured, clients, teachers))
    assert set(extended.cells["new"].values()) == {table.NOT_MEASURED}
    assert extended.cells["ucb1"]["blt(rho=2)"] == table.NOT_MEASURED
    for name, row in measured.cells.items():
        for teacher, cell in row.items():
            assert extended.cells[name][teacher] == cell


def test_some_columns_are_measured_again(table):
    """With the page's runs and seed; the other columns stay."""
    settings = table.Settings(horizon=300, runs=2, workers=1, executor="threads")
    page = table.measure({"ucb1": "ucb1"}, ("known", "none"), settings)
    text = table.write_page(page, table.list_clients(), table.list_teachers())
    again = table.read_page(table.renew(text, {"ucb1": "ucb1"}, ["known"], 1))
    assert again.cells["ucb1"]["known"] == page.cells["ucb1"]["known"]
    assert again.cells["ucb1"]["none"] == page.cells["ucb1"]["none"]
    blank = dataclasses.replace(page, cells={})
    text = table.write_page(blank, table.list_clients(), table.list_teachers())
    assert (
        table.read_page(table.renew(text, {"ucb1": "ucb1"}, ["known"], 1)).cells["ucb1"]["known"]
        == (page.cells["ucb1"]["known"])
    )


def test_a_short_page_is_the_same_twice(table):
    """The same runs and seed give the same bytes, and the numbers are those of the simulator."""
    settings = table.Settings(horizon=300, runs=2, workers=1, executor="threads")
    teachers = ("twl", "known", "none")
    clients = {"ucb1": "ucb1", "mixed": table.MIXED}
    measured = table.measure(clients, teachers, settings)
    text = table.write_page(measured, clients, teachers)
    again = table.measure(clients, teachers, settings)
    assert text == table.write_page(again, clients, teachers)
    request = make_request("paper", ["known"], "ucb1", horizon=300, runs=2, seed=settings.seed, checkpoints=1)
    regret, cost = simulate_request(request).totals(0)
    spans = [summarize_runs(each) for each in (regret, cost)]
    amounts = " / ".join(f"{each.mean:,.0f} ± {each.half_width:,.0f}" for each in spans)
    assert measured.cells["ucb1"]["known"] == (amounts, "2 / 0")
    assert measured.cells["ucb1"]["none"].decisions == "-"
    assert measured.cells["ucb1"]["known"].amounts in text
    assert "| `ucb1` | **0 / 0** |" in text


def test_the_lowest_is_compared_with_the_next(table):
    """Of three teachers, run by run; one run or one teacher leaves nothing to compare; the text is read back."""
    generator = np.random.default_rng(1)
    noise = generator.normal(0.0, 50.0, (1, 2, 10))
    totals = noise + np.array([300.0, 100.0, 200.0])[:, None, None] + generator.normal(0.0, 1.0, (3, 2, 10))
    found = table._compare(totals, ["a", "b", "c"])
    for text, values in zip(found, totals.transpose(1, 0, 2), strict=True):
        assert text.startswith(f"b: {(values[2] - values[1]).mean():,.0f} (")
        assert text.endswith(" less than c, p < 0.001")
    assert table._compare(totals[:1], ["a"]) == table._compare(totals[..., :1], ["a", "b", "c"]) == table.NOT_COMPARED
    page = table.read_page(table.PAGE.read_text(encoding="utf-8"))
    clients, teachers = table.list_clients(), table.list_teachers()
    text = table.write_page(dataclasses.replace(page, comparisons={"ucb1": found}), clients, teachers)
    assert table.read_page(text).comparisons["ucb1"] == found
    assert table.read_page(table.renew(text, {}, ["none"], 1)).comparisons["ucb1"] == table.NOT_COMPARED
