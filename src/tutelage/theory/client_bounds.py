"""The requirements of the general theorem on a client: how it explores, and its pulls afterwards.

Shi et al., Definitions uniform_exploration and warm_start_pulls, as upper bounds.  The lemmas that give them
are in ``ucb1.py`` and ``eps_greedy.py``; ``tal.py`` puts them together.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tutelage.theory import arguments

LEAST_LEAD = 1e-100  # what is smaller has a square that floats cannot hold, and counts as 0


@dataclass(frozen=True)
class ExplorationBound:
    """How evenly a policy pulls arms that all show the same constant (Definition uniform_exploration).

    ``least(tau)`` and ``most(tau)`` are eta-low and eta-high: pulls of any one arm after tau pulls.
    ``needed(n)`` is eta-low's inverse: the least tau after which every arm has n pulls.
    ``failure`` is the probability that this is ever wrong.  Raises ``InputError`` unless these are
    functions and a probability; the functions of the lemmas raise it unless pulls are a whole number of at
    least 0.
    """

    least: Callable[[int], float]
    most: Callable[[int], float]
    needed: Callable[[int], int]
    failure: float

    def __post_init__(self) -> None:
        for name in ("least", "most", "needed"):
            arguments.function(f"curve {name!r}", getattr(self, name))
        arguments.real("probability of failure", self.failure)


@dataclass(frozen=True)
class WarmStartBound:
    """Expected pulls after a history (Definition warm_start_pulls), of arms other than the best.

    ``each`` for any one of them, ``together`` for all; ``failure`` is the probability that neither holds.
    Raises ``InputError`` for numbers below 0 or not finite, and a probability outside [0, 1].
    """

    each: float
    together: float
    failure: float

    def __post_init__(self) -> None:
        arguments.real("bound on the pulls of an arm", self.each, most=sys.float_info.max)
        arguments.real("bound on all pulls", self.together, most=sys.float_info.max)
        arguments.real("probability of failure", self.failure)

    def weighed(self, values: Sequence[float]) -> float:
        """The most that these pulls can add up to, where a pull of arm k != best counts ``values[k]``.

        Raises ``InputError`` for a value outside [0, 1].
        """
        total, left = 0.0, self.together
        given = (arguments.real("value of a pull", value) for value in arguments.listed("values", values))
        for value in sorted(given, reverse=True):
            taken = min(self.each, left)
            total += value * taken
            left -= taken
        return total


@dataclass(frozen=True)
class ClientBound:
    """One client: how it explores, and its warm-start pulls after at most so many pulls of each arm.

    ``warm_start(n)`` must hold for every history with at most n pulls of each arm that exploring can lead to,
    and be no smaller for larger n: learning may end before its latest round.
    Raises ``InputError`` unless they are what their names say.
    """

    exploration: ExplorationBound
    warm_start: Callable[[float], WarmStartBound]

    def __post_init__(self) -> None:
        arguments.instance_of(ExplorationBound, "exploration", self.exploration)
        arguments.function("warm start", self.warm_start)
