"""Sliding-window UCB, which forgets old rewards (Garivier and Moulines 2008, 2011)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.policies.base import Learner, PolicyBase, argmax
from tutelage.registry import parameter

# Parts of the state, K numbers each: indices; pulls in the window; sums of the rewards in the window's
# earlier and later block; the latest reward; for how many consecutive pulls it has been equal.  Then
# follow the place in the block and, for each of its places, the arm (from 1; 0 for none) and a number.
_COUNTS, _EARLIER, _LATER, _LATEST, _STREAK, _PLACE = 1, 2, 3, 4, 5, 6


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest index; one that was not pulled within the window comes first."""
    state, num_arms = learner.state, learner.counts.size
    log = parameters[1] * math.log(min(round, parameters[0]))
    for arm in range(num_arms):
        count = state[_COUNTS * num_arms + arm]
        state[arm] = math.inf
        if count > 0.0:
            state[arm] = windowed_mean(arm, num_arms, count, state) + math.sqrt(log / count)
    return argmax(state[:num_arms], stream)


def windowed_mean(arm: int, num_arms: int, count: float, state: NDArray[np.float64]) -> float:
    """The mean of the arm's rewards in the window: exactly the constant where all of them are equal."""
    if state[_STREAK * num_arms + arm] >= count:
        return state[_LATEST * num_arms + arm]  # type: ignore[no-any-return]
    return (state[_EARLIER * num_arms + arm] + state[_LATER * num_arms + arm]) / count  # type: ignore[no-any-return]


def learn(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """Add the reward to the window and remove the pull that is now too old.

    A sum from which old rewards are subtracted would drift.  Pulls come in blocks as long as the window, so
    the window is the end of one block and the beginning of the next.  When a block ends, the sums of its
    ends are computed once from the newest pull backwards; removing a pull then only replaces its arm's sum
    by the next shorter one.
    """
    state, num_arms, window = learner.state, learner.counts.size, int(parameters[0])
    counts = state[_COUNTS * num_arms : _EARLIER * num_arms]
    earlier = state[_EARLIER * num_arms : _LATER * num_arms]
    later = state[_LATER * num_arms : _LATEST * num_arms]
    latest = state[_LATEST * num_arms : _STREAK * num_arms]
    streak = state[_STREAK * num_arms : _PLACE * num_arms]
    places = state[_PLACE * num_arms + 1 :]  # the arms [window], then the numbers [window]
    place = int(state[_PLACE * num_arms])
    old = int(places[place]) - 1
    if old >= 0:
        counts[old] -= 1.0
        earlier[old] = places[window + place]
    places[place], places[window + place] = arm + 1.0, reward
    counts[arm] += 1.0
    later[arm] += reward
    streak[arm] = streak[arm] + 1.0 if reward == latest[arm] else 1.0
    latest[arm] = reward
    if place + 1 == window:
        _close_block(places, window, earlier, later)
        place = -1
    state[_PLACE * num_arms] = place + 1.0


def _close_block(
    places: NDArray[np.float64], window: int, earlier: NDArray[np.float64], later: NDArray[np.float64]
) -> None:
    """Replace each reward of the block by the sum of its arm's later rewards in the block."""
    for arm in range(earlier.size):
        earlier[arm] = later[arm] = 0.0
    for place in range(window - 1, -1, -1):
        arm = int(places[place]) - 1
        following = earlier[arm]
        earlier[arm] = following + places[window + place]
        places[window + place] = following


@dataclass(frozen=True)
class SlidingWindow(PolicyBase):
    """Sliding-window UCB: the largest mean + sqrt(xi log(min(t, window)) / n) of the last ``window`` pulls.

    Mean and n are those within the window.  It forgets what it was taught: an arm that has left the window
    comes first, so it never stops pulling every arm.
    """

    window: int = parameter(1000, help="number of latest pulls that count", minimum=1, maximum=10**9)
    xi: float = parameter(0.6, help="weight of exploration (its regret bound needs more than 1/2)", minimum=0)

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def state_size(self, num_arms: int) -> int:
        return _PLACE * num_arms + 1 + 2 * self.window
