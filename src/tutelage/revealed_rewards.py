"""The mean of an arm's revealed rewards, defined so that equal arms are exactly tied.

The engine compiles :func:`add_revealed_reward`; everyone else calls it as it is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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
