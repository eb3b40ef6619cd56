"""Binomial numbers, and the parts of log-factorials from which exact probabilities are computed.

numpy's own binomial numbers are not used: before numpy 2.5 their acceptance step has two terms with the wrong
sign, so that their distribution is off in the tails (numpy's pull request 31238).
"""

import math
from typing import Any

from tutelage.draws import exponential, hold, random, release

_ONE_BY_ONE = 32  # trials up to which drawing each of them is fastest
_SERIES_FROM = 15.0  # where five terms of Stirling's series have an error below 3e-16
_FEW = 10.0  # expected successes below which waiting times are drawn; BTRS requires as many


def binomial(stream: Any, trials: int, chance: float) -> int:
    """Draw how many of the trials succeed, each with probability ``chance`` in [0, 1].

    Few trials are drawn one by one; else few expected successes are counted by the waiting times between them, and
    many drawn by Hoermann's transformed rejection.
    """
    if trials <= 0 or chance <= 0.0:
        return 0
    if chance >= 1.0:
        return trials
    if trials <= _ONE_BY_ONE:
        return _count_successes(stream, trials, chance)
    rare = min(chance, 1.0 - chance)
    found = _count_waits(stream, trials, rare) if trials * rare < _FEW else _reject(stream, trials, rare)
    return found if chance <= 0.5 else trials - found


def _count_successes(stream: Any, trials: int, chance: float) -> int:
    found, held = 0, hold(stream)
    for _ in range(trials):
        if random(held) < chance:
            found += 1
    release(stream, held)
    return found


def _count_waits(stream: Any, trials: int, chance: float) -> int:
    """The gap before a success is geometric: a standard exponential over -log(1 - chance), rounded down.

    It may be too large for a whole number, so it is compared with the trials that are left before it is rounded.
    """
    rate = -math.log1p(-chance)
    found, left = 0, trials
    while True:
        gap = exponential(stream) / rate
        if gap >= left:
            return found
        found += 1
        left -= int(gap) + 1


def _reject(stream: Any, trials: int, chance: float) -> int:
    """Algorithm BTRS (Hoermann 1993), with exact probabilities in its acceptance step."""
    width = math.sqrt(trials * chance * (1.0 - chance))
    b = 1.15 + 2.53 * width
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    while True:
        u, v = random(stream) - 0.5, 1.0 - random(stream)
        distance = 0.5 - abs(u)
        if distance == 0.0:
            continue
        found = math.floor((2.0 * a / distance + b) * u + trials * chance + 0.5)
        if distance >= 0.07 and v <= 0.92 - 4.2 / b:
            return int(found)
        if found < 0.0 or found > trials:
            continue
        if _is_below(v * (2.83 + 5.1 / b) * width / (a / (distance * distance) + b), found, trials, chance):
            return int(found)


def _is_below(height: float, successes: float, trials: int, chance: float) -> bool:
    """Return whether ``height`` is at most P(X = successes) / P(X = mode), X ~ Binomial(trials, chance).

    Let k be the successes, n the trials, p the chance, q = 1 - p, m the mode and d = abs(k - m).  For k > m the ratio
    is the product of 1 - x_i, x_i = (i - (n + 1) p) / (i q), over i = m + 1 .. k.  As m <= (n + 1) p < m + 1, with
    -x / (1 - x) <= log(1 - x) <= -x, its logarithm is at least -d (d + 1) / (2 (n + 1 - k) p) and at most
    -d (d - 1) / (2 k q); for k < m, likewise, at least -d (d + 1) / (2 (k + 1) q) and at most
    -d (d - 1) / (2 (n - k) p).
    The ratio is computed only where the height lies between these bounds.
    """
    failure, mode = 1.0 - chance, math.floor((trials + 1) * chance)
    difference, log = float(successes) - float(mode), math.log(height)
    distance = abs(difference)
    if difference > 0.0:
        least, most = (trials + 1 - successes) * chance, successes * failure
    else:
        least, most = (successes + 1) * failure, (trials - successes) * chance
    if 2.0 * most * log > -distance * (distance - 1.0):
        return False
    if 2.0 * least * log < -distance * (distance + 1.0):
        return True
    # the mode as a number that depends on the draw: compiled code would compute its probability before every draw
    likeliest = successes - difference
    return log <= log_binomial(successes, trials, chance) - log_binomial(likeliest, trials, chance)


def log_binomial(successes: float, trials: float, chance: float) -> float:
    """Compute log P(X = successes), X ~ Binomial(trials, chance), without the loss of digits of log-factorials.

    Loader 2000, "Fast and accurate computation of binomial probabilities"; ``chance`` lies inside (0, 1).
    """
    failures = trials - successes
    if successes == 0.0:
        return trials * math.log1p(-chance)
    if failures == 0.0:
        return trials * math.log(chance)
    errors = stirling_error(trials) - stirling_error(successes) - stirling_error(failures)
    deviances = deviance(successes, trials * chance) + deviance(failures, trials * (1.0 - chance))
    return errors - deviances + 0.5 * math.log(trials / (math.tau * successes * failures))


def deviance(value: float, mean: float) -> float:
    """Compute value log(value / mean) + mean - value, both above 0; by its series where they are close."""
    if abs(value - mean) >= 0.1 * (value + mean):
        return value * math.log(value / mean) + mean - value
    ratio = (value - mean) / (value + mean)
    total, term = (value - mean) * ratio, 2.0 * value * ratio
    for j in range(3, 61, 2):
        term *= ratio * ratio
        before, total = total, total + term / j
        if total == before:
            break
    return total


def stirling_error(x: float) -> float:
    """log Gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2), for x > 0; of x! with x + 1/2 for x - 1/2.

    The series 1 / (12 x) - 1 / (360 x^3) + ... from 15 on (DLMF 5.11.1), which smaller x reach by
    Gamma(x + 1) = x Gamma(x); those of small whole numbers are known.
    """
    if 0.0 < x < _SERIES_FROM and x == math.floor(x):
        return _ERRORS[int(x)]
    return _sum_stirling_error(x)


def _sum_stirling_error(x: float) -> float:
    error = 0.0
    while x < _SERIES_FROM:
        error += (x + 0.5) * math.log1p(1.0 / x) - 1.0
        x += 1.0
    r = 1.0 / (x * x)
    return error + (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / x


_ERRORS = (math.nan, *(_sum_stirling_error(float(x)) for x in range(1, int(_SERIES_FROM))))
