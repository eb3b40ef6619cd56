"""KL-UCB against its transcription, bisection and the lower bound of Lai and Robbins."""

import math

import numpy as np
import pytest
from tests.policies import reference_policies as plain

from tutelage.policies import kl_ucb
from tutelage.policies.kl_ucb import divergence, exploration_term, kl_bound


@pytest.mark.parametrize("c", [0.0, 3.0])
def test_engine_equals_transcription(c):
    """The compiled policy, which keeps leads, plays exactly what ranking all arms in every round gives."""
    plain.assert_plays_like(f"kl-ucb(c={c})", lambda K: plain.KLUCB(K, c), longest=3000)


def levels():
    """Means at all distances from 0 and 1, with exploration per pull from 10^-11 to 30."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        near = 10 ** rng.uniform(-9, -0.3)
        yield float(rng.choice([rng.random(), near, 1 - near])), float(10 ** rng.uniform(-11, 1.5))


def test_index_equals_bisection():
    """Newton's root is the bisection's, within 10^-10."""
    for mean, level in levels():
        low, high = mean, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if middle < 1.0 and divergence(mean, middle) <= level:
                low = middle
            else:
                high = middle
        assert abs(kl_bound(mean, level) - low) < 1e-10


def test_few_steps(monkeypatch):
    """Newton's method is at its end after 12 steps, far from the limit of 50."""
    calls = []
    monkeypatch.setattr(kl_ucb, "divergence", lambda p, q: calls.append(q) or divergence(p, q))
    most = 0
    for mean, level in levels():
        calls.clear()
        kl_bound(mean, level)
        most = max(most, len(calls))
    assert 3 < most <= 12


def test_edges():
    """Means of 0 and 1, no exploration, and so much that the index is 1 but for rounding."""
    assert kl_bound(1.0, 2.0) == 1.0
    assert kl_bound(0.0, math.log(4)) == pytest.approx(0.75, abs=1e-15)
    assert kl_bound(0.3, 0.0) == 0.3
    assert 0.999999 < kl_bound(0.3, 1000.0) <= 1.0
    assert exploration_term(2, 3.0) == 0.0
    assert exploration_term(100, 0.0) == math.log(100)


def test_regret_near_lai_and_robbins():
    """Means .9 and .8 (Garivier and Cappe's kind): half of UCB1's regret, near Delta log(T) / kl(.8, .9)."""
    T, means = 20_000, [0.9, 0.8]
    ours, error = plain.mean_regret("kl-ucb", means, T=T, players=200)
    ucb1, other_error = plain.mean_regret("ucb1", means, T=T, players=200)
    bound = 0.1 / plain.kl(0.8, 0.9) * math.log(T)
    assert ours + 5 * error < (ucb1 - 5 * other_error) / 2
    assert 0.5 * bound < ours - 5 * error < ours + 5 * error < 1.5 * bound
