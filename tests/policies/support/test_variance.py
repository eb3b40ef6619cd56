"""The variance that UCB-V and UCB-tuned look at."""

import itertools

import numpy as np
from tests.policies import reference_policies as plain

from tutelage.policies.support.variance import PER_ARM, add_square, variance
from tutelage.policies.ucb_tuned import UCBTuned


def seen(rewards):
    """The variance of these rewards of one arm."""
    learner, total = plain.new_learner(UCBTuned(), [0], [0.0]), 0.0
    for reward in rewards:
        total += reward
        learner.counts[0] += 1
        add_square(0, reward, learner, 1)
    assert learner.state.size == 1 + PER_ARM
    mean = rewards[0] if len(set(rewards)) == 1 else total / len(rewards)
    return variance(len(rewards), mean, learner.state, 1)


def test_constant_rewards_have_none():
    """Exactly 0 for a constant, however often it came and whatever it is."""
    assert all(seen([value] * n) == 0.0 for value in (0.0, 0.1, 1 / 3, 1.0) for n in (1, 2, 7, 1000))


def test_zeros_and_ones_in_any_order():
    """Two ones and three zeros have exactly the same variance in each of their ten orders."""
    orders = set(itertools.permutations([1.0, 1.0, 0.0, 0.0, 0.0]))
    assert len(orders) == 10
    assert {seen(list(order)) for order in orders} == {2 / 5 - (2 / 5) * (2 / 5)}


def test_equals_numpy():
    """Within rounding, numpy's variance; never negative, even of values that hardly differ."""
    rng = np.random.default_rng(0)
    for n, scale in itertools.product((2, 50, 3000), (1.0, 1e-3, 1e-9, 1e-16)):
        rewards = 0.7 + scale * 0.3 * rng.random(n)
        found = seen(rewards.tolist())
        assert found >= 0.0
        assert abs(found - rewards.var()) < 1e-12
