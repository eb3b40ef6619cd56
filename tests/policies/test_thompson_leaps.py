"""Leaps of Thompson sampling: the joint law of the first pulls against enumeration, and where leaps end.

``test_thompson_leaping.py``, among the slow tests, compares them with stepping and shows that mutants are caught.
"""

import math

import numpy as np
import pytest
from scipy import special
from tests.policies.thompson_laws import UNLIMITED, Case, p_value_of_law

from tutelage.policies.base import Learner, Prospect, Stretch
from tutelage.policies.support.thompson_teaching import log_chance_above
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
    "taught, twenty arms": (Case((*[0] * 19, 30), (*[2] * 19, 7), (*[0] * 19, 1)), 1),
}
FALSE_ALARM = 1e-8


@pytest.mark.parametrize(
    ("name", "room"),
    [*((name, UNLIMITED) for name in CASES), ("ones, history", 2), ("zeros, near ties", 2), ("taught, history", 2)],
)
def test_first_pulls_have_their_law(name, room):
    """Pulls and ones of all arms after some rounds are as frequent as enumeration says, also in short stretches."""
    case, horizon = CASES[name]
    assert p_value_of_law(case, horizon, RUNS, room=room) > FALSE_ALARM


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
    played, (pulls, ones), state = leap_once(case, rounds, [room] * len(case.means))
    assert played == pulls.sum() <= rounds
    assert played == rounds or pulls.max() == room or case.means == (1, 1, 1)  # there the least room counts
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
        (Case((0, 0), (0, 0), (0.4, 0.5)), {}),
        (Case((3, 0), (0, 0), (0, 0.5)), {}),  # zeros after ones
        (Case((0, 0), (2, 0), (1, 1)), {}),  # ones after zeros
        (Case((0, 0), (0, 0), (0, 0)), {"one_arm": True}),
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
    for a, b, other in [(1.0, 1.0, 1.0), (3.0, 40.0, 7.0), (40.0, 3.0, 2.0), (200.0, 90.0, 30.0)]:
        assert log_chance_above(a, b, other) == pytest.approx(
            special.betaln(a, b + other) - special.betaln(a, b), rel=1e-11
        )
    a, b, other = 3e8, 2e8, 50
    factors = math.fsum(math.log((b + j) / (a + b + j)) for j in range(other))
    assert log_chance_above(a, b, float(other)) == pytest.approx(factors, rel=1e-11)


def test_few_rounds_are_played_singly():
    """While a client is taught, a million rounds are a few thousand draws."""

    class Counting:
        def __init__(self):
            self.generator, self.draws = np.random.default_rng(3), 0

        def __getattr__(self, name):
            self.draws += 1
            return getattr(self.generator, name)

    case = Case((0,) * 5, (1000,) * 5, (0, 0.5, 0, 0, 0))
    state = np.array([*case.successes, *case.failures, *[0] * 10], dtype=np.float64)
    stretch, constant = Stretch(*np.zeros((2, 5), dtype=np.int64)), np.zeros(5, dtype=np.bool_)
    prospect = Prospect(np.array(case.means), constant, constant, np.full(5, 10**7), 10**6, False)
    stream = Counting()
    learner = Learner(np.full(5, 1000), np.zeros(5), state)
    assert ThompsonSampling().leap(1, learner, prospect, stretch, np.zeros(1), stream) == 10**6
    assert stream.draws < 10_000
