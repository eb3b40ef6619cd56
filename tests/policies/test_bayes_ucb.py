"""Bayes-UCB against its transcription and the lower bound of Lai and Robbins."""

import math

import numpy as np
import pytest
from tests.policies import reference_policies as plain

from tutelage.policies.bayes_ucb import MARGIN, bayes_index, posterior_bound


@pytest.mark.parametrize("c", [0.0, 5.0])
def test_engine_equals_transcription(c):
    """The compiled policy, which keeps leads, plays exactly what ranking all arms in every round gives."""
    plain.assert_plays_like(f"bayes-ucb(c={c})", lambda K: plain.BayesUCB(K, c), longest=600)


def test_index_by_hand():
    """After one 0 the posterior is Beta(1, 2), P(X > x) = (1 - x)^2: at t = 100 the index is 0.9."""
    assert bayes_index(0.0, 1, math.log(100)) == pytest.approx(0.9, abs=1e-14)
    assert bayes_index(1.0, 1, math.log(100)) == pytest.approx(math.sqrt(0.99), abs=1e-14)


def test_ones_alone_favour_the_arm_pulled_most():
    """With nothing but ones the index is (1 - 1/t)^(1/(n + 1)), which rises with n; with .9 it falls."""
    ones = [bayes_index(1.0, n, math.log(1000)) for n in (1, 10, 100)]
    others = [bayes_index(0.9, n, math.log(1000)) for n in (1, 10, 100)]
    assert ones == pytest.approx([(1 - 1 / 1000) ** (1 / (n + 1)) for n in (1, 10, 100)], abs=1e-13)
    assert ones == sorted(ones)
    assert others == sorted(others, reverse=True)


def test_bound_lies_above():
    """The bound by which arms are passed over is never below the index, whole successes or not."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        t = int(10 ** rng.uniform(0.31, 7))
        n = int(np.clip(t * 10 ** rng.uniform(-6, 0), 1, t - 1))
        mean = float(rng.choice([rng.random(), round(rng.random() * n) / n, 0.0, 1.0]))
        index = bayes_index(mean, n, math.log(t))
        assert 0.0 < index < posterior_bound(mean, n, math.log(t)) + MARGIN / 1000


def test_regret_near_lai_and_robbins():
    """Means .9 and .8: half of UCB1's regret, near Delta log(T) / kl(.8, .9)."""
    T, means = 10_000, [0.9, 0.8]
    ours, error = plain.mean_regret("bayes-ucb", means, T=T, players=100)
    ucb1, other_error = plain.mean_regret("ucb1", means, T=T, players=100)
    assert ours + 5 * error < (ucb1 - 5 * other_error) / 2
    assert ours + 5 * error < 1.2 * 0.1 / plain.kl(0.8, 0.9) * math.log(T)
