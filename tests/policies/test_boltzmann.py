"""Boltzmann exploration against its transcription and the distribution of its choices."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.policies import reference_policies as plain

from tutelage.policies.boltzmann import Boltzmann, choose
from tutelage.policies.support.softmax import draw_weighted, to_weights


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_engine_equals_transcription(scale):
    """The compiled policy plays exactly what its formula prescribes."""
    plain.assert_plays_like(f"boltzmann(scale={scale})", lambda K: plain.Boltzmann(K, scale))


def test_choices_follow_softmax():
    """At t = 100 and scale 1 arms are chosen in proportion to 100^mean: 20,000 choices, one alarm in 10^6."""
    means, trials = [0.2, 0.5, 0.9], 20_000
    policy, stream = Boltzmann(), np.random.default_rng(0)
    counts = [0, 0, 0]
    for _ in range(trials):
        counts[choose(100, plain.new_learner(policy, [1, 1, 1], means), (1.0,), stream)] += 1
    weights = [100**mean for mean in means]
    for count, weight in zip(counts, weights, strict=True):
        low, high = stats.binom.interval(1 - 3e-7, trials, weight / sum(weights))
        assert low <= count <= high


def test_scores_of_any_size():
    """Scores of minus a million or plus a million neither overflow nor vanish."""
    for shift in (-1e6, 0.0, 1e6):
        scores = np.array([shift, shift - 1.0, shift - 1e5])
        assert to_weights(scores) == pytest.approx(1 + math.exp(-1))
        assert scores[2] == 0.0


def test_a_product_rounded_up_gives_the_heaviest():
    """Should the share reach the total by rounding, the heaviest arm is chosen, never one of weight 0."""

    class Largest:
        def random(self):
            return 1.0

    assert draw_weighted(np.array([0.2, 1.0, 0.0]), 1.2, Largest()) == 1
