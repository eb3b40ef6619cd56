"""A cache of the leading arm: rounds in which a costly index policy need not rank its arms again.

An arm that ranks first twice in a row may stay the leading arm for up to 64 rounds.  The others are not
pulled in this time and an index grows with the round, so none of their indices exceeds the *bar*: the highest
that they reach in the last of these rounds.  While the index of the leading arm is above the bar by more than
a rounding error, it is the only best arm: the same arm as a ranking would give, also without a random number.
(``ucb1.py`` does the same for an index that is cheaper than this bookkeeping.)
"""

import numpy as np
from numpy.typing import NDArray

# Slots of the state: the leading arm (counted from 1; 0 for none), the last round in which it may lead, the
# bar, the exploration term of the first of these rounds, and the winner of the latest ranking.
_LEADING_ARM, _LAST_ROUND, _BAR, _EXPLORATION, _WINNER = 0, 1, 2, 3, 4
SLOTS = 5
WINDOW = 64
MARGIN = 1e-9  # far above the error of an index, far below a lead that is worth caching


def leading_arm(round: int, state: NDArray[np.float64]) -> int:
    """The cached leading arm in this round, which must still be above the bar; -1 without one."""
    return int(state[_LEADING_ARM]) - 1 if round <= state[_LAST_ROUND] else -1


def bar(state: NDArray[np.float64]) -> float:
    """A bound, with a margin, on the indices of all other arms while the cache is valid."""
    return state[_BAR]  # type: ignore[no-any-return]


def least_exploration(state: NDArray[np.float64]) -> float:
    """The exploration term of the first cached round; later ones are larger."""
    return state[_EXPLORATION]  # type: ignore[no-any-return]


def wins_again(arm: int, state: NDArray[np.float64]) -> bool:
    """Clear the cache and store the winner of a ranking; whether it also won the ranking before."""
    again = state[_WINNER] == arm + 1.0
    state[_LEADING_ARM], state[_WINNER] = 0.0, arm + 1.0
    return bool(again)


def keep_leading_arm(round: int, arm: int, exploration: float, others: float, state: NDArray[np.float64]) -> None:
    """Cache a leading arm; ``others`` is the highest index of the others, ``WINDOW`` rounds from now."""
    state[_LEADING_ARM], state[_LAST_ROUND] = arm + 1.0, round + WINDOW
    state[_BAR], state[_EXPLORATION] = others + MARGIN, exploration


def same_before(arm: int, counts: NDArray[np.int64], means: NDArray[np.float64]) -> int:
    """An earlier arm with the same count and mean, so exactly the same index; -1 without one."""
    for other in range(arm):
        if counts[other] == counts[arm] and means[other] == means[arm]:
            return other
    return -1
