"""Rewards beyond [0, 1], with Gaussian noise."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import RewardArrays
from tutelage.draws import normal
from tutelage.registry import check_parameters, parameter


def draw(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """An N(mu, sigma^2) number."""
    return rewards.local_means[client, arm] + rewards.parameters[0] * normal(stream)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Gaussian:
    """N(mu, sigma^2), also beyond [0, 1]; a policy sees the reward clipped to [0, 1], the teacher as it is."""

    sigma: float = parameter(0.25, help="standard deviation, and sub-Gaussian constant", above=0)

    draw = staticmethod(draw)
    needs_samples: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_parameters(self)

    def parameters(self) -> tuple[float, ...]:
        return (self.sigma,)

    @property
    def sub_gaussian(self) -> float:
        """The constant with which teachers scale their confidence intervals."""
        return self.sigma

    def variances(self, rewards: RewardArrays) -> NDArray[np.float64]:
        return np.full_like(rewards.local_means, self.sigma**2)
