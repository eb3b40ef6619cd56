"""A teacher is chosen by a rule and its figures, never by its name."""

import dataclasses
import math

import numpy as np
import pytest

from tutelage import load_instance, planning
from tutelage.planning.candidates import CandidateSimulator, Measurement
from tutelage.planning.choice import SelectionRule, choose
from tutelage.teachers import TEACHERS

RUNS = 10


def measurement(spec, regret=100.0, cost=100.0, decided=RUNS, wrong=0, round=50):
    """Return figures of a teacher that are the same in each run."""
    return Measurement(
        teacher=TEACHERS.parse(spec),
        regret=np.full(RUNS, regret),
        cost=np.full(RUNS, cost),
        rounds=np.where(np.arange(RUNS) < decided, round, -1),
        consultations=np.ones(RUNS, dtype=np.int64),
        wrong=np.arange(RUNS) < wrong,
        has_epochs=False,
    )


@pytest.fixture(scope="module")
def paper():
    """Measure TWL and BLT on the paper's instance."""
    candidates = CandidateSimulator(planning.KnownInstance(load_instance("paper")), "ucb1", seed=0)
    teachers = [TEACHERS.parse(spec) for spec in ("blt", "twl", "known", "none")]
    return candidates.measure(teachers, 0.1, 10_000, 3)


def test_measured_figures_decide(paper):
    """BLT is chosen on the paper's instance; with its cost multiplied by 100 TWL is chosen instead."""
    blt, *others = paper
    assert choose([blt, *others], SelectionRule()).best.measurement.spec == blt.spec
    dear = dataclasses.replace(blt, cost=100 * blt.cost)
    chosen = choose([dear, *others], SelectionRule())
    assert chosen.best.measurement.spec == "twl(gamma1=1,gamma2=0)"
    assert chosen.why.startswith("twl decided in all 3 runs")


@pytest.mark.parametrize("cheap", ["tal", "twl", "blt"])
def test_no_name_is_preferred(cheap):
    """The choice follows the figures, not the names or the order."""
    specs = ["blt", "twl", "tal"]
    measured = [measurement(spec, cost=10.0 if spec == cheap else 90.0) for spec in specs]
    for order in (measured, measured[::-1]):
        assert choose(order, SelectionRule()).best.measurement.spec.startswith(cheap)


@pytest.mark.parametrize(
    ("loser", "reason"),
    [
        (measurement("twl", 1, 1, wrong=1), "was wrong in 1 of 10 runs"),
        (measurement("twl", 1, 1, decided=8), "decided in 8 of 10 runs"),
        (measurement("none", 1, 0, decided=0), "never decides"),
        (measurement("known", 1, 1, round=0), "is given the best arm"),
        (measurement("na", 1, 1, decided=0), "uses what only a simulation can see"),
        (measurement("ng", 1, 1, round=0), "does not learn its target"),
        (measurement("jun", 1, 1, round=0), "is given the best arm"),
    ],
)
def test_a_teacher_is_rejected_by_rule(loser, reason):
    """A teacher that is wrong, undecided, given the best arm, guessing or idle is not chosen, however cheap it is."""
    choice = choose([loser, measurement("tal", 1000, 1000)], SelectionRule())
    assert choice.best.measurement.spec.startswith("tal")
    assert next(each for each in choice.assessments if each.measurement is loser).rejection == reason


def test_a_cheaper_teacher_that_was_rejected_is_named():
    """The text says why the cheapest row is not the choice."""
    why = choose([measurement("twl", 1, 1, wrong=2), measurement("tal", 1000, 1000)], SelectionRule()).why
    assert "twl is cheaper but was wrong in 2 of 10 runs." in why


def test_the_share_of_decided_runs_can_be_set():
    """Nine of ten runs are enough by default; eight are enough with another rule."""
    eight = [measurement("twl", decided=8)]
    assert choose([measurement("twl", decided=9)], SelectionRule()).best is not None
    assert choose(eight, SelectionRule()).best is None
    assert choose(eight, SelectionRule(min_decided=0.8)).best is not None


def test_cost_weight_changes_the_choice():
    """The weight of cost decides between less regret and less cost, and is named."""
    pair = [measurement("tal", regret=100, cost=500), measurement("twl", regret=300, cost=200)]
    for weight, name in ((0, "tal"), (0.5, "tal"), (1, "twl"), (10, "twl")):
        assert choose(pair, SelectionRule(weight)).best.measurement.spec.startswith(name), weight
    assert "regret (cost does not count): 100" in choose(pair, SelectionRule(0)).why
    assert "regret + 0.5 x cost: 350" in choose(pair, SelectionRule(0.5)).why
    assert "regret + cost: 500" in choose(pair, SelectionRule()).why


def test_the_choice_is_compared_with_the_baselines():
    """The text compares with no teaching and a known target, and says where no teaching is cheaper."""
    known, tal = measurement("known", 10, 10, round=0), measurement("tal", 100, 100)
    pays = choose([tal, known, measurement("none", 900, 0, decided=0)], SelectionRule())
    assert pays.teaching_pays
    assert pays.why.endswith("Without teaching the same sum is 900. With the target known from the start it is 20.")
    not_so = choose([tal, known, measurement("none", 150, 0, decided=0)], SelectionRule())
    assert not not_so.teaching_pays
    assert "is 150, so at this cost weight teaching does not pay." in not_so.why


def test_chance_is_distinguished_from_a_difference():
    """The second best is compared run by run, with two standard errors of that difference."""
    noise = np.random.default_rng(1).normal(size=RUNS)
    first, second = measurement("tal"), measurement("twl", regret=100.5)
    noisy = dataclasses.replace(second, regret=second.regret + 10 * (noise - noise.mean()))
    assert "which may be due to chance" in choose([first, noisy], SelectionRule()).why
    together = choose([dataclasses.replace(first, regret=noisy.regret - 0.5), noisy], SelectionRule()).why
    assert "which may be due to chance" not in together
    spread = 2 * 10 * float(noise.std(ddof=1)) / math.sqrt(RUNS)
    assert f"0.5 +- {spread:.3g} more (two standard errors)" in choose([first, noisy], SelectionRule()).why


def test_no_choice_names_the_closest():
    """It is the teacher that decided rightly most often, whatever its cost."""
    pair = [measurement("twl", 1, 1, decided=10, wrong=7), measurement("tal", 100, 100, decided=5)]
    choice = choose(pair, SelectionRule())
    assert choice.best is None
    assert choice.teaching_pays
    assert "tal came closest: it decided in 5 of 10 runs." in choice.why
    assert choose([measurement("tal", decided=0)], SelectionRule()).why.endswith("None decided in any run.")
    assert choose([measurement("none", decided=0)], SelectionRule()).why.endswith("None of these learns a target.")


def test_the_order_of_the_teachers():
    """Those that can be chosen come first, the cheapest first; then other candidates; then baselines."""
    given = ["known", "twl", "none", "tal", "blt"]
    figures = {"twl": (1, 1, 5), "tal": (300, 1, 10), "blt": (200, 1, 10), "none": (0, 0, 0), "known": (0, 0, 10)}
    measured = [
        measurement(spec, *figures[spec][:2], decided=figures[spec][2], round=0 if spec == "known" else 50)
        for spec in given
    ]
    ordered = [each.measurement.spec.partition("(")[0] for each in choose(measured, SelectionRule()).assessments]
    assert ordered == ["blt", "tal", "twl", "known", "none"]
