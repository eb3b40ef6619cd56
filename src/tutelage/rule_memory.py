"""What rules read and write: a directive's rules as arrays, and the memory of a client.

Shapes: K arms.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL, OFF_TARGET, WANDER, PRESSURES = range(4)  # positions in a client's rule state; pressures are the last K


class RuleArrays(NamedTuple):
    """A directive's rules as arrays over the arms."""

    kinds: NDArray[np.int64]  # [K]
    numbers: NDArray[np.float64]  # [K, NUM_NUMBERS]
    active: NDArray[np.bool_]  # [K]
    num_active: int
    leading_arm: int  # -1: none
    target: int  # -1: none
    watches_wander: bool  # whether any of the rules uses the client's wander
    rounding_key: NDArray[np.uint64]  # [1] key of binary reveals; [0]: rewards are revealed as the rules say


class RuleMemory(NamedTuple):
    """The memory of a client that its rules depend on.

    ``state`` [K + 3] is the level (0: not yet frozen), the moving share of pulls off the target, the wander
    (the moving share of pulls of an arm whose revealed mean is not the highest), and the pressure on each arm.
    """

    pulls: NDArray[np.int64]  # [K], N
    observed: NDArray[np.float64]  # [K], Q
    revealed: NDArray[np.float64]  # [K], S
    state: NDArray[np.float64]  # [K + 3]


def state_size(num_arms: int) -> int:
    """Return the number of values in ``RuleMemory.state``."""
    return PRESSURES + num_arms


def clip(value: float) -> float:
    """Return the nearest number in [0, 1]."""
    return min(1.0, max(0.0, value))
