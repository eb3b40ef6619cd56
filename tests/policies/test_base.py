"""What index policies share: first pulls and the fair argmax."""

import numpy as np
import pytest
from scipy import stats
from tests.simulated_run import simulate_once

from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.policies.base import argmax, first_pulls, no_learning
from tutelage.teachers import TEACHERS


class Scripted:
    """A stream that gives the numbers it was made with and says how many it has given."""

    def __init__(self, *numbers):
        self.numbers, self.given = numbers, 0

    def random(self):
        self.given += 1
        return self.numbers[self.given - 1]


@pytest.mark.parametrize(("number", "arm"), [(0.0, 1), (0.33, 1), (0.34, 2), (0.67, 4), (0.999, 4)])
def test_first_pulls_are_of_arms_never_pulled(number, arm):
    """A third of the numbers leads to each of three unpulled arms."""
    assert first_pulls(np.array([5, 0, 0, 1, 0]), Scripted(number)) == arm


def test_first_pulls_end():
    """Once all arms have been pulled it says so and draws nothing."""
    stream = Scripted()
    assert first_pulls(np.array([1, 2, 3]), stream) == -1
    assert stream.given == 0


@pytest.mark.parametrize(("values", "best"), [([0.0], 0), ([0.1, 0.3, 0.2], 1), ([-2.0, -1.0, -np.inf], 1)])
def test_argmax_of_one_best_draws_nothing(values, best):
    """Without a tie no number is drawn."""
    stream = Scripted()
    assert argmax(np.array(values), stream) == best
    assert stream.given == 0


@pytest.mark.parametrize(("number", "arm"), [(0.0, 0), (0.34, 2), (0.67, 3)])
def test_argmax_of_ties(number, arm):
    """Among exactly equal values each is as likely; a last bit apart is not equal."""
    values = np.array([0.3, np.nextafter(0.3, 0), 0.3, 0.3, 0.1])
    assert argmax(values, Scripted(number)) == arm


def test_argmax_is_fair():
    """Each of three tied arms wins a third of 30,000 times (false alarm below 1e-6)."""
    rng, values = np.random.default_rng(0), np.array([1.0, 0.0, 1.0, 1.0])
    wins = np.bincount([argmax(values, rng) for _ in range(30_000)], minlength=4)
    low, high = stats.binom.interval(1 - 1e-7, 30_000, 1 / 3)
    assert wins[1] == 0
    assert all(low <= count <= high for count in wins[[0, 2, 3]])


def test_no_learning_changes_nothing():
    """It may be called with anything."""
    assert no_learning(0, 1.0, None, None, None) is None


def beyond(round, learner, parameters, stream):
    """Writes beyond the end of its state."""
    learner.state[10**6] = 1.0
    return 0


def nowhere(round, learner, parameters, stream):
    """Choose an arm that does not exist."""
    return 7


@pytest.mark.parametrize(
    ("function", "sentence"), [(beyond, "used an index outside an array"), (nowhere, "chose an arm outside 0 to 4")]
)
def test_a_foreign_policy_cannot_reach_beyond(function, sentence):
    """Compiled with its bounds checked, a policy that errs raises an error instead of crashing the process."""

    class Foreign:
        choose, learn = staticmethod(function), staticmethod(no_learning)

        def state_size(self, num_arms):
            return 1

        def parameters(self):
            return ()

    rounds = np.array([5])
    with pytest.raises(InputError, match=sentence):
        simulate_once(
            load("paper"), [Foreign()] * 5, TEACHERS.parse("none"), horizon=5, seed=0, run=0, checkpoints=rounds
        )
