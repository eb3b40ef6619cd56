"""Rewards anywhere in [0, 1], more or less close to their mean."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import RewardArrays
from tutelage.draws import beta
from tutelage.registry import check_parameters, parameter


def draw(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """A Beta(c mu, c (1 - mu)) number; a mean of 0 or 1 itself, without a draw."""
    mean, concentration = rewards.local_means[client, arm], rewards.parameters[0]
    if 0.0 < mean < 1.0:
        return beta(stream, concentration * mean, concentration * (1.0 - mean))
    return mean  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Beta:
    """Beta(c mu, c (1 - mu)) with mean mu; a larger concentration c gives rewards closer to mu."""

    concentration: float = parameter(10.0, help="how closely rewards gather around the mean", above=0)

    draw = staticmethod(draw)
    needs_samples: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_parameters(self)

    def parameters(self) -> tuple[float, ...]:
        return (self.concentration,)

    def variances(self, rewards: RewardArrays) -> NDArray[np.float64]:
        return rewards.local_means * (1.0 - rewards.local_means) / (self.concentration + 1.0)
