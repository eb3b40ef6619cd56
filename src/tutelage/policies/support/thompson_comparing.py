"""The leap of Thompson sampling that compares all draws in every round, for any rewards: rounds without the engine.

The draw of arm k is theta_k ~ Beta(a_k, b_k), a_k = 1 + its successes and b_k = 1 + its failures.  Shapes: K arms.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import normal, random
from tutelage.policies.base import Prospect, Stretch

_REACH, _FARTHEST = 0.4, 5.0  # of the bound below: in radians for a = b, and in standard deviations


def pull_compared(
    stream: Any,
    rounds: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    numbers: NDArray[np.float64],
) -> int:
    """Play at most ``rounds`` rounds, until an arm has reached its room; return how many.

    ``successes`` [K] and ``failures`` [K] are updated.  ``numbers`` [5 K] is room for numbers.

    Exact: instead of theta its increasing function phi = arcsin sqrt(theta) is drawn, whose density is proportional to
    exp(g), g = A log sin phi + B log cos phi, A = 2 a - 1 and B = 2 b - 1.  With r = sqrt(B / A) the mode m has
    cot m = r.  As sin^2 + cos^2 = 1, -g'' = A / sin^2 + B / cos^2 >= (sqrt A + sqrt B)^2 =: c (Cauchy and Schwarz),
    so g(m + d) <= g(m) - c d^2 / 2: a normal number d with variance 1 / c is proposed, and accepted with probability
    exp(g(m + d) - g(m) + c d^2 / 2) (:func:`_log_acceptance`; :func:`_prepare` bounds it from below).
    """
    num_arms, first, end = successes.size, 0, successes.size
    modes, scales = numbers[:num_arms], numbers[num_arms : 2 * num_arms]
    reaches, flats = numbers[2 * num_arms : 3 * num_arms], numbers[3 * num_arms : 4 * num_arms]
    slopes = numbers[4 * num_arms : 5 * num_arms]
    for done in range(rounds):
        for arm in range(first, end):
            _prepare(arm, successes, failures, modes, scales, reaches, flats, slopes)
        best, highest = 0, -1.0
        for arm in range(num_arms):
            while True:
                offset, chance = scales[arm] * normal(stream), random(stream)
                distance = abs(offset)
                if distance <= reaches[arm] and chance >= distance * distance * (flats[arm] + distance * slopes[arm]):
                    break
                a, b = 1.0 + successes[arm], 1.0 + failures[arm]
                if chance >= _least_rejection(a, b, offset) and chance >= -math.expm1(_log_acceptance(a, b, offset)):
                    break
            if modes[arm] + offset > highest:
                best, highest = arm, modes[arm] + offset
        stretch.pulls[best] += 1
        if random(stream) < prospect.means[best]:
            successes[best] += 1.0
            stretch.ones[best] += 1
        else:
            failures[best] += 1.0
        first, end = best, best + 1
        if stretch.pulls[best] == prospect.room[best]:
            return done + 1
    return rounds


def _prepare(
    arm: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    modes: NDArray[np.float64],
    scales: NDArray[np.float64],
    reaches: NDArray[np.float64],
    flats: NDArray[np.float64],
    slopes: NDArray[np.float64],
) -> None:
    """Write an arm's mode m, 1 / sqrt c, and numbers that bound the probability with which d is accepted.

    It is at least 1 - d^2 (e + s abs(d)) where abs(d) is at most the arm's reach.

    With x = tan d, the logarithm of that probability is

        A log(1 + r x) + B log(1 - x / r) - (A + B) log(1 + x^2) / 2 + c d^2 / 2.

    As log(1 + y) >= y - y^2 / 2 + y^3 / 3 - y^4 / 2 for y >= -1 / 2, log(1 + x^2) <= x^2, d^2 >= x^2 - 2 x^4 / 3 and
    A + B - c / 2 = (sqrt A - sqrt B)^2 / 2, it is at least

        -(sqrt A - sqrt B)^2 x^2 / 2 - abs(A^2 - B^2) / (3 sqrt(A B)) abs(x)^3 - ((B^2 / A + A^2 / B) / 2 + c / 3) x^4

    where abs(x) is at most 1/2, r / 2 and 1 / (2 r).  For abs(d) <= 0.4, abs(x) <= abs(d) (1 + 0.4 d^2).  So up to the
    reach R, which is at most 0.4 min(1, r, 1 / r), abs(x) is at most G abs(d) with G = 1 + 0.4 R^2, and small enough.
    The bound is then -d^2 p(abs(d)) with a polynomial p of degree 2 and coefficients of at least 0; as p is convex,
    p(t) <= p(0) + t (p(R) - p(0)) / R from 0 to R: e = p(0) in ``flats``, s = (p(R) - p(0)) / R in ``slopes``.  And
    exp(-v) >= 1 - v.
    """
    a, b = 2.0 * successes[arm] + 1.0, 2.0 * failures[arm] + 1.0  # A and B
    root_a, root_b = math.sqrt(a), math.sqrt(b)
    ratio, curvature = root_b / root_a, (root_a + root_b) * (root_a + root_b)
    modes[arm] = math.atan2(root_a, root_b)
    scales[arm] = 1.0 / (root_a + root_b)
    reach = min(_REACH * min(ratio, 1.0 / ratio), _FARTHEST * scales[arm])
    grown = 1.0 + 0.4 * reach * reach
    cubic = abs(a - b) * (a + b) / (3.0 * root_a * root_b)
    quartic = 0.5 * (b * b / a + a * a / b) + curvature / 3.0
    square = 0.5 * (root_a - root_b) * (root_a - root_b)
    reaches[arm] = reach
    flats[arm] = square * grown * grown
    slopes[arm] = (cubic + reach * quartic * grown) * grown * grown * grown


def _least_rejection(a: float, b: float, offset: float) -> float:
    """Return a lower bound of the probability with which an offset d from the mode is not accepted.

    At the mode g'' = -2 (A + B) and g''' = 2 (A + B) (B - A) / sqrt(A B), and g'''' < 0 everywhere, as the fourth
    derivatives of log sin and log cos are -2 (1 + 2 cos^2) / sin^4 and -2 (1 + 2 sin^2) / cos^4.  So, by Taylor, the
    logarithm of the probability of acceptance is at most -u, with

        u = d^2 ((sqrt A - sqrt B)^2 / 2 + (A + B) (A - B) / (3 sqrt(A B)) d).

    Where u >= 0, 1 - exp(-u) is at least v - v^2 / 2 with v = min(u, 1).
    """
    a, b = 2.0 * a - 1.0, 2.0 * b - 1.0
    root = math.sqrt(a * b)
    least = offset * offset * (0.5 * (a + b) - root + (a + b) * (a - b) / (3.0 * root) * offset)
    least = min(max(least, 0.0), 1.0)
    return least - 0.5 * least * least


def _log_acceptance(a: float, b: float, offset: float) -> float:
    """Return the logarithm of the probability with which an offset from the mode is accepted."""
    if abs(offset) >= 0.5 * math.pi:
        return -math.inf
    a, b = 2.0 * a - 1.0, 2.0 * b - 1.0
    ratio, x = math.sqrt(b / a), math.tan(offset)
    if x * ratio <= -1.0 or x >= ratio:
        return -math.inf
    curvature = a + b + 2.0 * math.sqrt(a * b)
    value = a * math.log1p(ratio * x) + b * math.log1p(-x / ratio) - 0.5 * (a + b) * math.log1p(x * x)
    return value + 0.5 * curvature * offset * offset
