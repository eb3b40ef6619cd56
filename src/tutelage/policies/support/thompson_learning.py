"""The leap of Thompson sampling while active arms show only ones and always did, and all others show zeros.

The draw of an active arm is Beta(a_k, 1), a_k = 1 + its successes.  The other arms may have shown anything before: the
draw of arm k is theta_k ~ Beta(a_k, b_k), b_k = 1 + its failures.  Shapes: K arms, of which at least one is active.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import beta, exponential, random
from tutelage.policies.base import Prospect, Stretch
from tutelage.policies.support.thompson_constant import share_ones
from tutelage.policies.support.thompson_teaching import chance_above, draw_candidate

_MOST_CANDIDATES = 0.25  # share of rounds beyond which comparing all draws in every round is faster
_SHORTEST, _SHARE = 4, 0.125  # rounds of a part: at least, and as a share of the active arms' successes
_GUARD = 1.0 + 1e-9  # above the relative rounding error of a probability, so that bounds are bounds


def pull_learning(
    stream: Any,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    numbers: NDArray[np.float64],
) -> int:
    """Play a stretch in which a pull of an active arm is a success and any other one a failure; return its rounds.

    ``successes`` [K] and ``failures`` [K] are updated.  ``numbers`` [2 K] is room for numbers.

    Exact for one round: the largest draw X of the active arms is Beta(A, 1), A the sum of their a_k, since
    P(X <= x) = prod x^a_k, and it is independent of which of them has it.  With p_k = P(theta_k > X) = E theta_k^A =
    B(a_k + A, b_k) / B(a_k, b_k) and sum p_k <= 1, propose arm k with probability p_k and accept it with the
    probability, given theta_k > X, that theta_k exceeds the draws of the other arms that are not active, too; an active
    arm is pulled where no arm is accepted.  Given theta_k > X, theta_k is Beta(a_k + A, b_k).

    Exact for a stretch (Lewis and Shedler 1979, thinning): A only grows, and p_k falls with A.  So p_k is at most
    its value at the beginning of a part, q_k, and the gap to the next candidate is geometric with q = sum q_k.  In a
    candidate round arm k is drawn with probability q_k / q and proposed with probability p_k / q_k.

    Which active arm is pulled is Polya's urn, whenever an active arm is pulled (``thompson_constant.py``).
    """
    num_arms, first, most = successes.size, 0.0, prospect.rounds
    bounds = numbers[:num_arms]
    for arm in range(num_arms):
        if prospect.means[arm] == 1.0 and failures[arm] == 0.0:
            first += 1.0 + successes[arm]
            most = min(most, prospect.room[arm])
    done, active, has_ended = 0, 0, False
    while done < prospect.rounds and active < most and not has_ended:
        start, total = first + active, 0.0
        for arm in range(num_arms):
            bounds[arm] = 0.0
            if prospect.means[arm] == 0.0:
                chance = chance_above(1.0 + failures[arm], 1.0 + successes[arm], start)
                bounds[arm] = min(1.0, chance * _GUARD)
            total += bounds[arm]
        length = min(prospect.rounds - done, most - active)
        compares = total > _MOST_CANDIDATES
        if compares:
            length = 1
        elif total > 0.0:
            length = min(length, max(_SHORTEST, int(_SHARE * start)))
        rate = math.inf if compares else -math.log1p(-total)
        while length > 0 and not has_ended:
            gap = exponential(stream) / rate if rate > 0.0 else math.inf
            pulls = int(min(gap, float(length)))
            active, done, length = active + pulls, done + pulls, length - pulls
            if length == 0:
                break
            arm = _draw_other(stream, compares, first + active, successes, failures, prospect, bounds, total)
            done, length = done + 1, length - 1
            if arm < 0:
                active += 1
                continue
            pulled = 2.0 + successes[arm] + failures[arm]
            bounds[arm] *= pulled / (pulled + start)  # q_k with b_k one larger
            total = 0.0
            for each in range(num_arms):
                total += bounds[each]
            rate = -math.log1p(-min(total, _MOST_CANDIDATES))  # where all draws were compared the part has ended
            failures[arm] += 1.0
            stretch.pulls[arm] += 1
            has_ended = stretch.pulls[arm] == prospect.room[arm]
    share_ones(stream, active, successes, failures, prospect, stretch, numbers)
    return done


def _draw_other(
    stream: Any,
    compares: bool,
    active_sum: float,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    bounds: NDArray[np.float64],
    total: float,
) -> int:
    """Return the arm that is not active and is pulled, -1 for an active one, in a candidate round.

    Where a round ``compares``, all draws are compared instead.
    """
    best, highest = -1, math.exp(-exponential(stream) / active_sum)
    if not compares:
        best = draw_candidate(stream, bounds, total)
        a, b = 1.0 + successes[best], 1.0 + failures[best]
        if random(stream) * bounds[best] >= chance_above(b, a, active_sum):
            return -1
    candidate = best
    for place in range(-1, successes.size):  # first the candidate, if there is one
        arm = candidate if place < 0 else place
        if arm < 0 or prospect.means[arm] != 0.0 or (place >= 0 and place == candidate):
            continue
        a = 1.0 + successes[arm] + (active_sum if place < 0 else 0.0)
        value = beta(stream, a, 1.0 + failures[arm])
        if place < 0:
            highest = value
        elif value > highest:
            if candidate >= 0:
                return -1
            best, highest = arm, value
    return best
