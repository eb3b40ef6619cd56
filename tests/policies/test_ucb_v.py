"""UCB-V against its transcription and its theorem."""

import math

import pytest
from tests.policies import reference_policies as plain

from tutelage.policies.ucb_v import ucb_v_index


@pytest.mark.parametrize(("zeta", "c"), [(1.2, 1.0), (0.4, 0.1)])
def test_engine_equals_transcription(zeta, c):
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like(f"ucb-v(zeta={zeta},c={c})", lambda K: plain.UCBV(K, zeta, c))


def test_index_by_hand():
    """V = 0.04, n = 100, E = 8, c = 1: 0.5 + sqrt(2 0.04 8 / 100) + 3 8 / 100 = 0.5 + 0.08 + 0.24."""
    assert math.isclose(ucb_v_index(0.5, 0.04, 100, 8.0, 1.0), 0.82, abs_tol=1e-15)


def test_regret_within_theorem():
    """Audibert et al. 2009: regret <= 10 sum (variance / Delta + 2) log T with the defaults."""
    T, means = 5000, [0.9, 0.7, 0.6]
    mean, error = plain.mean_regret("ucb-v", means, T=T, players=100)
    bound = 10 * math.log(T) * sum(mu * (1 - mu) / (0.9 - mu) + 2 for mu in means[1:])
    assert mean + 5 * error <= bound


def test_small_variances_are_worth_less_exploration():
    """Where rewards hardly vary, its regret is less than half of UCB1's."""
    options = {"T": 20_000, "players": 50, "rewards": "beta(200)"}
    ours, error = plain.mean_regret("ucb-v", [0.6, 0.5], **options)
    ucb1, other_error = plain.mean_regret("ucb1", [0.6, 0.5], **options)
    assert ours + 5 * error < (ucb1 - 5 * other_error) / 2
