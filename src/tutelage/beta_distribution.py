"""Beta distributions in plain ``math``: quantiles for Bayes-UCB, probabilities for intervals and tests.

numba's ``lgamma`` and Python's differ in the last bit, so Stirling's series is used.  scipy has all of this, but
importing ``scipy.special`` takes a third of a second of every command that prints an interval.
"""

import math

from tutelage.binomial import deviance, stirling_error

_MOST_STEPS = 60  # Newton's; a test finds that 12 are enough
_CLOSE = 1e-12  # of the last step; convergence is quadratic, so the error is far below
_MOST_TERMS = 100_000
_BELOW_ONE = 1.0 - 2.0**-53
_SMALL = 1e-300


def log_scale(a: float, b: float) -> float:
    """The part of log(x^a (1 - x)^b / B(a, b)) that does not depend on x: its value at x = a / (a + b)."""
    errors = stirling_error(a + b) - stirling_error(a) - stirling_error(b)
    return 0.5 * math.log(a * b / (2.0 * math.pi * (a + b))) + errors


def tail_fraction(a: float, b: float, y: float) -> float:
    """The continued fraction c in P(X > 1 - y) = x^a y^b c / (b B(a, b)), X ~ Beta(a, b), x = 1 - y.

    DLMF 8.17.22 for I_y(b, a), by Lentz's method.  It converges fast for x above the mean of X.
    """
    ahead, behind = 1.0, 1.0 / _not_zero(1.0 - (a + b) * y / (b + 1.0))
    fraction = behind
    for m in range(1, _MOST_TERMS):
        twice = b + 2.0 * m
        term = m * (a - m) * y / ((twice - 1.0) * twice)
        behind = 1.0 / _not_zero(1.0 + term * behind)
        ahead = _not_zero(1.0 + term / ahead)
        fraction *= ahead * behind
        term = -(b + m) * (a + b + m) * y / (twice * (twice + 1.0))
        behind = 1.0 / _not_zero(1.0 + term * behind)
        ahead = _not_zero(1.0 + term / ahead)
        change = ahead * behind
        fraction *= change
        if abs(change - 1.0) < 1e-15:
            break
    return fraction


def _not_zero(value: float) -> float:
    return value if abs(value) > _SMALL else _SMALL


def log_tail(a: float, b: float, scale: float, x: float, fraction: float) -> float:
    """log P(X > x), X ~ Beta(a, b), with ``scale`` and ``fraction`` from the functions above."""
    total, y = a + b, 1.0 - x
    power = scale - a * math.log(a / (total * x)) - b * math.log(b / (total * y))
    return power + math.log(fraction / b)


def upper_quantile(a: float, b: float, surprise: float, start: float) -> float:
    """The x with P(X > x) = exp(-surprise), X ~ Beta(a, b), from a start in [a / (a + b), 1).

    Newton's method on log P(X > x), which is concave: from above the root it comes down to it, from below
    it jumps above, but never by more than half of the way to 1.  It ends with the first step below 10^-12,
    or after 60.
    """
    scale = log_scale(a, b)
    x = min(start, _BELOW_ONE)
    for _ in range(_MOST_STEPS):
        y = 1.0 - x
        fraction = tail_fraction(a, b, y)
        step = (log_tail(a, b, scale, x, fraction) + surprise) * x * y * fraction / b
        x = min(x + step, 0.5 * (x + 1.0), _BELOW_ONE)
        if abs(step) < _CLOSE:
            break
    return x


def probability_above(a: float, b: float, x: float, y: float) -> float:
    """P(X > x), X ~ Beta(a, b), for shapes above 0 and x in (0, 1); y = 1 - x is given, which may have more digits."""
    if x * (a + b + 2.0) < a + 1.0:  # the continued fraction of the other side converges faster
        return 1.0 - probability_above(b, a, y, x)
    power = log_scale(a, b) - deviance(a, (a + b) * x) - deviance(b, (a + b) * y)
    return math.exp(power) * tail_fraction(a, b, y) / b
