"""Leaps of Thompson sampling where every reward that a client is shown is 1, or every one is 0.

The posterior of an arm that showed only ones is Beta(a, 1), with a = 1 + its successes, and Beta(1, a), with
a = 1 + its failures, where it showed only zeros.  Shapes: K arms, at least 2.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.binomial import binomial
from tutelage.draws import exponential, gamma, index, random
from tutelage.policies.base import Prospect, Stretch

_MOST_CANDIDATES = 0.25  # share of rounds beyond which a race of all arms in every round is faster


def pull_ones(
    stream: Any,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    weights: NDArray[np.float64],
) -> int:
    """Play a stretch in which every pull is a success, where no arm has a failure; return its rounds.

    ``successes`` [K] is updated.  ``weights`` [K] is room for numbers.

    Exact: theta_k ~ Beta(a_k, 1) means that -log theta_k is exponential with rate a_k, so arm k has the largest
    theta with probability a_k / sum a.  A pull of it makes a_k one larger: that is Polya's urn, whose draws
    are independent with probabilities W ~ Dirichlet(a_1, ..., a_K), drawn once (de Finetti; Blackwell and
    MacQueen 1973).  So the pulls of any number of rounds are multinomial given W.
    """
    rounds = prospect.rounds
    for room in prospect.room:
        rounds = min(rounds, room)
    share_ones(stream, rounds, successes, failures, prospect, stretch, weights)
    return rounds


def share_ones(
    stream: Any,
    rounds: int,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    weights: NDArray[np.float64],
) -> None:
    """Share pulls, none more than any arm's room, among the arms of :func:`pull_ones`, and update ``successes``."""
    num_arms, total, left, last = successes.size, 0.0, rounds, 0
    for arm in range(num_arms):
        if prospect.means[arm] == 1.0 and failures[arm] == 0.0:
            weights[arm] = gamma(stream, 1.0 + successes[arm])
            total += weights[arm]
            last = arm
    for arm in range(num_arms):
        if prospect.means[arm] == 1.0 and failures[arm] == 0.0:
            pulls = left if arm == last else binomial(stream, left, min(1.0, weights[arm] / total))
            stretch.pulls[arm] = pulls
            successes[arm] += pulls
            left -= pulls
            total -= weights[arm]


def pull_zeros(
    stream: Any, failures: NDArray[np.float64], prospect: Prospect, stretch: Stretch, numbers: NDArray[np.float64]
) -> int:
    """Play a stretch in which every pull is a failure, where no arm has a success; return its rounds.

    ``failures`` [K] is updated.  ``numbers`` [2 K] is room for numbers.

    Exact: theta_k ~ Beta(1, a_k) means that -log(1 - theta_k) = E_k / a_k with independent standard exponential
    E_k, so the arm with the largest E_k / a_k is pulled.  Let M_1 > M_2 > ... be the E_k in descending order.
    Which arm has which of them is a uniform permutation, independent of their values (all E_k are
    distributed alike).  Let i be the arm with M_1, l <= min a, and d = a_i / l - 1.  Where M_1 > (1 + d) M_2,

        M_1 / a_i > M_2 / l >= E_j / a_j   for every other arm j,

    so i is pulled whatever the rest.  M_1 - M_2 is standard exponential and independent of M_2 = sum_{j=2}^K X_j / j,
    X_j independent standard exponentials (Renyi 1953), so the contrary has probability E(1 - exp(-d M_2)), at most
    d E(M_2) = d (H_K - 1).  Hence each round draws i uniformly, and with probability d (H_K - 1), if that is at
    most 1, it is a candidate for the contrary, which :func:`_settle` decides.
    """
    num_arms, done = failures.size, 0
    harmonic = 0.0  # H_K - 1
    for j in range(2, num_arms + 1):
        harmonic += 1.0 / j
    while done < prospect.rounds:
        lowest, highest, total = failures[0], failures[0], 0.0
        for arm in range(num_arms):
            lowest, highest = min(lowest, failures[arm]), max(highest, failures[arm])
            total += failures[arm]
        mean = total / num_arms
        weight = harmonic / (1.0 + lowest)  # probability of a candidate, for each pull more than the lowest
        safe = int(1.0 / weight - (highest - lowest))  # rounds in which that is at most 1 for every arm
        left = prospect.rounds - done
        races = safe <= 0 or weight * (mean - lowest) > _MOST_CANDIDATES
        if races:
            left = min(left, 1 + num_arms * (int(lowest) // 4))
        else:
            left = min(left, safe, 8 + int(math.sqrt(num_arms * (1.0 + mean) / (5.0 * harmonic))))
        for _ in range(left):
            if races:
                arm = _race(stream, failures)
            else:
                place = random(stream) * num_arms
                arm = int(place)
                ahead = failures[arm] - lowest
                if place - arm < weight * ahead:  # the fraction is uniform, whatever the arm
                    arm = _settle(stream, failures, arm, ahead / (1.0 + lowest), harmonic, numbers)
            failures[arm] += 1.0
            stretch.pulls[arm] += 1
            done += 1
            if stretch.pulls[arm] == prospect.room[arm]:
                return done
    return done


def _race(stream: Any, failures: NDArray[np.float64]) -> int:
    """Return the arm with the largest E_k / a_k."""
    best, highest = 0, -1.0
    for arm in range(failures.size):
        value = exponential(stream) / (1.0 + failures[arm])
        if value > highest:
            best, highest = arm, value
    return best


def _settle(
    stream: Any, failures: NDArray[np.float64], top: int, d: float, harmonic: float, numbers: NDArray[np.float64]
) -> int:
    """Return the arm to pull in a candidate round, ``top`` being the arm with M_1.

    Exact: M_2 is drawn with its density times m / E(M_2) and accepted with probability (1 - exp(-d m)) / (d m);
    with that of the candidate, d E(M_2), the product is its density times P(M_1 <= (1 + d) m).  So where it is
    not accepted ``top`` is pulled.  Where it is, M_1 - M_2 is exponential, given that it is at most d M_2, and all
    values are compared.  M_2 is a sum of X_j / j: its density times m is the mixture, with weights 1 / j, of sums
    in which X_j is Gamma(2).
    """
    num_arms = failures.size
    doubled, at = 2, random(stream) * harmonic - 0.5
    while at > 0.0 and doubled < num_arms:
        doubled += 1
        at -= 1.0 / doubled
    value = 0.0
    for j in range(num_arms, 1, -1):
        value += exponential(stream) / j
        if j == doubled:
            value += exponential(stream) / j
        numbers[j - 1] = value  # M_j
    bound = d * value
    chance = -math.expm1(-bound)
    if random(stream) * bound >= chance:
        return top
    best, highest = top, (value - math.log1p(-random(stream) * chance)) / (1.0 + failures[top])
    others = numbers[num_arms:]
    for arm in range(num_arms - 1):
        others[arm] = arm if arm < top else arm + 1
    for rank in range(1, num_arms):
        drawn = rank - 1 + index(stream, num_arms - rank)
        arm = int(others[drawn])
        others[drawn] = others[rank - 1]
        value = numbers[rank] / (1.0 + failures[arm])
        if value > highest:
            best, highest = arm, value
    return best
