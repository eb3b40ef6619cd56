"""Exp3 against its transcription and its theorem."""

import math

import numpy as np
import pytest
from tests.policies import reference_policies as plain

from tutelage.policies.exp3 import Exp3, choose, learn


def test_engine_equals_transcription():
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like("exp3", plain.Exp3)


def test_regret_within_theorem():
    """Bubeck and Cesa-Bianchi 2012, Theorem 3.1: regret <= 2 sqrt(T K log K)."""
    for K, T in ((2, 2000), (10, 4000)):
        mean, error = plain.mean_regret("exp3", [0.8] + [0.3] * (K - 1), T=T, players=100)
        assert mean + 5 * error <= 2 * math.sqrt(T * K * math.log(K))


def test_regret_within_theorem_of_an_adversary():
    """The same bound where the better of two arms changes half-way: regret against the best single arm."""
    T, players = 2000, 30
    regrets = plain.adversary_regrets(Exp3(), T=T, players=players)
    mean, error = regrets.mean(), regrets.std(ddof=1) / math.sqrt(players)
    assert mean + 5 * error <= 2 * math.sqrt(T * 2 * math.log(2))


def test_losses_are_weighted_by_importance():
    """A loss counts over the probability of its arm; a pull that it did not draw counts as uniform."""
    learner = plain.new_learner(Exp3(), [0, 0], [0.0, 0.0])
    learner.state[:] = [0.0, 0.0, 0.0, 0.0, 0.125]
    learn(1, 0.25, learner, (), None)
    assert learner.state[2:].tolist() == [0.0, 6.0, 0.0]
    learn(0, 0.25, learner, (), None)
    assert learner.state[2:].tolist() == [1.5, 6.0, 0.0]


def test_arms_all_but_given_up():
    """Losses a million apart: probabilities from logarithms stay finite, the better arm is drawn."""
    learner, stream = plain.new_learner(Exp3(), [9, 9], [0.0, 0.0]), np.random.default_rng(0)
    learner.state[2:4] = [1e9, 1e3]
    assert {choose(1000, learner, (), stream) for _ in range(1000)} == {1}
    assert learner.state[4] == pytest.approx(1.0)
