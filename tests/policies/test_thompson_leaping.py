"""Thompson sampling: leaping against stepping, and mutants of each formula, which must be caught."""

import numpy as np
import pytest
from scipy import stats
from tests import leap_comparison
from tests.policies.test_thompson_leaps import CASES, EAGER, LED, SHORT
from tests.policies.thompson_laws import Case, mutated, p_value_of_law, play

from tutelage.policies.support import thompson_comparing as comparing
from tutelage.policies.support import thompson_constant as constant
from tutelage.policies.support import thompson_leading as leading
from tutelage.policies.support import thompson_learning as learning
from tutelage.policies.support import thompson_teaching as teaching
from tutelage.rules import KEEP, Align, Lift, Set

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
    "learning": Case((300, 250, 280, 310, 290), (0,) * 5, (1, 1, 1, 0, 0)),
    "learning, after many zeros": Case((500, 480, 520), (0, 7, 0), (1, 0, 1)),
    "any, fresh": Case((0,) * 5, (0,) * 5, (0.6, 0.5, 0.4, 0.3, 0.2)),
    "any, near ties": Case((300,) * 3, (200, 205, 195), (0.6, 0.6, 0.6)),
    "any, after ones": Case((900, 900, 900), (0, 0, 0), (0.6, 0, 0)),
    "any, one leads": Case((900, 40, 20), (100, 40, 30), (0.9, 0.6, 0.5)),
    "any, twenty arms": Case((0,) * 20, (0,) * 20, (*[0.3] * 19, 0.8)),
    "any, certain": Case((9, 3, 0), (2, 5, 4), (1, 0.3, 0)),
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
HISTORY = (((1.0, 400), (0.0, 100)), ((1.0, 20), (0.0, 30)), ((1.0, 9), (0.0, 21)))
TAUGHT = {
    "learning from ones": leap_comparison.Case("ts", (0.5, 0.4, 0.3), (ONE, ONE, ONE), quota=(60, 60, 60)),
    "learning from zeros": leap_comparison.Case("ts", (0.5, 0.4, 0.3), (ZERO, ZERO, ZERO), quota=(60, 60, 60)),
    "no teaching": leap_comparison.Case("ts", (0.6, 0.3, 0.5), history=(((1.0, 90), (0.0, 60)), *[((0.0, 9),)] * 2)),
    "lift": leap_comparison.Case("ts", (0.8, 0.4, 0.3), (Lift(0.3), ZERO, ZERO), HISTORY, target=0),
    "align": leap_comparison.Case("ts", (0.8, 0.4, 0.3), (Align(), Align(), ZERO), HISTORY),
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
    for name in ("zeros, near ties", "taught, history", "ones, history", "learning, ruled out", "any, long history"):
        case = CASES[name][0]
        plain, compiled = (play(case, [50, 200], 30, compiles=compiles) for compiles in (False, True))
        assert all((one == other).all() for one, other in zip(plain, compiled, strict=True))


FEW_ZEROS = {"zeros = int(expected + 4.0 * math.sqrt(expected))": "zeros = int(expected / 3.0)"}
LOGARITHMS = {"_MOST_FACTORS, _FACTORS = 48": "_MOST_FACTORS, _FACTORS = 0"}
SHORT_PRODUCTS = {"_FACTORS = 48, 16": "_FACTORS = 48, 2"}
FEW_LED = EAGER | {"zeros = int(expected + 4.0 * math.sqrt(expected)) + 1": "zeros = int(expected / 3.0)"}
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
    (teaching, LOGARITHMS | {"-a / (total + other)": "-a / total"}, "taught, history"),
    (teaching, {"int(few), b, b + many": "int(few), b, b + many + few"}, "taught, history"),
    (teaching, SHORT_PRODUCTS | {"left - factors\n": "left - factors - 1\n"}, "taught, history"),
    (teaching, {"a, b + zeros, failures": "a, b, failures"}, "taught, history"),
    (teaching, {"pulls, 1.0 - prospect": "pulls, prospect"}, "taught, history"),
    (teaching, FEW_ZEROS | {"left = number": "left = number + 1"}, "taught, few failures"),
    (teaching, SHORT | {"gamma(stream, b + own)": "gamma(stream, b)"}, "taught, twenty arms"),
    (teaching, SHORT | {"+ exponential(stream) / own": ""}, "taught, twenty arms"),
    (teaching, {"(most + other) / (first": "(most - other) / (first"}, "taught, two failures"),
    (teaching, {"random(stream) * bounds[arm] <": "bounds[arm] <"}, "taught, history"),
    (teaching, {"done += 1\n        arm = draw": "arm = draw"}, "taught, history"),
    (learning, {"+ successes[arm], start)": "+ successes[arm], start + 9.0)"}, "learning, ruled out"),
    (learning, {"pulled / (pulled + start)": "0.2 * pulled / (pulled + start)"}, "learning, two ruled out"),
    (learning, {"bounds[best] >= chance": "bounds[best] < chance"}, "learning, ruled out"),
    (learning, {"(active_sum if place < 0 else 0.0)": "0.0"}, "learning, two ruled out"),
    (learning, {"elif value > highest": "elif value < highest"}, "learning, two ruled out"),
    (
        learning,
        {"exponential(stream) / active_sum": "exponential(stream) / (1.0 + active_sum)"},
        "learning, just ruled out",
    ),
    (comparing, {"chance >= -math.expm1(": "chance < -math.expm1("}, "any, fresh"),
    (comparing, {"+ 0.5 * curvature": "- 0.5 * curvature"}, "any, fresh"),
    (comparing, {"math.atan2(root_a, root_b)": "math.atan2(root_b, root_a)"}, "any, history"),
    (comparing, {"= 2.0 * successes[arm] + 1.0, 2.0": "= 2.0 * successes[arm] + 2.0, 2.0"}, "any, history"),
    (comparing, {"- 0.5 * (a + b) * math.log1p(x * x)": "+ 0.5 * (a + b) * math.log1p(x * x)"}, "any, skewed"),
    (leading, EAGER | {"(b - 1.0) / (1.0 - level) - (": "(b - 1.0) / (1.0 - level) + ("}, "led, two arms"),
    (leading, EAGER | {"+ math.log(a + b - 1.0)": ""}, "led, two arms"),
    (leading, EAGER | {"(a + zeros if": "(a if"}, "led, two arms"),
    (leading, EAGER | {"(b - 1.0) * math.log1p(-ahead": "(b - 1.0) * math.log1p(ahead"}, "led, two arms"),
    (leading, EAGER | {"0.0 and value > c": "0.0 and value < c"}, "led, two arms"),
    (leading, FEW_LED | {"- failures[leading]) + 1  #": "- failures[leading])  #"}, "led, two arms"),
    (leading, EAGER | {"1.0 - value if arm == leading": "value if arm == leading"}, "led, two arms"),
    (leading, EAGER | {"stretch.pulls[arm] += pulls": "stretch.pulls[arm] += pulls + zeros"}, "led, two arms"),
]


@pytest.mark.parametrize(("module", "changes", "name"), MUTANTS)
def test_mutants_are_caught(module, changes, name):
    """A wrong sign, factor or number in a leap's formula makes the first pulls fail the test of their law."""
    case, horizon = (CASES | LED)[name]
    leap = mutated(module, changes)
    # Most are caught by few clients; with so small a limit three attempts are no easier to pass than one.
    assert any(p_value_of_law(case, horizon, runs, leap_function=leap) < 1e-12 for runs in (2000, RUNS, 4 * RUNS))


@pytest.mark.parametrize(
    ("module", "changes", "name"), [(teaching, FEW_ZEROS, "taught, few failures"), (leading, FEW_LED, "led, two arms")]
)
def test_any_number_of_zeros_is_exact(module, changes, name):
    """Planned for too few zeros, a part is often cut after the first one too many, and the law is the same."""
    case, horizon = (CASES | LED)[name]
    assert p_value_of_law(case, horizon, RUNS, leap_function=mutated(module, changes)) > 1e-8
