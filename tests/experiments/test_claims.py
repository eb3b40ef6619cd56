"""Each kind of claim on figures for which the answer is plain."""

import numpy as np
import pytest
import xarray as xr

from tutelage.experiments import claims, definition
from tutelage.experiments.claims import decided, verdict

ROUNDS = np.arange(1, 101)


@pytest.fixture(autouse=True)
def few_runs(monkeypatch):
    """A few runs are enough here, where all is plain."""
    monkeypatch.setattr(claims, "FEWEST_RUNS", 1)


SHARED = {"text": "It does.", "section": "VIII-A"}


def dataset(regret, cost=None, target=None):
    """Teachers by name with curves [R, C] of one client, four arms of which arm 2 is best."""
    names = list(regret)
    costs = regret if cost is None else cost
    runs = len(next(iter(regret.values())))
    targets = {name: [-1] * runs for name in names} | (target or {})
    dims = ("teacher", "run", "client", "checkpoint")

    def stacked(curves):
        return np.array([np.atleast_2d(curves[name]) for name in names], dtype=float)[:, :, None, :]

    return xr.Dataset(
        {
            "regret": (dims, stacked(regret)),
            "cost": (dims, stacked(costs)),
            "target": (("teacher", "run"), np.array([targets[name] for name in names])),
            "gap": ("arm", [0.3, 0.1, 0.0, 0.2]),
        },
        coords={"teacher": np.array(names), "checkpoint": ROUNDS},
    )


def runs(*ends):
    """Straight lines to these values at T."""
    return [end * ROUNDS / ROUNDS[-1] for end in ends]


@pytest.mark.parametrize(("factor", "holds"), [(1.0, False), (1.9, False), (2.0, True)])
def test_below_compares_means(factor, holds):
    """The mean 20 is at most twice the mean 10, and not 1.9 times."""
    data = dataset({"na": runs(20, 20), "ng": runs(10, 10)})
    claim = definition.Below(kind="below", teachers=("na",), than=("ng",), factor=factor, **SHARED)
    found = verdict(claim, "regret", data)
    assert found.holds is holds
    assert found.figures == "regret: na 20 against ng 10"
    assert (found.text, found.section) == ("It does.", "VIII-A")


def test_every_teacher_must_hold_against_every_other():
    """One pair that fails is enough, and all pairs are told."""
    data = dataset({"na": runs(1), "ng": runs(2), "none": runs(3)})
    both = definition.Below(kind="below", teachers=("na", "ng"), than=("none",), **SHARED)
    assert verdict(both, "cost", data).holds is True
    one = definition.Below(kind="below", teachers=("na",), than=("ng", "none"), **SHARED)
    assert verdict(one, "cost", data).holds is True
    fails = definition.Below(kind="below", teachers=("ng", "none"), than=("na",), **SHARED)
    assert verdict(fails, "cost", data).holds is False
    assert verdict(fails, "cost", data).figures == "cost: ng 2, none 3 against na 1"


def test_a_claims_own_quantity_comes_before_the_panels():
    """Cost and regret tell otherwise here."""
    data = dataset({"na": runs(1), "ng": runs(2)}, cost={"na": runs(2), "ng": runs(1)})
    claim = {"kind": "below", "teachers": ("na",), "than": ("ng",)} | SHARED
    assert verdict(definition.Below(**claim), "regret", data).holds is True
    assert verdict(definition.Below(**claim, quantity="cost"), "regret", data).holds is False


@pytest.mark.parametrize(("share", "holds"), [(0.75, True), (0.76, False)])
def test_mostly_below_counts_runs(share, holds):
    """Three of four runs are below, although the mean is far above."""
    data = dataset({"na": runs(1, 1, 2, 99), "ng": runs(2, 2, 2, 2)})
    claim = definition.MostlyBelow(kind="mostly-below", teachers=("na",), than=("ng",), share=share, **SHARED)
    found = verdict(claim, "regret", data)
    assert found.holds is holds
    assert "in 3 of 4 runs" in found.figures


@pytest.mark.parametrize(
    ("curve", "linear", "logarithmic"),
    [
        (ROUNDS, True, False),
        (np.log(ROUNDS + 1), False, True),
        (np.minimum(ROUNDS, 20), False, True),
        (np.sqrt(ROUNDS), False, False),
        (ROUNDS**2, True, False),
    ],
)
def test_growth_looks_at_the_second_half(curve, linear, logarithmic):
    """Lines, logarithms and a learning phase that is over; a square root is neither."""
    data = dataset({"na": [curve]})
    for shape, holds in (("linear", linear), ("logarithmic", logarithmic)):
        claim = definition.Growth(kind="growth", teachers=("na",), shape=shape, **SHARED)
        assert verdict(claim, "regret", data).holds is holds


def test_growth_of_nothing_cannot_be_told():
    """No cost at all has no shape; without a checkpoint in the middle there is none to see."""
    claim = definition.Growth(kind="growth", teachers=("na",), shape="linear", **SHARED)
    assert verdict(claim, "regret", dataset({"na": runs(0)})).holds is None
    late = dataset({"na": runs(5)}).isel(checkpoint=[-1])
    found = verdict(claim, "regret", late)
    assert found.holds is None
    assert "no checkpoint near the middle" in found.figures


def test_balance_is_the_distance_from_the_diagonal():
    """Twice as much cost as regret is nearer than a tenth; without any cost it is farthest."""
    data = dataset(
        {"twl": runs(10), "ng": runs(10), "none": runs(10)},
        cost={"twl": runs(20), "ng": runs(1), "none": runs(0)},
    )
    claim = {"kind": "balance"} | SHARED
    good = definition.Balance(teachers=("twl(gamma1=1,gamma2=0)",), than=("ng", "none"), **claim)
    renamed = data.assign_coords(teacher=["twl(gamma1=1,gamma2=0)", "ng", "none"])
    found = verdict(good, "regret-cost", renamed)
    assert found.holds is True
    assert found.figures.endswith("2 times against ng 10 times, none without bound")
    assert (
        verdict(definition.Balance(teachers=("none",), than=("ng",), **claim), "regret", data).holds is False
    )


def test_spread_is_measured_in_means():
    """A band of 80 % of the mean against one of 8 %."""
    wide, narrow = np.linspace(50, 150, 11), np.linspace(950, 1050, 11)
    data = dataset({"na": runs(*wide), "ng": runs(*narrow)})
    claim = {"kind": "spread", "teachers": ("na",), "than": ("ng",)} | SHARED
    assert verdict(definition.Spread(factor=9.9, **claim), "regret", data).holds is True
    assert verdict(definition.Spread(factor=10.1, **claim), "regret", data).holds is False
    told = verdict(definition.Spread(**claim), "regret", data).figures
    assert told == "80 % of runs span, of the mean regret: na 80.0 % against ng 8.0 %"
    assert (
        verdict(definition.Spread(**claim), "regret", dataset({"na": runs(1), "ng": runs(1)})).holds is None
    )


@pytest.mark.parametrize(("share", "holds"), [(0.5, True), (0.6, False)])
def test_reaches_counts_best_arms(share, holds):
    """Of four runs two decided for arm 2, one for a wrong arm, one for none."""
    data = dataset({"na": runs(1, 1, 1, 1)}, target={"na": [2, 2, 0, -1]})
    claim = definition.Reaches(kind="reaches", teachers=("na",), share=share, **SHARED)
    found = verdict(claim, "regret", data)
    assert found.holds is holds
    assert "in 2 of 4 runs, for another in 1, for none in 1" in found.figures


def test_decided_looks_up_each_instances_own_gaps():
    """In a set, arm 0 is best for the first instance and wrong for the second."""
    data = xr.Dataset(
        {
            "target": (("instance", "teacher", "run"), [[[0, 1]], [[0, -1]]]),
            "gap": (("instance", "arm"), [[0.0, 0.5], [0.5, 0.0]]),
        },
        coords={"teacher": ["na"]},
    )
    assert decided(data, "na") == (3, 2, 4)


def test_too_few_runs_cannot_tell(monkeypatch):
    """Below the fewest runs there is no verdict, whatever the figures say."""
    monkeypatch.setattr(claims, "FEWEST_RUNS", 3)
    claim = definition.Below(kind="below", teachers=("na",), than=("ng",), **SHARED)
    found = verdict(claim, "regret", dataset({"na": runs(1, 1), "ng": runs(2, 2)}))
    assert found.holds is None
    assert found.figures == "regret: na 1 against ng 2; fewer than 3 runs cannot tell"
    assert verdict(claim, "regret", dataset({"na": runs(1, 1, 1), "ng": runs(2, 2, 2)})).holds is True


def test_a_difference_within_two_standard_errors_may_be_chance():
    """NG's runs are far apart: whether 10 is below their mean cannot be told from four, but from many."""
    claim = definition.Below(kind="below", teachers=("na",), than=("ng",), **SHARED)
    found = verdict(claim, "regret", dataset({"na": runs(*[10] * 4), "ng": runs(0, 0, 0, 50)}))
    assert found.holds is None
    assert "may be chance" in found.figures
    many = dataset({"na": runs(*[10] * 400), "ng": runs(*[0, 0, 0, 50] * 100)})
    assert verdict(claim, "regret", many).holds is True
    assert (
        verdict(claim, "regret", dataset({"na": runs(*[13] * 400), "ng": runs(*[0, 0, 0, 50] * 100)})).holds
        is None
    )
    assert (
        verdict(claim, "regret", dataset({"na": runs(*[16] * 400), "ng": runs(*[0, 0, 0, 50] * 100)})).holds
        is False
    )
