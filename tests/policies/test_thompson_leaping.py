"""Thompson sampling: leaping against stepping, and mutants of each formula, which must be caught."""

import numpy as np
import pytest
from scipy import stats
from tests import leap_comparison
from tests.policies.test_thompson_leaps import CASES
from tests.policies.thompson_laws import Case, mutated, p_value_of_law, play

from tutelage.policies.support import thompson_constant as constant
from tutelage.policies.support import thompson_teaching as teaching
from tutelage.rules import KEEP, Set

RUNS = 20_000
TIMES = (30, 300, 2000)
GAMES = {
    "ones, fresh": Case((0,) * 5, (0,) * 5, (1,) * 5),
    "ones, history": Case((300, 280, 310, 2), (0,) * 4, (1,) * 4),
    "zeros, 2 arms": Case((0, 0), (0, 0), (0, 0)),
    "zeros, 5 arms, history": Case((0,) * 5, (200, 180, 230, 190, 205), (0,) * 5),
    "zeros, 20 arms": Case((0,) * 20, (3,) * 20, (0,) * 20),
    "taught, fresh": Case((0,) * 5, (0,) * 5, (0, 0, 0.5, 0, 0)),
    "taught, after zeros": Case((0,) * 5, (400, 380, 420, 410, 390), (0, 0.3, 0, 0, 0)),
    "taught, after ones": Case((800, 0, 0), (20, 5, 60), (0.6, 0, 0)),
    "taught, small mean": Case((0,) * 3, (10,) * 3, (0.02, 0, 0)),
    "taught, near tie": Case((0,) * 20, (1,) * 20, (*[0] * 19, 0.05)),
    "taught, zeros": Case((50, 0, 0), (3, 5, 5), (0, 0, 0)),
    "taught, all ones": Case((0, 0, 0), (30, 5, 5), (1, 0, 0)),
}
TESTS = len(GAMES) * len(TIMES) * 20 * 2 * 3  # at most: arms, pulls and ones, mean, variance, distribution
FALSE_ALARM = 4e-7 / TESTS


@pytest.mark.parametrize("name", GAMES)
def test_leaping_is_stepping_in_law(name):
    """Mean, variance and distribution of each arm's pulls and ones are equal, at three times, in 20,000 runs."""
    case = GAMES[name]
    leaping = play(case, TIMES, RUNS, compiles=True, seed=1)
    stepping = play(case, TIMES, RUNS, compiles=True, seed=2, leaps=False)
    for leapt, stepped in zip(leaping, stepping, strict=True):
        for place in np.ndindex(leapt.shape[1:]):
            assert_same_law(leapt[:, *place], stepped[:, *place])


ZERO, ONE = Set(0.0), Set(1.0)
TAUGHT = {
    "learning from ones": leap_comparison.Case("ts", (0.5, 0.4, 0.3), (ONE, ONE, ONE), quota=(60, 60, 60)),
    "learning from zeros": leap_comparison.Case("ts", (0.5, 0.4, 0.3), (ZERO, ZERO, ZERO), quota=(60, 60, 60)),
    "teaching": leap_comparison.Case("ts", (0.3, 0.6, 0.2), (KEEP, ZERO, ZERO), (((0.0, 40),),) * 3, target=0),
}


@pytest.mark.parametrize("name", TAUGHT)
def test_the_engine_leaps_with_the_same_distribution(name):
    """Pulls at several times, segment sums, cost and quota rounds of 3,000 clients whose rewards a rule changes."""
    leaping, stepping = (leap_comparison.play(TAUGHT[name], 3000, *each) for each in (("leap", 1), ("step", 2)))
    assert leap_comparison.differences(leaping, stepping) == []
    assert leaping.leapt > 0.0


def assert_same_law(one, other):
    """Fail if means, variances or distributions of two samples of whole numbers differ too much."""
    if one.min() == one.max() == other.min() == other.max():
        return
    squares = [(each - np.concatenate([one, other]).mean()) ** 2 for each in (one, other)]
    for first, second in ((one, other), squares):
        error = np.sqrt((first.var() + second.var()) / RUNS)
        assert abs(first.mean() - second.mean()) <= error * stats.norm.isf(FALSE_ALARM / 2.0)
    assert stats.ks_2samp(one, other, method="asymp").pvalue > FALSE_ALARM  # conservative for whole numbers


def test_compiled_is_plain():
    """The kernel plays the same pulls as Python, from the same stream."""
    for name in ("zeros, near ties", "taught, history", "ones, history"):
        case = CASES[name][0]
        plain, compiled = (play(case, [50, 200], 30, compiles=compiles) for compiles in (False, True))
        assert all((one == other).all() for one, other in zip(plain, compiled, strict=True))


FEW_ZEROS = {"zeros = int(expected + 4.0 * math.sqrt(expected))": "zeros = int(expected / 3.0)"}
MUTANTS = [
    (constant, {"gamma(stream, 1.0 + successes[arm])": "gamma(stream, 1.0)"}, "ones, history"),
    (constant, {"gamma(stream, 1.0 + successes[arm])": "gamma(stream, 2.0 + successes[arm])"}, "ones, fresh"),
    (constant, {"total -= weights[arm]": "total -= 0.0"}, "ones, history"),
    (constant, {"harmonic = 0.0 ": "harmonic = -0.4 "}, "zeros, near ties"),
    (constant, {"weight * ahead:": "weight * (ahead - 1.0):"}, "zeros, near ties"),
    (constant, {"ahead / (1.0 + lowest), harmonic": "(ahead - 1.0) / (1.0 + lowest), harmonic"}, "zeros, near ties"),
    (constant, {"* bound >= chance:": "* bound < chance:"}, "zeros, near ties"),
    (constant, {"-random(stream) * chance)": "-random(stream))"}, "zeros, near ties"),
    (constant, {"range(num_arms, 1, -1)": "range(num_arms - 1, 1, -1)"}, "zeros, two arms"),
    (constant, {"+ index(stream, num_arms - rank)": ""}, "zeros, near ties"),
    (teaching, {"-a / (total + other)": "-a / total"}, "taught, history"),
    (teaching, {"a, b + zeros, failures": "a, b, failures"}, "taught, history"),
    (teaching, {"pulls, 1.0 - prospect": "pulls, prospect"}, "taught, history"),
    (teaching, FEW_ZEROS | {"left = number": "left = number + 1"}, "taught, few failures"),
    (teaching, {"gamma(stream, b + own)": "gamma(stream, b)"}, "taught, twenty arms"),
    (teaching, {"+ exponential(stream) / own": ""}, "taught, twenty arms"),
    (teaching, {"(most + other) / (first": "(most - other) / (first"}, "taught, two failures"),
    (teaching, {"random(stream) * bounds[arm] <": "bounds[arm] <"}, "taught, history"),
    (teaching, {"done += 1\n        arm = _draw": "arm = _draw"}, "taught, history"),
]


@pytest.mark.parametrize(("module", "changes", "name"), MUTANTS)
def test_mutants_are_caught(module, changes, name):
    """A wrong sign, factor or number in a leap's formula makes the first pulls fail the test of their law."""
    case, horizon = CASES[name]
    assert p_value_of_law(case, horizon, 4 * RUNS, leap_function=mutated(module, changes)) < 1e-12


def test_any_number_of_zeros_is_exact():
    """Planned for too few zeros, a part is often cut after the first one too many, and the law is the same."""
    case, horizon = CASES["taught, few failures"]
    assert p_value_of_law(case, horizon, RUNS, leap_function=mutated(teaching, FEW_ZEROS)) > 1e-8
