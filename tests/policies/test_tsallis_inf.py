"""Tsallis-INF against its transcription, its definition and its theorem."""

import math

import numpy as np
import pytest
from scipy import optimize
from tests.policies import reference_policies as plain

from tutelage.policies.tsallis_inf import TsallisINF, choose


def test_engine_equals_transcription():
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like("tsallis-inf", plain.TsallisINF)


def test_regret_within_theorem():
    """Zimmert and Seldin 2021, Theorem 1: regret <= 4 sqrt(K T) + 1."""
    for K, T in ((2, 2000), (10, 4000)):
        mean, error = plain.mean_regret("tsallis-inf", [0.6] + [0.5] * (K - 1), T=T, players=100)
        assert mean + 5 * error <= 4 * math.sqrt(K * T) + 1


def test_regret_within_theorem_of_an_adversary():
    """The same bound where the better of two arms changes half-way: regret against the best single arm."""
    T, players = 2000, 30
    regrets = plain.adversary_regrets(TsallisINF(), T=T, players=players)
    assert regrets.mean() + 5 * regrets.std(ddof=1) / math.sqrt(players) <= 4 * math.sqrt(2 * T) + 1


def test_regret_grows_like_a_logarithm():
    """Independent rewards, one best arm: eight times the horizon adds less than sqrt(8) would multiply."""
    (early, _), (late, error) = (plain.mean_regret("tsallis-inf", [0.8, 0.5], T=T, players=100) for T in (2000, 16000))
    assert late + 5 * error < math.sqrt(8) * early


@pytest.mark.parametrize("losses", [[0.0, 0.0, 0.0], [5.0, 1.0, 40.0], [1e9, 0.0, 3.0]])
def test_weights_minimise_the_regularised_loss(losses):
    """w minimises sum w L - (4 / eta) sum sqrt(w) over the simplex: scipy finds the same multiplier x."""
    round, policy = 400, TsallisINF()
    learner = plain.new_learner(policy, [9] * 3, [0.0] * 3)
    learner.state[3:6] = losses
    chosen = choose(round, learner, (), np.random.default_rng(0))
    eta, losses = 2 / math.sqrt(round), np.array(losses)

    def weights(x):
        return 4 / (eta * (losses - x)) ** 2

    least = losses.min()
    x = optimize.brentq(lambda x: weights(x).sum() - 1, least - 2 * math.sqrt(3) / eta - 1, least - 1 / eta, xtol=1e-13)
    assert learner.state[:3] == pytest.approx(weights(x), rel=1e-9)
    assert learner.state[6] == pytest.approx(weights(x)[chosen])
