"""What the general theorem asks of a client: that it explores enough, and what it does after that.

Shi et al., Definitions uniform_exploration and warm_start_pulls, as upper bounds.  The lemmas that give them
are in ``ucb1.py`` and ``eps_greedy.py``; ``tal.py`` puts them together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

LEAST_LEAD = 1e-100  # what is smaller has a square that floats cannot hold, and counts as 0


@dataclass(frozen=True)
class ExplorationBound:
    """How evenly a policy pulls arms that all show the same constant (Definition uniform_exploration).

    ``least(tau)`` and ``most(tau)`` are eta-low and eta-high: pulls of any one arm after tau pulls.
    ``needed(n)`` is eta-low's inverse: the least tau after which every arm has n pulls.
    ``failure`` is the chance that this is ever wrong.
    """

    least: Callable[[int], float]
    most: Callable[[int], float]
    needed: Callable[[int], int]
    failure: float


@dataclass(frozen=True)
class WarmStartBound:
    """Expected pulls after a history (Definition warm_start_pulls), of arms other than the best.

    ``each`` for any one of them, ``together`` for all; ``failure`` is the chance that neither holds.
    """

    each: float
    together: float
    failure: float

    def weighed(self, values: Sequence[float]) -> float:
        """The most that these pulls can add up to, where a pull of arm k != best counts ``values[k]``."""
        total, left = 0.0, self.together
        for value in sorted(values, reverse=True):
            taken = min(self.each, left)
            total += value * taken
            left -= taken
        return total


@dataclass(frozen=True)
class ClientBound:
    """One client: how it explores, and its warm-start pulls after at most so many pulls of each arm.

    ``warm_start(n)`` must hold for every history with at most n pulls of each arm that exploring can lead to,
    and be no smaller for larger n: learning may end before its latest round.
    """

    exploration: ExplorationBound
    warm_start: Callable[[float], WarmStartBound]
