"""Sliding-window UCB against its transcription, which remembers everything."""

import math

import numpy as np
import pytest
from tests.policies import reference_policies as plain

from tutelage.policies.sliding_window import SlidingWindow, choose, learn, windowed_mean


@pytest.mark.parametrize(("window", "xi"), [(1000, 0.6), (60, 0.6), (7, 2.0), (1, 0.6)])
def test_engine_equals_transcription(window, xi):
    """The compiled policy plays exactly what its formula prescribes for the last pulls."""
    spec = f"sliding-window(window={window},xi={xi})"
    plain.assert_plays_like(spec, lambda K: plain.SlidingWindow(K, window, xi), longest=1200)


def feed(policy, pulls, num_arms=2):
    """A learner that was shown these (arm, reward)."""
    learner = plain.new_learner(policy, [0] * num_arms, [0.0] * num_arms)
    for arm, reward in pulls:
        learn(arm, reward, learner, policy.parameters(), None)
    return learner


def look(learner, arm):
    """Count and mean of an arm within the window."""
    num_arms = learner.counts.size
    count = learner.state[num_arms + arm]
    return count, windowed_mean(arm, num_arms, count, learner.state)


def test_nothing_drifts():
    """After 50,000 pulls the mean of the window's rewards is as exact as after the first ones."""
    rng, window = np.random.default_rng(0), 500
    pulls = list(zip(rng.integers(0, 2, 50_123).tolist(), rng.random(50_123).tolist(), strict=True))
    learner = feed(SlidingWindow(window), pulls)
    for arm in (0, 1):
        rewards = [reward for k, reward in pulls[-window:] if k == arm]
        count, mean = look(learner, arm)
        assert count == len(rewards)
        assert abs(mean - math.fsum(rewards) / len(rewards)) < 1e-15 * len(rewards)


def test_constants_are_exact():
    """Once all of an arm's rewards in the window are equal, its mean is that number, whatever came before."""
    rng, window = np.random.default_rng(0), 50
    noise = [(int(arm), float(reward)) for arm, reward in zip(rng.integers(0, 2, 997), rng.random(997), strict=True)]
    learner = feed(SlidingWindow(window), noise + [(k % 2, 0.1) for k in range(window)])
    assert [look(learner, arm) for arm in (0, 1)] == [(25.0, 0.1), (25.0, 0.1)]


def test_a_forgotten_arm_comes_first():
    """An arm whose last pull has left the window is pulled next, though it was poor."""
    policy = SlidingWindow(10)
    learner = feed(policy, [(1, 0.0), *[(0, 1.0)] * 9])
    assert choose(11, learner, policy.parameters(), np.random.default_rng(0)) == 0
    learn(0, 1.0, learner, policy.parameters(), None)
    assert choose(12, learner, policy.parameters(), np.random.default_rng(0)) == 1


def test_follows_a_change():
    """The better arm changes after 2,000 pulls: within 1,000 more most pulls go to the new one."""
    policy, rng = SlidingWindow(300), np.random.default_rng(0)
    learner = plain.new_learner(policy, [0, 0], [0.0, 0.0])
    arms = []
    for round in range(1, 4001):
        arms.append(choose(round, learner, policy.parameters(), rng))
        learn(arms[-1], float(arms[-1] == (round > 2000)), learner, policy.parameters(), None)
    assert arms[1000:2000].count(0) > 900
    assert arms[3000:].count(1) > 900
