"""The leap of Thompson sampling while the draw of one arm, the leading one, is nearly always the largest.

The draw of arm k is theta_k ~ Beta(a_k, b_k), a_k = 1 + its successes and b_k = 1 + its failures, whatever its
rewards were.  The leading arm's is X ~ Beta(a, b).  Shapes: K arms.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.binomial import binomial, log_binomial
from tutelage.draws import beta, exponential, random
from tutelage.policies.base import Prospect, Stretch
from tutelage.policies.support.thompson_teaching import find_zero

_FAR = 2.5  # standard deviations between two arms from which a level between them is looked for
_SHARES = (0.25, 0.03, 0.004)  # lengths of a part, as shares of the leading arm's pulls: the first that pays is used
_MOST_FLAGS = 1.0 / 64.0  # share of rounds with a flag beyond which comparing all draws in every round is faster
_SHORTEST = 32  # rounds worth the computation of a level
_HALVINGS = 12
_GUARD = 1.0 + 1e-9  # above the relative rounding error of a density, so that bounds are bounds


def find_leading_arm(successes: NDArray[np.float64], failures: NDArray[np.float64]) -> int:
    """Return the arm with the largest posterior mean; -1 if another one's is near it, so that a leap cannot pay."""
    best, highest = 0, -1.0
    for arm in range(successes.size):
        mean = _mean(successes, failures, arm)
        if mean > highest:
            best, highest = arm, mean
    deviation = _deviation(successes, failures, best)
    for arm in range(successes.size):
        near = highest - _FAR * (deviation + _deviation(successes, failures, arm))
        if arm != best and _mean(successes, failures, arm) > near:
            return -1
    return best


def _mean(successes: NDArray[np.float64], failures: NDArray[np.float64], arm: int) -> float:
    return (1.0 + successes[arm]) / (2.0 + successes[arm] + failures[arm])  # type: ignore[no-any-return]


def _deviation(successes: NDArray[np.float64], failures: NDArray[np.float64], arm: int) -> float:
    mean = _mean(successes, failures, arm)
    return math.sqrt(mean * (1.0 - mean) / (3.0 + successes[arm] + failures[arm]))


def pull_leading(
    stream: Any,
    rounds: int,
    leading: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    numbers: NDArray[np.float64],
    drawn: NDArray[np.float64],
) -> int:
    """Play at most ``rounds`` rounds while other arms than the leading one are hardly ever pulled; return how many.

    It ends where an arm has reached its room, too.  ``successes`` [K] and ``failures`` [K] are updated.  Where a
    stretch may have pulls of one arm only, it ends before another one's pull, and ``drawn`` [1] is set to 1 + that arm.
    ``numbers`` [2 K] is room for numbers.

    Exact for one round, for any level c: where X >= c and theta_k <= c for every other arm k, the leading arm is
    pulled.  Let u_k >= P(theta_k > c) and u >= P(X < c).  Each of these K events is *flagged* independently, with
    its bound as probability, and a flagged one occurs with the conditional probability P / bound
    (:func:`_draw_above`).  Then each event has its own probability, and they are independent, as the draws are.  In a
    round without a flag the leading arm is pulled; in any other all draws are compared, each given whether its event
    occurred (:func:`_settle`).

    The bounds: the density f of Beta(a, b) with a, b >= 1 is log-concave, so f(x) <= f(c) exp(-h (x - c)) for x >= c,
    h = -(log f)'(c), and P(theta > c) <= f(c) / h if h > 0.  As 1 - X ~ Beta(b, a), u is the same with b, a, 1 - c.

    Exact for a stretch (thinning, as in ``thompson_teaching.py``): u_k stays as it is until arm k is pulled, and is
    then computed again.  u falls with a and grows with b as long as c is at most a / (a + b): a larger by 1
    multiplies f(c) by c (a + b) / a and raises -h; b larger by 1 multiplies f(c) by (1 - c) (a + b) / b and lowers -h.
    So u, taken at (a, b + z) with c < a / (a + b + z), holds for all pulls of the leading arm up to its zero z,
    whatever the order of its rewards: first a grows, which leaves c below the mean, then b falls.  The gap to the
    next flag is geometric, the zeros in it are binomial and independent of its length, and a gap with more than z
    zeros is cut right after zero z + 1.
    """
    done, num_arms = 0, failures.size
    while done < rounds:
        length, zeros, level = _plan(leading, rounds - done, successes, failures, prospect, numbers)
        if length == 0:
            break
        length, most = min(length, prospect.room[leading] - stretch.pulls[leading]), failures[leading] + zeros
        while length > 0 and failures[leading] <= most:
            rate = _total_rate(numbers, num_arms)  # 0 where all bounds are too small for a number: no flag ever comes
            gap = exponential(stream) / rate if rate > 0.0 else math.inf
            pulls = int(min(gap, float(length)))
            found = binomial(stream, pulls, 1.0 - prospect.means[leading])
            if failures[leading] + found > most:
                allowed = int(most - failures[leading]) + 1  # this zero ends the part
                pulls, found = find_zero(stream, pulls, found, allowed), allowed
            _add_pulls(leading, pulls, found, successes, failures, stretch)
            done, length = done + pulls, length - pulls
            if length == 0 or failures[leading] > most:
                break
            arm = _settle(stream, leading, level, successes, failures, numbers)
            if arm != leading and prospect.one_arm:
                drawn[0] = 1.0 + arm
                return done
            found = 0 if random(stream) < prospect.means[arm] else 1
            _add_pulls(arm, 1, found, successes, failures, stretch)
            done, length = done + 1, length - 1
            if arm != leading:
                if stretch.pulls[arm] == prospect.room[arm]:
                    return done
                numbers[arm] = bound_above(1.0 + successes[arm], 1.0 + failures[arm], level)
                if _sum(numbers, num_arms) > _MOST_FLAGS:
                    break
        if stretch.pulls[leading] == prospect.room[leading]:
            break
    return done


def _add_pulls(
    arm: int, pulls: int, zeros: int, successes: NDArray[np.float64], failures: NDArray[np.float64], stretch: Stretch
) -> None:
    """Add pulls of an arm, some of which showed zeros."""
    successes[arm] += pulls - zeros
    failures[arm] += zeros
    stretch.pulls[arm] += pulls
    stretch.ones[arm] += pulls - zeros


def _sum(bounds: NDArray[np.float64], num_arms: int) -> float:
    """Return the sum of the bounds."""
    total = 0.0
    for arm in range(num_arms):
        total += bounds[arm]
    return total


def _plan(
    leading: int,
    rounds: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    bounds: NDArray[np.float64],
) -> tuple[int, int, float]:
    """Return how many rounds and zeros of the leading arm come next at most, and a level; no rounds if none pays.

    The bounds are written in ``bounds``.  Any numbers are exact; these are fast: the level is where the leading arm's
    bound is as large as that of all others, and flags are rare.
    """
    a, b, low, others = 1.0 + successes[leading], 1.0 + failures[leading], 0.0, 0.0
    for arm in range(failures.size):
        if arm != leading:
            low = max(low, _mean(successes, failures, arm))
    for share in _SHARES:
        length = int(min(share * (a + b), float(rounds)))
        expected = length * (1.0 - prospect.means[leading])
        zeros = int(expected + 4.0 * math.sqrt(expected)) + 1
        below, above, level = low, a / (a + b + zeros), low
        if length < _SHORTEST or below >= above:
            continue
        for halving in range(_HALVINGS + 1):
            level = 0.5 * (below + above) if halving < _HALVINGS else below
            others = _bound(leading, successes, failures, zeros, level, bounds)
            if others > bounds[leading]:
                below = level
            else:
                above = level
        if others + bounds[leading] <= _MOST_FLAGS:
            return length, zeros, level
    return 0, 0, 0.0


def _bound(
    leading: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    zeros: int,
    level: float,
    bounds: NDArray[np.float64],
) -> float:
    """Write u_k, and for the leading arm u at (a, b + ``zeros``), in ``bounds`` [K]; return the sum of the u_k."""
    total = 0.0
    for arm in range(failures.size):
        a, b, c = _mirror(arm == leading, 1.0 + successes[arm], 1.0 + failures[arm], level)
        bounds[arm] = bound_above(a + zeros if arm == leading else a, b, c)
        total += 0.0 if arm == leading else bounds[arm]
    return total


def _total_rate(bounds: NDArray[np.float64], num_arms: int) -> float:
    """Return -log of the probability that a round has no flag."""
    total = 0.0
    for arm in range(num_arms):
        total -= math.log1p(-bounds[arm])
    return total


def _slope(a: float, b: float, level: float) -> float:
    """Return h, minus the derivative of log f at the level."""
    return (b - 1.0) / (1.0 - level) - (a - 1.0) / level


def bound_above(a: float, b: float, level: float) -> float:
    """Return f(c) / h, a bound on P(theta > c) for theta ~ Beta(a, b); 1 where h is not above 0."""
    slope = _slope(a, b, level)
    if slope <= 0.0:
        return 1.0
    log_density = log_binomial(a - 1.0, a + b - 2.0, level) + math.log(a + b - 1.0)
    return min(1.0, math.exp(log_density) / slope * _GUARD)


def _draw_above(stream: Any, a: float, b: float, level: float) -> float:
    """Draw theta ~ Beta(a, b), given theta > c, with probability P(theta > c) / its bound; else return 0.

    x - c is drawn exponential with rate h and accepted with probability f(x) / (f(c) exp(-h (x - c))): with the
    bound f(c) / h, x has the density f(x).
    """
    slope = _slope(a, b, level)
    ahead = exponential(stream) / slope
    if level + ahead >= 1.0:
        return 0.0
    ratio = (a - 1.0) * math.log1p(ahead / level) + (b - 1.0) * math.log1p(-ahead / (1.0 - level)) + slope * ahead
    return level + ahead if random(stream) * _GUARD < math.exp(ratio) else 0.0


def _settle(
    stream: Any,
    leading: int,
    level: float,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    numbers: NDArray[np.float64],
) -> int:
    """Return the arm with the largest draw in a round with a flag.

    The first flag is drawn given that there is one, further ones independently.  The leading arm's flag was thinned
    with its bound at (a, b + z): it counts with the probability of the present bound over that one, which for the
    other arms is 1.
    """
    num_arms = failures.size
    bounds, values = numbers[:num_arms], numbers[num_arms:]
    left, none, is_first, occurs = -random(stream) * math.expm1(-_total_rate(bounds, num_arms)), 1.0, True, False
    for arm in range(num_arms):
        values[arm] = 0.0
        if is_first:
            is_flagged = left < none * bounds[arm]
            left -= none * bounds[arm]
            none *= 1.0 - bounds[arm]
            is_first = not is_flagged
        else:
            is_flagged = random(stream) < bounds[arm]
        a, b, c = _mirror(arm == leading, 1.0 + successes[arm], 1.0 + failures[arm], level)
        if is_flagged and random(stream) * bounds[arm] < bound_above(a, b, c):
            values[arm] = _draw_above(stream, a, b, c)
        occurs = occurs or values[arm] > 0.0
    best, highest = leading, -1.0
    if occurs:
        for arm in range(num_arms):
            a, b, c = _mirror(arm == leading, 1.0 + successes[arm], 1.0 + failures[arm], level)
            value = values[arm]
            while value == 0.0 or (values[arm] == 0.0 and value > c):
                value = beta(stream, a, b)
            value = 1.0 - value if arm == leading else value
            if value > highest:
                best, highest = arm, value
    return best


def _mirror(is_leading: bool, a: float, b: float, level: float) -> tuple[float, float, float]:
    """Return shapes and level of theta, or of 1 - X for the leading arm: its event is that this is above the level."""
    return (b, a, 1.0 - level) if is_leading else (a, b, level)
