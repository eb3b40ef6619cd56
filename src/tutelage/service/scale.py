"""A campaign's rewards in the sender's units, and in [0, 1], which is all that a teacher knows."""

import math
from dataclasses import dataclass

from tutelage.errors import InputError
from tutelage.rules import SET_KIND


@dataclass(frozen=True)
class Scale:
    """The range [low, high] of rewards as they are sent.  Raises ``InputError`` if it is none."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high - self.low)):
            raise InputError(f"The range of rewards {self.low:g} to {self.high:g} is not finite.")
        if not self.low < self.high:
            raise InputError(
                f"The range of rewards {self.low:g} to {self.high:g} is empty: low must lie below high."
            )

    def to_unit(self, reward: float) -> float:
        """A reward of the sender's in [0, 1]."""
        return min(1.0, max(0.0, (reward - self.low) / (self.high - self.low)))

    def to_sender(self, value: float, kind: int, observed: float, sent: float) -> float:
        """A revealed reward in the sender's units, within [low, high].

        ``kind`` is of the rule that gave it.  What a rule left as it was observed is the very number that was
        sent; a constant is the same number at every pull.
        """
        if value == observed and kind != SET_KIND:
            return sent
        return min(self.high, max(self.low, self.low * (1.0 - value) + self.high * value))
