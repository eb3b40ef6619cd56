"""Each kind of claim on figures for which the answer is plain."""

import dataclasses

import numpy as np
import pytest
import xarray as xr

from tutelage.experiments import claim_kinds, claims
from tutelage.experiments.claims import decided, verdict
from tutelage.teachers import TEACHERS

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
    claim = claim_kinds.Below(kind="below", teachers=("na",), than=("ng",), factor=factor, **SHARED)
    found = verdict(claim, "regret", data)
    assert found.holds is holds
    assert found.figures == "regret: na 20 against ng 10"
    assert (found.text, found.section) == ("It does.", "VIII-A")


def test_every_teacher_must_hold_against_every_other():
    """One pair that fails is enough, and all pairs are told."""
    data = dataset({"na": runs(1), "ng": runs(2), "none": runs(3)})
    both = claim_kinds.Below(kind="below", teachers=("na", "ng"), than=("none",), **SHARED)
    assert verdict(both, "cost", data).holds is True
    one = claim_kinds.Below(kind="below", teachers=("na",), than=("ng", "none"), **SHARED)
    assert verdict(one, "cost", data).holds is True
    fails = claim_kinds.Below(kind="below", teachers=("ng", "none"), than=("na",), **SHARED)
    assert verdict(fails, "cost", data).holds is False
    assert verdict(fails, "cost", data).figures == "cost: ng 2, none 3 against na 1"


def test_a_claims_own_quantity_comes_before_the_panels():
    """Cost and regret tell otherwise here."""
    data = dataset({"na": runs(1), "ng": runs(2)}, cost={"na": runs(2), "ng": runs(1)})
    claim = {"kind": "below", "teachers": ("na",), "than": ("ng",)} | SHARED
    assert verdict(claim_kinds.Below(**claim), "regret", data).holds is True
    assert verdict(claim_kinds.Below(**claim, quantity="cost"), "regret", data).holds is False


@pytest.mark.parametrize(("share", "holds"), [(0.75, True), (0.76, False)])
def test_mostly_below_counts_runs(share, holds):
    """Three of four runs are below, although the mean is far above."""
    data = dataset({"na": runs(1, 1, 2, 99), "ng": runs(2, 2, 2, 2)})
    claim = claim_kinds.MostlyBelow(
        kind="mostly-below", teachers=("na",), than=("ng",), share=share, **SHARED
    )
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
        claim = claim_kinds.Growth(kind="growth", teachers=("na",), shape=shape, **SHARED)
        assert verdict(claim, "regret", data).holds is holds


def test_growth_of_nothing_cannot_be_told():
    """No cost at all has no shape; without a checkpoint in the middle there is none to see."""
    claim = claim_kinds.Growth(kind="growth", teachers=("na",), shape="linear", **SHARED)
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
    good = claim_kinds.Balance(teachers=("twl(gamma1=1,gamma2=0)",), than=("ng", "none"), **claim)
    renamed = data.assign_coords(teacher=["twl(gamma1=1,gamma2=0)", "ng", "none"])
    found = verdict(good, "regret-cost", renamed)
    assert found.holds is True
    assert found.figures.endswith("2 times against ng 10 times, none without bound")
    assert (
        verdict(claim_kinds.Balance(teachers=("none",), than=("ng",), **claim), "regret", data).holds is False
    )


def test_spread_is_measured_in_means():
    """A band of 80 % of the mean against one of 8 %."""
    wide, narrow = np.linspace(50, 150, 11), np.linspace(950, 1050, 11)
    data = dataset({"na": runs(*wide), "ng": runs(*narrow)})
    claim = {"kind": "spread", "teachers": ("na",), "than": ("ng",)} | SHARED
    assert verdict(claim_kinds.Spread(factor=9.9, **claim), "regret", data).holds is True
    assert verdict(claim_kinds.Spread(factor=10.1, **claim), "regret", data).holds is False
    told = verdict(claim_kinds.Spread(**claim), "regret", data).figures
    assert told == "80 % of runs span, of the mean regret: na 80.0 % against ng 8.0 %"
    assert (
        verdict(claim_kinds.Spread(**claim), "regret", dataset({"na": runs(1), "ng": runs(1)})).holds is None
    )


def set_of(**regrets):
    """Teachers by name with regrets [instance, run] at T."""
    values = np.array([regrets[name] for name in regrets], dtype=float)
    return xr.Dataset(
        {
            "regret": (
                ("instance", "teacher", "run", "client", "checkpoint"),
                values.swapaxes(0, 1)[..., None, None],
            )
        },
        coords={"teacher": list(regrets)},
    )


def test_spread_of_a_set_is_that_of_runs_on_the_same_instance():
    """Instances that differ a hundredfold do not make a teacher unstable; its runs on each of them do."""
    steady, shaky = [[10, 10], [1000, 1000]], [[9, 11], [900, 1100]]
    claim = {"kind": "spread", "teachers": ("na",), "than": ("ng",)} | SHARED
    found = verdict(claim_kinds.Spread(**claim), "regret", set_of(na=shaky, ng=steady))
    assert found.holds is True
    assert found.figures == (
        "80 % of the runs on an instance span, of the mean regret: na 16.0 % against ng 0.0 %"
    )
    assert verdict(claim_kinds.Spread(**claim), "regret", set_of(na=steady, ng=shaky)).holds is False


def test_spread_of_a_set_with_one_run_each_cannot_be_told():
    """The sentence says how to get what would tell."""
    claim = {"kind": "spread", "teachers": ("na",), "than": ("ng",)} | SHARED
    found = verdict(claim_kinds.Spread(**claim), "regret", set_of(na=[[1], [99]], ng=[[5], [5]]))
    assert found.holds is None
    assert "--runs-per-instance" in found.figures


def test_claims_show_of_a_teacher_what_is_not_as_by_default():
    """BLT's dozen of parameters would hide the figures; a SPEC that cannot be read is shown as it is."""
    data = dataset({"blt(a)": runs(1), "x:Y(b=1)": runs(2)})
    full = TEACHERS.spec(TEACHERS.parse("blt"))
    data = data.assign_coords(teacher=[full, "nowhere:Y(b=1)"])
    claim = claim_kinds.Below(kind="below", teachers=(full,), than=("na",), **SHARED)
    claim = dataclasses.replace(claim, teachers=("blt",))
    object.__setattr__(claim, "than", ("nowhere:Y(b=1)",))
    assert verdict(claim, "regret", data).figures == "regret: blt 1 against nowhere:Y(b=1) 2"


@pytest.mark.parametrize(("share", "holds"), [(0.5, True), (0.6, False)])
def test_reaches_counts_best_arms(share, holds):
    """Of four runs two decided for arm 2, one for a wrong arm, one for none."""
    data = dataset({"na": runs(1, 1, 1, 1)}, target={"na": [2, 2, 0, -1]})
    claim = claim_kinds.Reaches(kind="reaches", teachers=("na",), share=share, **SHARED)
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
    claim = claim_kinds.Below(kind="below", teachers=("na",), than=("ng",), **SHARED)
    found = verdict(claim, "regret", dataset({"na": runs(1, 1), "ng": runs(2, 2)}))
    assert found.holds is None
    assert found.figures == "regret: na 1 against ng 2; fewer than 3 runs cannot tell"
    assert verdict(claim, "regret", dataset({"na": runs(1, 1, 1), "ng": runs(2, 2, 2)})).holds is True


def test_a_difference_within_two_standard_errors_may_be_chance():
    """NG's runs are far apart: whether 10 is below their mean cannot be told from four, but from many."""
    claim = claim_kinds.Below(kind="below", teachers=("na",), than=("ng",), **SHARED)
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
