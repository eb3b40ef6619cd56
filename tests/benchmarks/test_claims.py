"""benchmarks/claims.py, which writes the tables of docs/claims.md."""

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tutelage import instances
from tutelage.experiments import load_paper_experiments

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def claims():
    """The script that writes the tables."""
    spec = importlib.util.spec_from_file_location("benchmarks_claims", ROOT / "benchmarks" / "claims.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def read_table(claims, name):
    """The rows of one of the page's tables, without its head."""
    found = re.search(rf"<!-- table: {name} -->\n(.*?)<!-- end -->", claims.PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return [line[2:-2].split(" | ") for line in found[1].splitlines()][2:]


def test_the_page_judges_every_claim(claims):
    """Each claim of the paper's experiments has a row with a verdict, in order, and no other row is there."""
    rows = read_table(claims, "claims")
    wanted = [
        [panel.name, claim.text, claim.section]
        for experiment in load_paper_experiments()
        for panel in experiment.panels
        for claim in panel.claims
    ]
    assert [row[:3] for row in rows] == wanted, "run python benchmarks/claims.py --part claims"
    counts = Counter(row[3] for row in rows)
    verdicts = [*claims.VERDICTS.values(), claims.NOT_MEASURED]
    assert set(counts) <= set(verdicts)
    assert dict(read_table(claims, "verdicts")) == {
        **{verdict: str(counts[verdict]) for verdict in verdicts},
        "all": str(len(wanted)),
    }


def test_the_page_has_every_case(claims):
    """Each case of the script has a row for each teacher, or one that says that it is not measured."""
    rows = [row[:4] for row in read_table(claims, "movielens")]
    for case in claims.CASES:
        names = (
            [claims.NOT_MEASURED] if rows[0][3] == claims.NOT_MEASURED else [f"`{t}`" for t in claims.TEACHERS_SHOWN]
        )
        wanted = [[case.group, case.clients, f"{case.horizon:,}", name] for name in names]
        assert rows[: len(names)] == wanted, "run python benchmarks/claims.py --part movielens"
        rows = rows[len(names) :]
    assert rows == []


def test_answers_of_a_case(claims):
    """A teacher with half of the regret and cost of the others, balanced, holds; one with twice as much does not."""
    teachers, runs = claims.TEACHERS_SHOWN, 10
    regret = {"tal": 20.0, "twl": 5.0, "blt": 5.0}
    cost = {"tal": 1.0, "twl": 5.0, "blt": 5.0, "none": 0.0, "ng": 1.0}
    noise = np.linspace(0.9, 1.1, runs)
    values = {
        quantity: (("teacher", "run", "client", "checkpoint"), np.array([found.get(t, 10.0) for t in teachers])[:, None]
                   .repeat(runs, 1)[..., None, None] * noise[:, None, None])
        for quantity, found in (("regret", regret), ("cost", cost | {"na": 20.0}))
    }  # fmt: skip
    target = np.zeros((len(teachers), runs), dtype=int)
    target[teachers.index("tal")] = -1
    target[teachers.index("blt"), 0] = 1
    gaps = ("arm", [0.0, 0.1])
    dataset = xr.Dataset({**values, "target": (("teacher", "run"), target), "gap": gaps}, {"teacher": list(teachers)})
    rows = {row[3]: row for row in claims.case_rows(claims.Case("random", "mixed", 1_000, runs), dataset)}
    assert rows["`twl`"] == ("random", "mixed", "1,000", "`twl`", "10 / 0 / 10", "5", "5", *("yes",) * 4)
    assert rows["`tal`"][4:] == ("0 / 0 / 10", "20", "1", "no", "yes", "no", "no")
    assert rows["`blt`"][4] == "9 / 1 / 10"
    assert rows["`none`"][4:] == ("-", "10", "0", *"----")


def test_predictions_grow_with_what_they_need(claims):
    """Losses are those of the paper's instance, and each horizon is later than the one that it builds on."""
    found = claims.predict(instances.load("paper"))
    paper = instances.load("paper")
    assert found.loss_untaught == pytest.approx(
        sum(paper.gaps[int(np.argmax(means))] for means in paper.local_means), abs=1e-12
    )
    assert found.loss_untaught < found.loss_exploring
    assert found.decision_of_twl <= found.decision_of_tal < found.tal_below_none
    assert found.decision_of_tal < found.cost_below_na
