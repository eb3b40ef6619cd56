"""An arm that keeps the lead: rounds in which a costly index policy need not rank its arms again.

An arm that wins twice in a row may keep the lead for up to 64 rounds.  The others are not pulled meanwhile
and an index grows with the round, so none of theirs exceeds the *bar*: the highest that they come to in the
last of these rounds.  While the leader's own index is above the bar by more than rounding could, it is the
only best arm: the same arm as a ranking would give, and like it without drawing a random number.
(``ucb1.py`` does the same for an index that is cheaper than this bookkeeping.)
"""

import numpy as np
from numpy.typing import NDArray

# Slots of the state: the leader (counted from 1; 0 for none), the last round of its lead, the bar, what the
# logarithms were in the first round of it, and the winner of the latest ranking.
_LEADER, _LAST_ROUND, _BAR, _EXPLORATION, _WINNER = 0, 1, 2, 3, 4
SLOTS = 5
WINDOW = 64
MARGIN = 1e-9  # far above the error of an index, far below a lead worth keeping


def leader(round: int, state: NDArray[np.float64]) -> int:
    """The arm in the lead in this round, if it is still above the bar; else -1."""
    return int(state[_LEADER]) - 1 if round <= state[_LAST_ROUND] else -1


def bar(state: NDArray[np.float64]) -> float:
    """What no other arm's index exceeds while the lead holds, with a margin."""
    return state[_BAR]  # type: ignore[no-any-return]


def least_exploration(state: NDArray[np.float64]) -> float:
    """The exploration term of the round in which the lead began: later ones are larger."""
    return state[_EXPLORATION]  # type: ignore[no-any-return]


def wins_again(arm: int, state: NDArray[np.float64]) -> bool:
    """End any lead and note the winner of a ranking; was it the winner of the one before, too?"""
    again = state[_WINNER] == arm + 1.0
    state[_LEADER], state[_WINNER] = 0.0, arm + 1.0
    return bool(again)


def keep_lead(round: int, arm: int, exploration: float, others: float, state: NDArray[np.float64]) -> None:
    """Give the lead to an arm; ``others`` is the highest index of the others, ``WINDOW`` rounds from now."""
    state[_LEADER], state[_LAST_ROUND] = arm + 1.0, round + WINDOW
    state[_BAR], state[_EXPLORATION] = others + MARGIN, exploration


def same_before(arm: int, counts: NDArray[np.int64], means: NDArray[np.float64]) -> int:
    """An arm before this one with the same count and mean, so exactly the same index; -1 for none."""
    for other in range(arm):
        if counts[other] == counts[arm] and means[other] == means[arm]:
            return other
    return -1
