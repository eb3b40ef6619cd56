"""The mean of an arm's revealed rewards, defined so that equal arms are exactly tied.

What is revealed, and what an adjustment costs, is decided by :mod:`tutelage.rules`.  The engine compiles
:func:`add_revealed_reward`; everyone else calls it as it is.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_EXACT = 2.0**20


class RevealedRewards(NamedTuple):
    """The rewards that have been revealed to one client, summarised for each arm."""

    pulls: NDArray[np.int64]  # [K] pulls whose reward has been revealed, n
    means: NDArray[np.float64]  # [K]
    first_rewards: NDArray[np.float64]  # [K] gamma: the first revealed reward
    first_reward_counts: NDArray[np.int64]  # [K] n0: how many rewards equal to it came before any other
    later_sums: NDArray[np.float64]  # [K] s: the sum of all rewards after those


def new_revealed_rewards(num_arms: int) -> RevealedRewards:
    """Return the summary before the first reward: all zeros."""
    counts, numbers = (np.zeros((2, num_arms), dtype=kind) for kind in (np.int64, np.float64))
    return RevealedRewards(counts[0], numbers[0], np.zeros(num_arms), counts[1], numbers[1])


def add_revealed_reward(rewards: RevealedRewards, arm: int, reward: float) -> None:
    """Add a revealed reward to the mean of an arm.

    The mean is *defined* as gamma while all revealed rewards equal gamma, and as (n0 gamma + s) / n
    afterwards.  It is exact for constants, so arms with the same revealed rewards are tied exactly
    (docs/decisions/0001, rule 4).
    """
    count = rewards.pulls[arm] + 1
    rewards.pulls[arm] = count
    if count == 1:
        rewards.first_rewards[arm] = reward
        rewards.first_reward_counts[arm] = 1
        rewards.means[arm] = reward
    elif rewards.first_reward_counts[arm] == count - 1 and reward == rewards.first_rewards[arm]:
        rewards.first_reward_counts[arm] = count
    else:
        rewards.later_sums[arm] += reward
        first_part = rewards.first_reward_counts[arm] * rewards.first_rewards[arm]
        rewards.means[arm] = (first_part + rewards.later_sums[arm]) / count


def add_equal_rewards(rewards: RevealedRewards, arm: int, reward: float, count: int) -> None:
    """Add ``count`` equal rewards: the same numbers as after as many calls of :func:`add_revealed_reward`."""
    before = rewards.pulls[arm]
    if before == 0:
        rewards.first_rewards[arm] = reward
        rewards.means[arm] = reward
    if rewards.first_reward_counts[arm] == before and reward == rewards.first_rewards[arm]:
        rewards.pulls[arm] += count
        rewards.first_reward_counts[arm] += count
        return
    later = rewards.later_sums[arm]
    if reward in (0.0, 1.0):
        later = add_one_by_one(later, count * int(reward))
    elif is_exact(reward) and is_exact(later):
        later += count * reward
    else:
        for _ in range(count):
            later += reward
    set_later_sum(rewards, arm, later, count)


def add_ones(rewards: RevealedRewards, arm: int, ones: int, count: int) -> None:
    """Add ``count`` rewards of which ``ones`` are 1 and the others 0, in an order that is not known.

    The mean is the same as after as many calls of :func:`add_revealed_reward`, bit for bit: zeros change no sum.
    """
    set_later_sum(rewards, arm, add_one_by_one(rewards.later_sums[arm], ones), count)


def add_one_by_one(total: float, ones: int) -> float:
    """Return what ``ones`` additions of 1.0 make of ``total``, at least 0 and below 2^52, each of them rounded.

    Between two powers of 2 all floating-point numbers are multiples of one, of which 1.0 is a multiple, so sums are
    exact there; only the addition that reaches or passes a power of 2 is rounded.
    """
    while ones > 0:
        exact = min(ones, max(0, math.ceil(math.ldexp(1.0, math.frexp(total)[1]) - total) - 1))
        total += exact
        ones -= exact
        if ones > 0:
            total += 1.0
            ones -= 1
    return total


def set_later_sum(rewards: RevealedRewards, arm: int, later: float, count: int) -> None:
    """Add ``count`` rewards with which the sum of the later ones is ``later``."""
    rewards.pulls[arm] += count
    rewards.later_sums[arm] = later
    first_part = rewards.first_reward_counts[arm] * rewards.first_rewards[arm]
    rewards.means[arm] = (first_part + later) / rewards.pulls[arm]


def is_exact(number: float) -> bool:
    """Return whether a number is a multiple of 2^-20: sums of such numbers are not rounded, in any order."""
    return math.floor(number * _EXACT) == number * _EXACT
