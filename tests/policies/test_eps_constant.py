"""epsilon-greedy with a constant epsilon against its transcription and the distribution of its choices."""

import pytest
from scipy import stats
from tests.policies import reference_policies as plain


@pytest.mark.parametrize("epsilon", [0.1, 0.0, 1.0])
def test_engine_equals_transcription(epsilon):
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like(f"eps-constant(epsilon={epsilon})", lambda K: plain.EpsilonConstant(K, epsilon))


def test_how_often_it_explores():
    """An inferior arm of constant rewards is pulled once, then with chance epsilon / K; one alarm in 10^6."""
    T, K, players = 10_000, 4, 5
    pulls = plain.play_alone(
        "eps-constant(epsilon=0.2)", [0.9, 0.1, 0.2, 0.3], T=T, players=players, rewards="constant"
    )
    low, high = stats.binom.interval(1 - 3e-7, players * (T - K), 0.2 / K)
    for arm in (1, 2, 3):
        assert low <= pulls[:, arm].sum() - players <= high
