"""Boltzmann-Gumbel exploration against its transcription and the distribution of its choices."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.policies import reference_policies as plain

from tutelage.policies.boltzmann_gumbel import BoltzmannGumbel, choose


@pytest.mark.parametrize("c", [0.5, 2.0])
def test_engine_equals_transcription(c):
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like(f"boltzmann-gumbel(c={c})", lambda K: plain.BoltzmannGumbel(K, c))


def test_equal_counts_give_softmax():
    """With n pulls of each arm it is softmax at temperature C / sqrt(n); one false alarm in 10^6."""
    means, trials, temperature = [0.2, 0.5, 0.9], 20_000, 0.5 / math.sqrt(4)
    learner, stream = plain.new_learner(BoltzmannGumbel(), [4, 4, 4], means), np.random.default_rng(0)
    counts = [0, 0, 0]
    for _ in range(trials):
        counts[choose(13, learner, (0.5,), stream)] += 1
    weights = [math.exp(mean / temperature) for mean in means]
    for count, weight in zip(counts, weights, strict=True):
        low, high = stats.binom.interval(1 - 3e-7, trials, weight / sum(weights))
        assert low <= count <= high


def test_an_exponential_number_of_zero():
    """The one exponential number without a logarithm makes a large Gumbel number, not an error."""

    class Zero:
        def standard_exponential(self):
            return 0.0

        def random(self):
            return 0.0

    learner = plain.new_learner(BoltzmannGumbel(), [1, 1], [0.5, 0.5])
    assert choose(3, learner, (0.5,), Zero()) == 0
    assert np.isfinite(learner.state).all()


def test_regret_grows_slower_than_boltzmanns():
    """Cesa-Bianchi et al. 2017: log^2 T, not a power: ten times the rounds, less than 3 times the regret."""
    means = [0.7, 0.5]
    short, error = plain.mean_regret("boltzmann-gumbel", means, T=5000, players=100)
    long, other_error = plain.mean_regret("boltzmann-gumbel", means, T=50_000, players=100)
    boltzmann, third_error = plain.mean_regret("boltzmann", means, T=50_000, players=100)
    assert long + 5 * other_error < 3 * (short - 5 * error)
    assert 5 * (long + 5 * other_error) < boltzmann - 5 * third_error
