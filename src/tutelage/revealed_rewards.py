"""The mean of an arm's revealed rewards, defined so that equal arms are exactly tied.

The engine compiles :func:`add_revealed_reward`; everyone else calls it as it is.
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
    if is_exact(reward) and is_exact(later):
        later += count * reward
    else:
        for _ in range(count):
            later += reward
    set_later_sum(rewards, arm, later, count)


def add_ones(rewards: RevealedRewards, arm: int, ones: int, count: int) -> None:
    """Add ``count`` rewards of which ``ones`` are 1 and the others 0, in an order that is not known.

    The mean is the same as after as many calls of :func:`add_revealed_reward` in any order, if sums are exact.
    """
    set_later_sum(rewards, arm, rewards.later_sums[arm] + ones, count)


def set_later_sum(rewards: RevealedRewards, arm: int, later: float, count: int) -> None:
    """Add ``count`` rewards with which the sum of the later ones is ``later``."""
    rewards.pulls[arm] += count
    rewards.later_sums[arm] = later
    first_part = rewards.first_reward_counts[arm] * rewards.first_rewards[arm]
    rewards.means[arm] = (first_part + later) / rewards.pulls[arm]


def is_exact(number: float) -> bool:
    """Return whether a number is a multiple of 2^-20: sums of such numbers are not rounded, in any order."""
    return math.floor(number * _EXACT) == number * _EXACT
