"""The variance of an arm's revealed rewards, for the policies that use it.

It is stored like the mean (``revealed_rewards.py``): gamma and n0, the constant with which the arm's rewards
began and how often it came before any other value, and s, the sum of the squares of all later ones.  So the
variance is exactly 0 while all were equal, and two arms with as many ones and zeros in any order have exactly
the same.
"""

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner

PER_ARM = 3  # numbers stored for each arm: gamma, n0, s


def add_square(arm: int, reward: float, learner: Learner, start: int) -> None:
    """Add a revealed reward; the numbers stand in the state from ``start`` on, arm after arm."""
    count = learner.counts[arm]
    slot = start + PER_ARM * arm
    state = learner.state
    if count == 1:
        state[slot], state[slot + 1] = reward, 1.0
    elif state[slot + 1] == count - 1 and reward == state[slot]:
        state[slot + 1] = count
    else:
        state[slot + 2] += reward * reward


def variance(count: int, mean: float, state: NDArray[np.float64], slot: int) -> float:
    """The mean square less the square of the mean, (n0 gamma^2 + s) / n - mean^2, never negative."""
    if state[slot + 1] == count:
        return 0.0
    squares = state[slot + 1] * (state[slot] * state[slot]) + state[slot + 2]
    return max(0.0, squares / count - mean * mean)  # type: ignore[no-any-return]
