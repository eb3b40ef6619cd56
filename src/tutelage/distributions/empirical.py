"""Rewards that were observed in data, drawn again."""

from dataclasses import dataclass
from typing import Any, ClassVar

from tutelage.distributions.base import RewardArrays
from tutelage.draws import random


def draw(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """The first value of the cell whose cumulative share exceeds a uniform number, by bisection."""
    cell = client * rewards.local_means.shape[1] + arm
    low, high = rewards.offsets[cell], rewards.offsets[cell + 1] - 1
    share = random(stream)
    while low < high:
        middle = (low + high) // 2
        if rewards.cumulative[middle] <= share:
            low = middle + 1
        else:
            high = middle
    return rewards.values[low]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Empirical:
    """A reward that was observed at that client and arm, each as often as it was observed."""

    draw = staticmethod(draw)
    needs_samples: ClassVar[bool] = True

    def parameters(self) -> tuple[float, ...]:
        return ()
