"""MOSS without a horizon against its transcription and the gap it was made for."""

import math

import pytest
from tests.policies import reference_policies as plain

from tutelage.policies.moss import moss_index


@pytest.mark.parametrize("alpha", [1.35, 0.2])
def test_engine_equals_transcription(alpha):
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like(f"moss(alpha={alpha})", lambda K: plain.MOSS(K, alpha))


def test_no_bonus_beyond_a_fair_share():
    """An arm with at least t / K pulls is worth its mean and no more."""
    assert moss_index(0.3, 250, 1000 / 4, 1.175) == 0.3
    assert moss_index(0.3, 600, 1000 / 4, 1.175) == 0.3


def test_index_by_hand():
    """n = 10, t = 1000, K = 4, alpha = 1.35: 0.3 + sqrt(1.175 log(25) / 10)."""
    assert math.isclose(moss_index(0.3, 10, 1000 / 4, 1.175), 0.9149942, abs_tol=1e-6)


def test_better_than_ucb1_at_the_minimax_gap():
    """With ten arms and the gap sqrt(K / T), the hardest, its regret is below UCB1's and below sqrt(K T)."""
    K, T = 10, 4000
    means = [0.5 + math.sqrt(K / T)] + [0.5] * (K - 1)
    moss, error = plain.mean_regret("moss", means, T=T, players=200)
    ucb1, other_error = plain.mean_regret("ucb1", means, T=T, players=200)
    assert moss + 5 * error < min(ucb1 - 5 * other_error, math.sqrt(K * T))
