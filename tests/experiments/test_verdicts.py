"""Each kind of claim on data with an obvious answer."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from tutelage.experiments import claims, verdicts
from tutelage.experiments.verdicts import count_decided, judge_claim

ROUNDS = np.arange(1, 101)


SHARED = {"text": "It does.", "section": "VIII-A"}


def dataset(regret, cost=None, target=None, times=100):
    """Make a dataset from curves [R, C] of one client by teacher, each so many times; arm 2 of four arms is best."""
    names = list(regret)
    costs = regret if cost is None else cost
    runs = len(next(iter(regret.values())))
    targets = {name: [-1] * runs for name in names} | (target or {})
    dims = ("teacher", "run", "client", "checkpoint")

    def stacked(curves):
        return np.array([np.tile(curves[name], (times, 1)) for name in names], dtype=float)[:, :, None, :]

    return xr.Dataset(
        {
            "regret": (dims, stacked(regret)),
            "cost": (dims, stacked(costs)),
            "target": (("teacher", "run"), np.array([targets[name] * times for name in names])),
            "gap": ("arm", [0.3, 0.1, 0.0, 0.2]),
        },
        coords={"teacher": np.array(names), "checkpoint": ROUNDS},
    )


def make_lines(*ends):
    """Return straight lines to these values at T."""
    return [end * ROUNDS / ROUNDS[-1] for end in ends]


@pytest.mark.parametrize(("factor", "holds"), [(1.0, False), (1.9, False), (2.0, True)])
def test_below_compares_means(factor, holds):
    """The mean 20 is at most twice the mean 10, and not 1.9 times."""
    data = dataset({"na": make_lines(20, 20), "ng": make_lines(10, 10)})
    claim = claims.Below(teachers=("na",), than=("ng",), factor=factor, **SHARED)
    found = judge_claim(claim, "regret", data)
    assert found.holds is holds
    times = "" if factor == 1 else f"{factor:g} times "
    found_by = "equal in every one" if holds else "p < 0.001"
    assert found.figures == (
        f"regret: na 20 compared with ng 10 (required: at most {times}as much; paired t-test, 200 pairs: {found_by})"
    )
    assert (found.text, found.section) == ("It does.", "VIII-A")


def test_a_claim_must_hold_for_every_pair_of_teachers():
    """One failing pair is enough, and the figures list all teachers."""
    data = dataset({"na": make_lines(1), "ng": make_lines(2), "none": make_lines(3)})
    both = claims.Below(teachers=("na", "ng"), than=("none",), **SHARED)
    assert judge_claim(both, "cost", data).holds is True
    one = claims.Below(teachers=("na",), than=("ng", "none"), **SHARED)
    assert judge_claim(one, "cost", data).holds is True
    fails = claims.Below(teachers=("ng", "none"), than=("na",), **SHARED)
    assert judge_claim(fails, "cost", data).holds is False
    assert judge_claim(fails, "cost", data).figures.startswith("cost: ng 2, none 3 compared with na 1 (")


def test_a_claims_own_quantity_comes_before_the_panels():
    """Cost and regret give different verdicts here."""
    data = dataset({"na": make_lines(1), "ng": make_lines(2)}, cost={"na": make_lines(2), "ng": make_lines(1)})
    claim = {"teachers": ("na",), "than": ("ng",)} | SHARED
    assert judge_claim(claims.Below(**claim), "regret", data).holds is True
    assert judge_claim(claims.Below(**claim, quantity="cost"), "regret", data).holds is False


@pytest.mark.parametrize(("share", "holds"), [(0.65, True), (0.75, None), (0.85, False)])
def test_mostly_below_counts_runs(share, holds):
    """Three of four runs are below, although the mean is far above."""
    data = dataset({"na": make_lines(1, 1, 2, 99), "ng": make_lines(2, 2, 2, 2)})
    claim = claims.MostlyBelow(teachers=("na",), than=("ng",), share=share, **SHARED)
    found = judge_claim(claim, "regret", data)
    assert found.holds is holds
    assert "in 300 of 400 runs" in found.figures


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
    """A line, a logarithm and a finished learning phase have a shape; a square root has neither."""
    data = dataset({"na": [curve]})
    for shape, holds in (("linear", linear), ("logarithmic", logarithmic)):
        claim = claims.Growth(teachers=("na",), shape=shape, **SHARED)
        assert judge_claim(claim, "regret", data).holds is holds


def test_growth_may_be_inconclusive():
    """It is so for a cost of 0, and without a checkpoint near the middle."""
    claim = claims.Growth(teachers=("na",), shape="linear", **SHARED)
    assert judge_claim(claim, "regret", dataset({"na": make_lines(0)})).holds is None
    late = dataset({"na": make_lines(5)}).isel(checkpoint=[-1])
    found = judge_claim(claim, "regret", late)
    assert found.holds is None
    assert "no checkpoint near the middle" in found.figures


def test_balance_is_the_distance_from_the_diagonal():
    """A ratio of 2 is closer to the diagonal than 1/10, and a cost of 0 is farthest."""
    data = dataset(
        {"twl": make_lines(10), "ng": make_lines(10), "none": make_lines(10)},
        cost={"twl": make_lines(20), "ng": make_lines(1), "none": make_lines(0)},
    )
    claim = SHARED
    good = claims.Balance(teachers=("twl",), than=("ng", "none"), **claim)
    renamed = data.assign_coords(teacher=["twl", "ng", "none"])
    found = judge_claim(good, "regret-cost", renamed)
    assert found.holds is True
    assert found.figures.endswith(
        "2 compared with ng 10, none infinite; closer to 1 in 100 of 100 runs (required: more than half; "
        "binomial test: p < 0.001)"
    )
    assert judge_claim(claims.Balance(teachers=("none",), than=("ng",), **claim), "regret", data).holds is False


def test_spread_is_relative_to_the_mean():
    """A band of 80 % of the mean is wider than one of 8 %."""
    wide, narrow = np.linspace(50, 150, 11), np.linspace(950, 1050, 11)
    data = dataset({"na": make_lines(*wide), "ng": make_lines(*narrow)})
    claim = {"teachers": ("na",), "than": ("ng",)} | SHARED
    assert judge_claim(claims.Spread(factor=9.9, **claim), "regret", data).holds is True
    assert judge_claim(claims.Spread(factor=10.1, **claim), "regret", data).holds is False
    figures = judge_claim(claims.Spread(**claim), "regret", data).figures
    assert figures == (
        "width of the band of 80 % of runs, relative to the mean regret: na 80.0 % compared with ng 8.0 % (required: "
        "at least as wide; distances from the median, paired t-test, 1,100 pairs: p < 0.001)"
    )
    one = dataset({"na": make_lines(1), "ng": make_lines(1)}, times=1)
    assert judge_claim(claims.Spread(**claim), "regret", one).holds is None
    few = dataset({"na": make_lines(1, 9, 2), "ng": make_lines(4, 5, 6)}, times=1)
    assert judge_claim(claims.Spread(**claim), "regret", few).holds is None


def set_of(**regrets):
    """Make a dataset of a set from regrets [instance, run] at T by teacher."""
    values = np.array([regrets[name] for name in regrets], dtype=float)
    return xr.Dataset(
        {"regret": (("instance", "teacher", "run", "client", "checkpoint"), values.swapaxes(0, 1)[..., None, None])},
        coords={"teacher": list(regrets)},
    )


def test_spread_of_a_set_is_that_of_runs_on_the_same_instance():
    """Differences between instances do not count, only those between runs on the same instance."""
    steady, shaky = [[10, 10], [1000, 1000]], [[9, 11], [900, 1100]]
    claim = {"teachers": ("na",), "than": ("ng",)} | SHARED
    found = judge_claim(claims.Spread(**claim), "regret", set_of(na=shaky, ng=steady))
    assert found.holds is True
    assert found.figures == (
        "width of the band of 80 % of the runs on an instance, relative to the mean regret: "
        "na 16.0 % compared with ng 0.0 % (required: at least as wide; distances from the median, "
        "paired t-test, 2 pairs: p < 0.001)"
    )
    assert judge_claim(claims.Spread(**claim), "regret", set_of(na=steady, ng=shaky)).holds is False


def test_spread_of_a_set_with_one_run_each_is_inconclusive():
    """The figures say which option gives more runs."""
    claim = {"teachers": ("na",), "than": ("ng",)} | SHARED
    found = judge_claim(claims.Spread(**claim), "regret", set_of(na=[[1], [99]], ng=[[5], [5]]))
    assert found.holds is None
    assert "--runs-per-instance" in found.figures


def test_figures_name_teachers_by_their_labels():
    """Parameters with defaults are left out."""
    data = dataset({"blt": make_lines(1), "tal(gamma1=0)": make_lines(2)})
    claim = claims.Below(teachers=("blt",), than=("tal(gamma1=0,gamma2=0)",), **SHARED)
    figures = judge_claim(claim, "regret", data).figures
    assert figures.startswith("regret: blt 1 compared with tal(gamma1=0) 2 (required: ")


@pytest.mark.parametrize(("share", "holds"), [(0.4, True), (0.5, None), (0.6, False)])
def test_reaches_counts_best_arms(share, holds):
    """Of four runs two decided on arm 2, one on a wrong arm, and one did not decide."""
    data = dataset({"na": make_lines(1, 1, 1, 1)}, target={"na": [2, 2, 0, -1]})
    claim = claims.Reaches(teachers=("na",), share=share, **SHARED)
    found = judge_claim(claim, "regret", data)
    assert found.holds is holds
    assert f"in 200 of 400 runs (required: {100 * share:g} %; binomial test: p " in found.figures
    assert found.figures.endswith(", on another arm in 100, and did not decide in 100")


def test_decisions_are_judged_by_each_instances_gaps():
    """In a set, arm 0 is best for the first instance and wrong for the second."""
    data = xr.Dataset(
        {
            "target": (("instance", "teacher", "run"), [[[0, 1]], [[0, -1]]]),
            "gap": (("instance", "arm"), [[0.0, 0.5], [0.5, 0.0]]),
        },
        coords={"teacher": ["na"]},
    )
    assert count_decided(data, "na") == (3, 2, 4)


def judge_below(**regrets):
    """Judge whether NA has less regret than NG in these runs."""
    claim = claims.Below(teachers=("na",), than=("ng",), **SHARED)
    return judge_claim(claim, "regret", dataset({name: make_lines(*ends) for name, ends in regrets.items()}, times=1))


def test_a_few_clear_runs_decide():
    """Four runs are enough where each is far from its pair, and one is never enough."""
    assert judge_below(na=(5067, 5010, 5122, 5044), ng=(24294, 24102, 24533, 24187)).holds is True
    assert judge_below(ng=(5067, 5010, 5122, 5044), na=(24294, 24102, 24533, 24187)).holds is False
    assert judge_below(na=(5067,), ng=(24294,)).holds is None


def test_the_runs_are_compared_in_pairs():
    """A small difference within each pair decides, although runs differ much more; unpaired it is chance."""
    base = np.random.default_rng(3).uniform(0, 1000, 30)
    noise = np.random.default_rng(4).uniform(0, 1, 30)
    assert judge_below(na=base, ng=base + noise).holds is True
    assert judge_below(na=base, ng=(base + noise)[::-1]).holds is None


def test_a_difference_may_be_chance():
    """NG's runs differ so much that four are inconclusive and many are not."""
    found = judge_below(na=[10] * 4, ng=[0, 0, 0, 50])
    assert found.holds is None
    assert "may be chance at the level of 1 %" in found.figures
    many = [0, 0, 0, 50] * 100
    assert judge_below(na=[9] * 400, ng=many).holds is True
    assert judge_below(na=[13] * 400, ng=many).holds is None
    assert judge_below(na=[16] * 400, ng=many).holds is False


def test_p_values_are_those_of_scipy():
    """The tests are the paired t-test and the exact binomial test, both two-sided at the stated level."""
    generator = np.random.default_rng(5)
    for mean in np.linspace(-1, 1, 41):
        sample = generator.normal(mean, 1.0, 12)
        p = stats.ttest_1samp(sample, 0.0).pvalue
        assert verdicts.compare_means(sample).holds is (None if p >= verdicts.LEVEL else bool(sample.mean() > 0))
    for hits in range(41):
        tails = [stats.binomtest(hits, 40, 0.7, side).pvalue for side in ("less", "greater")]
        expected = None if 2 * min(tails) >= verdicts.LEVEL else bool(tails[1] < tails[0])
        assert verdicts.compare_share(hits, 40, 0.7).holds is expected
    assert verdicts.compare_share(40, 40, 1.0).holds is True
    assert verdicts.compare_share(39, 40, 1.0).holds is False


def test_a_share_that_is_met_by_chance_is_inconclusive():
    """All of 20 runs may be chance where 90 % are required; all of 100 runs are not."""
    claim = claims.MostlyBelow(teachers=("na",), than=("ng",), **SHARED)
    for times, holds in ((20, None), (100, True)):
        data = dataset({"na": make_lines(1), "ng": make_lines(2)}, times=times)
        assert judge_claim(claim, "regret", data).holds is holds
