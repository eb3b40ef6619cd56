"""Leaps of Thompson sampling: the joint law of the first pulls against enumeration, and where leaps end.

``test_thompson_leaping.py``, among the slow tests, compares them with stepping and shows that mutants are caught.
"""

import math

import numpy as np
import pytest
from scipy import special, stats
from tests.policies.thompson_laws import UNLIMITED, Case, chances_of_being_largest, mutated, p_value_of_law

from tutelage.policies.base import Learner, Prospect, Stretch
from tutelage.policies.support import thompson_leading as leading
from tutelage.policies.support import thompson_teaching as teaching
from tutelage.policies.support.thompson_comparing import _least_rejection, _log_acceptance, _prepare
from tutelage.policies.support.thompson_leading import bound_above
from tutelage.policies.support.thompson_teaching import chance_above, log_chance_above
from tutelage.policies.thompson import ThompsonSampling

RUNS = 4000
CASES = {
    "ones, fresh": (Case((0, 0, 0), (0, 0, 0), (1, 1, 1)), 10),
    "ones, history": (Case((5, 0, 9), (0, 0, 0), (1, 1, 1)), 10),
    "zeros, fresh": (Case((0, 0, 0), (0, 0, 0), (0, 0, 0)), 16),
    "zeros, two arms": (Case((0, 0), (7, 9), (0, 0)), 16),
    "zeros, near ties": (Case((0, 0, 0), (20, 17, 22), (0, 0, 0)), 12),
    "zeros, eight arms": (Case((0,) * 8, (9, 6, 7, 7, 8, 6, 9, 7), (0,) * 8), 2),
    "taught, fresh": (Case((0, 0), (0, 0), (0, 0.5)), 8),
    "taught, history": (Case((0, 30, 0), (8, 8, 3), (0, 0.4, 0)), 10),
    "taught, ones": (Case((5, 0), (30, 9), (1, 0)), 10),
    "taught, few failures": (Case((40, 0, 0), (12, 4, 4), (0.95, 0, 0)), 12),
    "taught, two failures": (Case((20, 0, 0), (6, 1, 1), (1, 0, 0)), 10),
    "learning, ruled out": (Case((20, 15, 9), (0, 0, 2), (1, 1, 0)), 10),
    "learning, just ruled out": (Case((3, 4, 5), (0, 0, 0), (1, 1, 0)), 8),
    "learning, two ruled out": (Case((9, 8, 7, 6), (0, 0, 2, 1), (1, 1, 0, 0)), 6),
    "any, fresh": (Case((0, 0), (0, 0), (0.3, 0.6)), 8),
    "any, history": (Case((3, 5, 2), (4, 2, 6), (0.5, 0.6, 0.3)), 5),
    "any, long history": (Case((400, 380), (90, 100), (0.8, 0.7)), 4),
    "any, skewed": (Case((30, 60, 25), (1, 3, 0), (0.7, 0.9, 1)), 4),
    "any, zeros": (Case((4, 3), (5, 3), (0, 0)), 8),
    "taught, twenty arms": (Case((*[0] * 19, 30), (*[2] * 19, 7), (*[0] * 19, 1)), 1),
}
FALSE_ALARM = 1e-8


@pytest.mark.parametrize(
    ("name", "room"),
    [
        *((name, UNLIMITED) for name in CASES),
        *((name, 2) for name in ("ones, history", "zeros, near ties", "taught, history")),
        *((name, 2) for name in ("learning, ruled out", "any, history")),
    ],
)
def test_first_pulls_have_their_law(name, room):
    """Pulls and ones of all arms after some rounds are as frequent as enumeration says, also in short stretches."""
    case, horizon = CASES[name]
    assert p_value_of_law(case, horizon, RUNS, room=room) > FALSE_ALARM


# Bounds are computed for single rounds, too: any length of a part is exact.
SHORT = {"_SHORTEST = 4": "_SHORTEST = 1"}


def test_first_pulls_have_their_law_where_other_arms_compete():
    """Of twenty arms several often exceed the target's draw in the same round."""
    case, horizon = CASES["taught, twenty arms"]
    assert p_value_of_law(case, horizon, RUNS, leap_function=mutated(teaching, SHORT)) > FALSE_ALARM


# A leading arm is looked for where another one's is near it, and after few rounds: any such numbers are exact.
EAGER = {
    "_FAR = 2.5": "_FAR = 0.3",
    "_SHARES = (0.25, 0.03, 0.004)": "_SHARES = (0.5, 0.3, 0.1)",
    "_MOST_FLAGS = 1.0 / 64.0": "_MOST_FLAGS = 0.9",
    "_SHORTEST = 32": "_SHORTEST = 2",
}
LED = {
    "led, two arms": (Case((16, 4), (6, 7), (0.7, 0.4)), 7),
    "led, three arms": (Case((12, 5, 3), (4, 8, 5), (0.7, 0.4, 0.5)), 4),
    "led by ones": (Case((12, 3), (0, 2), (1, 0.4)), 7),
    "led to zeros": (Case((16, 4), (6, 7), (0, 0.2)), 6),
}


@pytest.mark.parametrize(("name", "room"), [*((name, UNLIMITED) for name in LED), ("led, two arms", 2)])
def test_first_pulls_have_their_law_while_one_arm_leads(name, room):
    """Also where most rounds have a flag, many of which come to nothing."""
    case, horizon = LED[name]
    assert p_value_of_law(case, horizon, RUNS, room=room, leap_function=mutated(leading, EAGER)) > FALSE_ALARM


def leap_once(case, rounds, room, *, one_arm=False, is_constant=False, policy=None):
    """Return rounds, stretch and state of one leap in plain Python."""
    policy, num_arms = policy or ThompsonSampling(), len(case.means)
    state, means = np.zeros(policy.state_size(num_arms)), np.array(case.means, dtype=np.float64)
    state[: 2 * num_arms] = *case.successes, *case.failures
    counts = np.array(case.successes) + np.array(case.failures)
    stretch = Stretch(*np.zeros((2, num_arms), dtype=np.int64))
    constant = (means == 0.0) | (means == 1.0) | is_constant
    prospect = Prospect(means, constant, constant, np.array(room), rounds, one_arm)
    learner = Learner(counts, np.zeros(num_arms), state)
    played = policy.leap(1, learner, prospect, stretch, np.array(policy.parameters()), np.random.default_rng(1))
    return played, stretch, state[: 2 * num_arms]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("room", [3, 50, 10_000])
def test_a_stretch_ends_in_its_last_round_or_with_the_last_pull_of_an_arm(name, room):
    """Then the state has grown by the stretch, whose rounds are its pulls."""
    case, rounds = CASES[name][0], 400
    played, stretch, state = leap_once(case, rounds, [room] * len(case.means))
    pulls, ones = stretch.pulls, stretch.ones
    assert played == pulls.sum() <= rounds
    assert played == rounds or pulls.max() == room or case.means.count(1) > 1  # there the least room counts
    assert pulls.max() <= room
    of_constants = np.where(np.array(case.means) == 1.0, pulls, 0)
    successes, failures = np.split(state, 2)
    assert (successes - case.successes == np.where(ones > 0, ones, of_constants)).all()
    assert (successes + failures - case.successes - case.failures == pulls).all()


def test_certain_rewards_leave_no_ones():
    """Ones are those of arms whose rewards are not constant, also where a constant is a chance of success."""
    assert leap_once(Case((9, 0), (1, 5), (0.9, 0.0)), 50, [99, 99], is_constant=True)[1].ones.tolist() == [0, 0]
    assert leap_once(Case((9, 0), (1, 5), (0.9, 0.0)), 50, [99, 99])[1].ones[0] > 0


def test_bounds_too_small_for_a_number():
    """After many ones of the target no other arm is pulled any more, and the stretch ends."""
    case = Case((10_000, 0, 0), (3, 3_000, 3_000), (0.994, 0, 0))
    played, stretch, _ = leap_once(case, 5_000, [10_000] * 3)
    assert (played, stretch.pulls.tolist()) == (5_000, [5_000, 0, 0])


@pytest.mark.parametrize(
    ("case", "options"),
    [
        (Case((0, 0), (0, 0), (0, 0)), {"one_arm": True}),
        (Case((40, 39), (8, 9), (0.8, 0.8)), {"one_arm": True}),
        (Case((0,), (0,), (0,)), {}),
        (Case((0, 0), (0, 0), (0.4, 0)), {"is_constant": True, "policy": ThompsonSampling("fractional")}),
    ],
)
def test_steps_where_no_leap_is_known(case, options):
    """Nothing is played, and the state is as it was."""
    played, stretch, state = leap_once(case, 100, [100] * len(case.means), **options)
    assert (played, stretch.pulls.sum(), stretch.ones.sum()) == (0, 0, 0)
    assert state.tolist() == [*case.successes, *case.failures]


def test_chance_of_exceeding_the_target():
    """It is B(a, b + k) / B(a, b), within 10^-11 of scipy's where that is exact, and for large counts of a product."""
    for a, b, other in [
        *[(1.0, 1.0, 1.0), (3.0, 40.0, 7.0), (40.0, 3.0, 2.0), (200.0, 90.0, 30.0)],
        *[(5.5, 2.25, 16.0), (5.5, 2.25, 17.0), (17.0, 4.5, 6.75), (33.0, 8.0, 90.5), (1.5, 2.5, 3.5)],
        *[(48.0, 7.0, 70.0), (70.0, 7.0, 48.0), (49.0, 7.0, 70.0), (300.0, 200.0, 100.0)],
    ]:
        expected = special.betaln(a, b + other) - special.betaln(a, b)
        assert log_chance_above(a, b, other) == pytest.approx(expected, rel=1e-11)
        assert math.log(chance_above(a, b, other)) == pytest.approx(expected, rel=1e-11)
    for a, b, other in [(3e8, 2e8, 50), (3e8, 2e8, 40), (1e18, 2e18, 30), (20, 2e15, 10**15)]:
        pairs = ((b + j, a + b + j) for j in range(other)) if other < a else ((b + j, b + other + j) for j in range(a))
        factors = math.fsum(math.log(above / below) for above, below in pairs)
        if other < a:
            assert log_chance_above(float(a), float(b), float(other)) == pytest.approx(factors, rel=1e-11)
        assert chance_above(float(a), float(b), float(other)) == pytest.approx(math.exp(factors), rel=1e-12)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 9.0), (400.0, 90.0), (1.0, 50.0), (3000.0, 5.0)])
def test_draws_are_accepted_as_their_density_says(a, b):
    """log f(m + d) - log f(m) + c d^2 / 2 is the logarithm of the probability; it is bounded by 0 and from below."""
    arrays = np.zeros((7, 1))
    arrays[:2, 0] = a - 1.0, b - 1.0
    _prepare(0, *arrays)
    mode, scale, reach, flat, slope = arrays[2:, 0]
    for offset in np.linspace(-8.0, 8.0, 65) * scale:
        theta = math.sin(mode + offset) ** 2
        logarithm = _log_acceptance(a, b, offset)
        assert logarithm <= 1e-9
        assert _least_rejection(a, b, offset) <= -math.expm1(logarithm) + 1e-9
        if not 1e-3 < mode + offset < math.pi / 2.0 - 1e-3:
            continue
        powers = [
            (2 * a - 1) / 2 * math.log(each) + (2 * b - 1) / 2 * math.log1p(-each) for each in (theta, best(a, b))
        ]
        assert logarithm == pytest.approx(powers[0] - powers[1] + offset**2 / scale**2 / 2.0, abs=1e-6)
        if abs(offset) <= reach:
            assert math.exp(logarithm) >= 1.0 - offset**2 * (flat + abs(offset) * slope) - 1e-9
    assert mode == pytest.approx(math.asin(math.sqrt(best(a, b))))


@pytest.mark.parametrize(("a", "b"), [(900.0, 100.0), (300.0, 700.0), (5.0, 5.0), (10.0, 30.0)])
def test_few_draws_need_their_density(a, b):
    """The two bounds decide all but a tenth of them."""
    arrays = np.zeros((7, 1))
    arrays[:2, 0] = a - 1.0, b - 1.0
    _prepare(0, *arrays)
    _, scale, reach, flat, slope = arrays[2:, 0]
    undecided = []
    for offset in stats.norm.ppf((np.arange(999) + 0.5) / 999) * scale:
        most = offset**2 * (flat + abs(offset) * slope) if abs(offset) <= reach else 1.0
        undecided.append(min(1.0, most) - _least_rejection(a, b, offset))
    assert min(undecided) >= 0.0
    assert np.mean(undecided) < 0.1


def best(a, b):
    """Where sin^(2 a - 1) cos^(2 b - 1) is largest, as a probability."""
    return (2.0 * a - 1.0) / (2.0 * a + 2.0 * b - 2.0)


def test_bound_of_a_draw_above_a_level():
    """It is at least the probability, near it in the tail, and 1 where the density does not fall."""
    for a, b, level in [(5.0, 30.0, 0.4), (1.0, 8.0, 0.5), (300.0, 200.0, 0.7)]:
        assert (
            special.betainc(b, a, 1.0 - level) <= bound_above(a, b, level) <= 2.0 * special.betainc(b, a, 1.0 - level)
        )
    assert bound_above(5.0, 5.0, 0.3) == 1.0


def test_a_leading_arm_leaves_the_coming_pull_to_be_made():
    """Where a stretch is of one arm only, it ends before another one's pull, which the policy then makes."""
    policy, case, leap = ThompsonSampling(), LED["led, two arms"][0], mutated(leading, EAGER)
    flags, rng, others = np.zeros(2, dtype=np.bool_), np.random.default_rng(5), 0
    prospect = Prospect(np.array(case.means), flags, flags, np.full(2, 9), 2, True)
    for _ in range(RUNS):
        state = np.zeros(policy.state_size(2))
        state[:4] = *case.successes, *case.failures
        learner, stretch = Learner(np.array([22, 11]), np.zeros(2), state), Stretch(*np.zeros((2, 2), dtype=np.int64))
        played = leap(1, learner, prospect, stretch, np.zeros(1), rng)
        assert stretch.pulls.tolist() == [played, 0]
        is_drawn = state[-1] > 0.0
        assert played + is_drawn in (1, 2)
        if is_drawn:
            assert leap(1, learner, prospect, stretch, np.zeros(1), rng) == 0
            assert policy.choose(1, learner, np.zeros(1), rng) == 1
        assert state[-1] == 0.0
        others += is_drawn and played == 0
    chance = chances_of_being_largest((17, 5), (7, 8))[1]
    assert stats.binomtest(others, RUNS, chance).pvalue > FALSE_ALARM


def test_few_rounds_are_played_singly():
    """While a client is taught, a million rounds are a few thousand draws."""

    class Counting:
        def __init__(self):
            self.generator, self.draws = np.random.default_rng(3), 0

        def __getattr__(self, name):
            self.draws += 1
            return getattr(self.generator, name)

    case = Case((0,) * 5, (1000,) * 5, (0, 0.5, 0, 0, 0))
    state = np.zeros(ThompsonSampling().state_size(5))
    state[:10] = *case.successes, *case.failures
    stretch, constant = Stretch(*np.zeros((2, 5), dtype=np.int64)), np.zeros(5, dtype=np.bool_)
    prospect = Prospect(np.array(case.means), constant, constant, np.full(5, 10**7), 10**6, False)
    stream = Counting()
    learner = Learner(np.full(5, 1000), np.zeros(5), state)
    assert ThompsonSampling().leap(1, learner, prospect, stretch, np.zeros(1), stream) == 10**6
    assert stream.draws < 10_000
