"""Rewards that were observed in data, drawn again."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import RewardArrays
from tutelage.draws import random


def draw(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """The quantile of a uniform number."""
    return quantile(rewards, client, arm, random(stream))


def quantile(rewards: RewardArrays, client: int, arm: int, share: float) -> float:
    """The first value of the cell whose cumulative share exceeds a share in [0, 1), by bisection."""
    cell = client * rewards.local_means.shape[1] + arm
    low, high = rewards.offsets[cell], rewards.offsets[cell + 1] - 1
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

    def variances(self, rewards: RewardArrays) -> NDArray[np.float64]:
        shares = np.diff(rewards.cumulative, prepend=0.0)
        starts = rewards.offsets[:-1]
        shares[starts] = rewards.cumulative[starts]
        first, second = (np.add.reduceat(shares * rewards.values**power, starts) for power in (1, 2))
        return np.asarray(np.maximum(second - first**2, 0.0)).reshape(rewards.local_means.shape)
