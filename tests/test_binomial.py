"""Binomial numbers against their probabilities."""

import math

import numpy as np
import pytest
from scipy import special, stats

from tutelage.binomial import _is_below, binomial, deviance, log_binomial, stirling_error
from tutelage.engine.kernels import compiled_main
from tutelage.seeding import REWARDS, client_generator, client_streams

NUMBERS = 400_000
CASES = [
    (1, 0.3),
    (7, 0.5),
    (40, 0.2),
    (40, 0.26),
    (40, 0.74),
    (3000, 0.002),
    (3000, 0.98),
    (10**6, 0.4),
    (10**9, 0.01),
    (10**9, 1e-300),  # gaps beyond the whole numbers of 64 bits
]
FALSE_ALARM = 1e-7 / len(CASES)


def draw_many(stream, trials, chance, numbers):
    """Fill an array with binomial numbers."""
    for place in range(numbers.size):
        numbers[place] = binomial(stream, trials, chance)


@pytest.mark.parametrize(("trials", "chance"), CASES)
def test_law(trials, chance):
    """400,000 numbers fill a hundred classes as often as scipy's probabilities say, by waiting times and rejection."""
    stream, numbers = client_streams(17, 0, 1)[0, REWARDS], np.zeros(NUMBERS, dtype=np.int64)
    compiled_main(draw_many, "draw_many")(stream, trials, chance, numbers)
    assert 0 <= numbers.min() <= numbers.max() <= trials
    law = stats.binom(trials, chance)
    cuts = np.unique(law.ppf(np.linspace(0.0, 1.0, 101)[1:-1]))
    expected = NUMBERS * np.diff(law.cdf(cuts), prepend=0.0, append=1.0)
    observed = np.bincount(np.searchsorted(cuts, numbers), minlength=expected.size)
    large = expected > 20
    squares = (observed - expected)[large] ** 2 / expected[large]
    assert stats.chi2.sf(squares.sum(), large.sum()) > FALSE_ALARM


def test_compiled_is_plain():
    """Python and the kernel draw the same numbers."""
    for trials, chance in CASES:
        stream, generator = client_streams(3, 0, 1)[0, REWARDS], client_generator(3, 0, 0, REWARDS)
        numbers = np.zeros(200, dtype=np.int64)
        compiled_main(draw_many, "draw_many")(stream, trials, chance, numbers)
        assert numbers.tolist() == [binomial(generator, trials, chance) for _ in range(200)]


def test_no_chance_and_certainty():
    """Nothing is drawn where the number is certain."""
    assert [binomial(None, 0, 0.5), binomial(None, 9, 0.0), binomial(None, 9, 1.0)] == [0, 0, 9]


def test_log_probability():
    """It equals scipy's where scipy is exact, and a sum of logarithms where factors are few."""
    for trials, chance in [(1, 0.3), (30, 0.4), (1000, 0.03), (10**5, 0.5)]:
        for successes in {0, 1, min(5, trials), trials // 3, trials - 1, trials}:
            exact = (
                math.log(math.comb(trials, successes))
                + successes * math.log(chance)
                + (trials - successes) * math.log1p(-chance)
            )
            assert log_binomial(successes, trials, chance) == pytest.approx(exact, rel=1e-11, abs=1e-11)


def test_deviance_of_close_numbers():
    """Its series continues its formula; of equal numbers it is 0."""
    assert deviance(1e9, 1e9) == 0.0
    assert deviance(1e9, 1e9 + 10.0) == pytest.approx(10.0**2 / 2e9, rel=1e-7)
    for ratio in (0.8, 0.82, 1.21, 1.23):
        assert deviance(1.0, ratio) == pytest.approx(-math.log(ratio) + ratio - 1.0, rel=1e-12)


def test_stirling_error_equals_log_gamma():
    """Stirling's formula with its error is scipy's log Gamma."""
    for x in 10 ** np.linspace(0, 3, 200):
        formula = (x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi)
        assert formula + stirling_error(x) == pytest.approx(special.gammaln(x), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize(("trials", "chance"), [(40, 0.26), (700, 0.2), (5000, 0.49), (10**6, 0.1), (10**9, 0.01)])
def test_ratio_to_the_mode(trials, chance):
    """Each number is below the ratio of its probability to the largest up to that ratio, in the tails, too."""
    law, width = stats.binom(trials, chance), math.sqrt(trials * chance * (1.0 - chance))
    middle, tolerance = math.floor((trials + 1) * chance), max(1e-6, 1e-12 * trials)  # scipy's error
    for distance in {int(share * width) for share in np.linspace(0.0, 9.0, 200)} | {0, 1, 2, 3}:
        for successes in (middle - distance, middle + distance):
            if not 0 <= successes <= trials:
                continue
            ratio = math.exp(law.logpmf(successes) - law.logpmf(middle))
            far = [ratio * factor for factor in (0.01, 0.5, 0.9, 1.0 - tolerance)]
            assert all(_is_below(height, successes, trials, chance) for height in far)
            near = [ratio * factor for factor in (1.0 + tolerance, 1.1, 2.0, 100.0)]
            assert not any(_is_below(height, successes, trials, chance) for height in near)


def test_errors_of_small_whole_numbers():
    """Those that are looked up continue those that are summed."""
    for x in range(1, 20):
        exact = special.gammaln(x) - ((x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi))
        assert stirling_error(float(x)) == pytest.approx(exact, rel=1e-9)
        assert stirling_error(x + 1e-9) == pytest.approx(stirling_error(float(x)), rel=1e-7)
