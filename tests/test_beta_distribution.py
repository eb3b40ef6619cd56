"""Upper Beta quantiles against scipy's."""

import math

import numpy as np
import pytest
from scipy import special, stats

from tutelage import beta_distribution
from tutelage.beta_distribution import log_scale, log_tail, probability_above, tail_fraction, upper_quantile
from tutelage.policies.bayes_ucb import posterior_bound


def cases():
    """Posteriors after up to a million pulls with levels 1 - 1/t, t up to ten million."""
    rng = np.random.default_rng(0)
    for _ in range(2000):
        n = int(10 ** rng.uniform(0, 6))
        s = float(rng.choice([rng.integers(0, n + 1), n * rng.random(), 0, n, min(n, 3)]))
        yield 1.0 + s, 1.0 + n - s, float(10 ** rng.uniform(math.log10(n + 1), 7))


def test_quantile_equals_scipy():
    """Within 10^-10 of scipy's inverse of the complemented incomplete beta function."""
    for a, b, t in cases():
        assert abs(upper_quantile(a, b, math.log(t), a / (a + b)) - special.betainccinv(a, b, 1 / t)) < 1e-10


def test_start_does_not_matter():
    """From the mean, near 1 or between, Newton's method comes to the same number, within 10^-12."""
    for a, b, t in [(1.0, 1.0, 2.0), (1.0, 50.0, 1e4), (50.0, 1.0, 1e4), (30.5, 80.2, 1e5), (2.0, 2.0, 1e9)]:
        mean = a / (a + b)
        found = [upper_quantile(a, b, math.log(t), start) for start in (mean, (mean + 1) / 2, 0.999)]
        assert max(found) - min(found) < 1e-12
        assert stats.beta.sf(found[0], a, b) == pytest.approx(1 / t, rel=1e-9)


def test_few_steps(monkeypatch):
    """From the policy's bound Newton's method is at its end after 12 steps, far from the limit of 60."""
    calls = []
    monkeypatch.setattr(beta_distribution, "tail_fraction", lambda *three: calls.append(1) or tail_fraction(*three))
    most = 0
    for a, b, t in cases():
        calls.clear()
        count = a + b - 2
        upper_quantile(a, b, math.log(t), posterior_bound((a - 1) / count, count, math.log(t)))
        most = max(most, len(calls))
    assert 3 < most <= 12


def test_tail_equals_scipy():
    """log P(X > x) above the mean, also where the tail is 10^-100."""
    for a, b, x in [(1.0, 1.0, 0.9), (3.0, 40.0, 0.2), (40.0, 3.0, 0.99), (1e3, 2e3, 0.4), (2.0, 60.0, 0.98)]:
        found = log_tail(a, b, log_scale(a, b), x, tail_fraction(a, b, 1.0 - x))
        assert found == pytest.approx(stats.beta.logsf(x, a, b), rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.5, 49.5), (49.5, 0.5), (1.0, 3.0), (300.0, 20.0), (0.5, 5e4)])
def test_probability_above_equals_scipy(a, b):
    """Within 10^-12 of it on both sides of the mean, and 1 - x may have digits that x has not."""
    for x in (1e-9, 1e-4, 0.01, 0.3, a / (a + b), 0.7, 0.99):
        assert probability_above(a, b, x, 1.0 - x) == pytest.approx(special.betaincc(a, b, x), rel=1e-11, abs=1e-13)
    assert probability_above(2.0, 1.5, 1.0, 1e-40) == pytest.approx(special.betainc(1.5, 2.0, 1e-40), rel=1e-12)
