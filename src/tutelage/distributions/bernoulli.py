"""Rewards of 0 and 1."""

from dataclasses import dataclass
from typing import Any, ClassVar

from tutelage.distributions.base import RewardArrays
from tutelage.draws import random


def draw(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """1 with probability mu, else 0."""
    return 1.0 if random(stream) < rewards.local_means[client, arm] else 0.0


@dataclass(frozen=True)
class Bernoulli:
    """1 with probability mu, else 0."""

    draw = staticmethod(draw)
    needs_samples: ClassVar[bool] = False
    leaps_as: ClassVar[str] = "bernoulli"

    def parameters(self) -> tuple[float, ...]:
        return ()
