"""Exp3-IX against its transcription and its theorem."""

import math

import pytest
from tests.policies import reference_policies as plain

from tutelage.policies.exp3_ix import Exp3IX, choose, learn


@pytest.mark.parametrize("horizon", [0, 900])
def test_engine_equals_transcription(horizon):
    """The compiled policy plays exactly what its formula prescribes, with anytime rates and with a horizon."""
    plain.assert_plays_like(f"exp3-ix(horizon={horizon})", lambda K: plain.Exp3IX(K, horizon))


def expected_bound(K, T, *, is_horizon_known):
    """Neu 2015, Theorem 1, integrated over delta: log(2 / delta) becomes 1 + log 2."""
    scale = 2 if is_horizon_known else 4
    main, rest = math.sqrt(scale * K * T * math.log(K)) * 2, math.sqrt(scale * K * T / math.log(K))
    return main + (rest + 1) * (1 + math.log(2))


@pytest.mark.parametrize("is_horizon_known", [False, True])
def test_regret_within_theorem(is_horizon_known):
    """The regret is within Theorem 1, for two arms and for ten."""
    for K, T in ((2, 2000), (10, 4000)):
        spec = f"exp3-ix(horizon={T if is_horizon_known else 0})"
        mean, error = plain.mean_regret(spec, [0.8] + [0.3] * (K - 1), T=T, players=100)
        assert mean + 5 * error <= expected_bound(K, T, is_horizon_known=is_horizon_known)


def test_regret_within_theorem_of_an_adversary():
    """The same bound where the better of two arms changes half-way: regret against the best single arm."""
    T, players = 2000, 30
    regrets = plain.adversary_regrets(Exp3IX(horizon=T), T=T, players=players)
    error = regrets.std(ddof=1) / math.sqrt(players)
    assert regrets.mean() + 5 * error <= expected_bound(2, T, is_horizon_known=True)


def test_implicit_exploration_bounds_the_estimates():
    """A loss of 1 is estimated as 1 / (p + gamma): of an arm that is hardly ever drawn at most 1 / gamma."""
    policy = Exp3IX(horizon=100)
    learner = plain.new_learner(policy, [9, 9], [0.0, 0.0])
    learner.state[2:4] = [1e9, 0.0]

    class First:
        def random(self):
            return 0.0

    chosen = choose(10, learner, policy.parameters(), First())
    gamma = math.sqrt(2 * math.log(2) / (2 * 100)) / 2
    learner.state[2:4] = 0.0
    learn(chosen, 0.0, learner, policy.parameters(), First())
    assert learner.state[2 + chosen] == pytest.approx(1 / (1.0 + gamma))
    assert learner.state[4] == 0.0
    learner.state[4] = 2.0**-53 + gamma
    learn(0, 0.0, learner, policy.parameters(), First())
    assert learner.state[2] == pytest.approx(1 / gamma)
