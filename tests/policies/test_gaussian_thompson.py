"""Gaussian Thompson sampling against its transcription and the distribution of its choices."""

import math

import numpy as np
from scipy import stats
from tests.policies import reference_policies as plain

from tutelage.policies.gaussian_thompson import GaussianThompsonSampling, choose


def test_engine_equals_transcription():
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like("gaussian-ts", plain.GaussianThompson)


def test_choice_between_two_posteriors():
    """N(.6, 1/4) exceeds N(.3, 1/2) with probability Phi(.3 / sqrt(3/4)); one false alarm in 10^6."""
    learner = plain.new_learner(GaussianThompsonSampling(), [3, 1], [0.8, 0.6])
    stream, trials = np.random.default_rng(1), 20_000
    first = sum(choose(5, learner, (), stream) == 0 for _ in range(trials))
    low, high = stats.binom.interval(1 - 1e-6, trials, stats.norm.cdf(0.3 / math.sqrt(0.75)))
    assert low <= first <= high


def test_unpulled_arms_have_the_prior():
    """Of an arm with 10^6 pulls of mean 1 and one never pulled, N(0, 1) wins with probability Phi(-1)."""
    learner = plain.new_learner(GaussianThompsonSampling(), [10**6, 0], [1.0, 0.0])
    stream, trials = np.random.default_rng(2), 20_000
    second = sum(choose(5, learner, (), stream) for _ in range(trials))
    low, high = stats.binom.interval(1 - 1e-6, trials, stats.norm.cdf(-1.0))
    assert low <= second <= high
