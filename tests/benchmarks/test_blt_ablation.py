"""benchmarks/blt_ablation.py: what its combinations are, and what it writes."""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
HORIZON = 1500  # both decide, or get through an epoch


@pytest.fixture(scope="module")
def ablation():
    """The script, with its neighbours importable."""
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module("blt_ablation")
    sys.path.remove(str(BENCHMARKS))


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("intervals, zeros", "twl(gamma1=0)"),
        ("intervals, ones", "twl"),
        ("bets, zeros", "blt(level=false,rho=1)"),
        ("bets, levels", "blt"),
    ],
)
def test_combinations_that_exist_are_those_teachers(ablation, name, spec):
    """The same regret, cost and decisions in every run; levels with intervals differ from TWL."""
    task = ablation.Task("paper", "UCB1", ablation.VARIANTS[name], 2, HORIZON)
    found = ablation.run_task(task)
    expected = ablation.run_task(task.__class__("paper", "UCB1", spec, 2, HORIZON))
    assert (found.regret, found.cost) == (expected.regret, expected.cost)
    assert repr(found.decided_in) == repr(expected.decided_in)


def test_a_section_has_all_combinations(ablation):
    """Means relative to BLT, and differences from it except in its own row."""
    results = {
        name: [ablation.TaskResult([place + 1.0, place + 3.0], [2.0, 2.0], [5.0, float("nan")], 0)]
        for place, name in enumerate(ablation.VARIANTS)
    }
    text = ablation.write_section(ablation.Cases("The paper's instance", ("paper",), 2), "UCB1", results)
    rows = [line for line in text.splitlines() if line.startswith(("| intervals", "| bets"))]
    assert [row.split(" | ")[0][2:] for row in rows] == list(ablation.VARIANTS)
    assert all("1 of 2, round 5" in row for row in rows)
    assert f"({2 / 7:.3g} x)" in rows[0]  # of a mean of 2, where BLT has 7
    assert "-5 (-5 to -5), p < 0.001" in rows[0]
    assert rows[-1].endswith("|  |  |")
