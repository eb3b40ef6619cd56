"""UCB with a parameter against its transcription, UCB1 and its theorem."""

import math

import pytest
from tests.policies import reference_policies as plain


@pytest.mark.parametrize("alpha", [2.0, 0.5, 0.0])
def test_engine_equals_transcription(alpha):
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like(f"ucb(alpha={alpha})", lambda K: plain.UCB(K, alpha))


def test_alpha_two_is_ucb1():
    """With alpha = 2 it plays UCB1, pull for pull."""
    options = {"T": 3000, "players": 10, "rewards": "beta(4)"}
    means = [0.2, 0.45, 0.5, 0.5]
    ours, ucb1 = (plain.play_alone(spec, means, **options) for spec in ("ucb(alpha=2)", "ucb1"))
    assert ours.tolist() == ucb1.tolist()


def test_regret_within_theorem():
    """Bubeck and Cesa-Bianchi 2012, Thm. 2.1: regret <= sum 4 alpha log(T) / Delta + alpha / (alpha - 1)."""
    T, alpha, gaps = 5000, 1.5, (0.2, 0.3)
    mean, error = plain.mean_regret(f"ucb(alpha={alpha})", [0.9, 0.7, 0.6], T=T, players=100)
    bound = sum(4 * alpha * math.log(T) / gap + alpha / (alpha - 1) for gap in gaps)
    assert mean + 5 * error <= bound
