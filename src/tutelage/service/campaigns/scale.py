"""A campaign's rewards in the sender's units, and in [0, 1], which is all that a teacher knows."""

import math
from dataclasses import dataclass

from tutelage.errors import InputError
from tutelage.text import format_exact


@dataclass(frozen=True)
class RewardScale:
    """The range [low, high] of rewards as they are sent.  Raises ``InputError`` if it is none."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high - self.low)):
            raise InputError(
                f"The range of rewards {format_exact(self.low)} to {format_exact(self.high)} is not finite."
            )
        if not self.low < self.high:
            raise InputError(
                f"The range of rewards {format_exact(self.low)} to {format_exact(self.high)} is empty: "
                "low must lie below high."
            )

    def to_unit(self, reward: float) -> float:
        """A reward of the sender's in [0, 1]."""
        return min(1.0, max(0.0, (reward - self.low) / (self.high - self.low)))

    def to_units(self, rewards: list[float]) -> list[float]:
        """Rewards of the sender's, all within [low, high], in [0, 1]."""
        if (self.low, self.high) == (0.0, 1.0):
            return rewards
        return [self.to_unit(reward) for reward in rewards]

    def to_sender(self, value: float) -> float:
        """A reward in [0, 1] in the sender's units, within [low, high].

        What a rule left as it was observed does not come here: that is the very number that was sent.
        """
        return min(self.high, max(self.low, self.low * (1.0 - value) + self.high * value))
