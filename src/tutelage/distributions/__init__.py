"""Reward distributions: how a client's reward is drawn around its local mean.

``bernoulli`` draws 0 or 1, ``beta(concentration)`` a number in [0, 1] from Beta(c mu, c (1 - mu)),
``empirical`` one of the values that were really observed, ``constant`` the mean itself.
:func:`draw` is the one definition; the engine compiles it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import beta, random
from tutelage.errors import InputError
from tutelage.registry import Table, parameter

BERNOULLI, BETA, EMPIRICAL, CONSTANT = 0, 1, 2, 3


@dataclass(frozen=True)
class Bernoulli:
    """1 with probability mu, else 0."""

    kind = BERNOULLI


@dataclass(frozen=True)
class Beta:
    """Beta(c mu, c (1 - mu)), mean mu; the larger the concentration c, the closer to mu."""

    concentration: float = parameter(10.0, help="how closely rewards gather around the mean, above 0")

    kind = BETA

    def __post_init__(self) -> None:
        if not 0 < self.concentration < float("inf"):
            raise InputError(
                f"The concentration of rewards=beta is {self.concentration:g}; it must be above 0."
            )


@dataclass(frozen=True)
class Empirical:
    """One of the values really observed at that client and arm, each as often as it was seen."""

    kind = EMPIRICAL


@dataclass(frozen=True)
class Constant:
    """The mean itself, every time."""

    kind = CONSTANT


RewardDistribution = Bernoulli | Beta | Empirical | Constant

DISTRIBUTIONS = Table[RewardDistribution](
    kind="reward distribution",
    plural="reward distributions",
    entries={
        "bernoulli": "tutelage.distributions:Bernoulli",
        "beta": "tutelage.distributions:Beta",
        "empirical": "tutelage.distributions:Empirical",
        "constant": "tutelage.distributions:Constant",
    },
)


def parse_distribution(spec: str) -> RewardDistribution:
    """``"beta(20)"``, ``"beta(concentration=20)"`` or ``"bernoulli"`` as a law."""
    name, parenthesis, inside = spec.strip().partition("(")
    if name.strip() == "beta" and parenthesis and "=" not in inside:
        spec = f"beta(concentration={inside}"
    return DISTRIBUTIONS.parse(spec)


@dataclass(frozen=True)
class Samples:
    """What was observed, cell by cell, as the empirical distribution resamples it.

    The distinct values of cell (m, k), ascending, are ``values[offsets[m K + k] : offsets[m K + k + 1]]``;
    ``cumulative`` holds beside each the share of the cell's observations up to and including it (the last
    of a cell is exactly 1).
    """

    offsets: NDArray[np.int64]  # [M K + 1]
    values: NDArray[np.float64]
    cumulative: NDArray[np.float64]


class RewardArrays(NamedTuple):
    """A law and its instance as compiled code sees them."""

    kind: int
    local_means: NDArray[np.float64]  # [M, K]
    global_means: NDArray[np.float64]  # [K]
    concentration: float
    offsets: NDArray[np.int64]
    values: NDArray[np.float64]
    cumulative: NDArray[np.float64]


def draw(distribution: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """One reward of an arm at a client, in [0, 1], from the client's reward stream."""
    mean = distribution.local_means[client, arm]
    if distribution.kind == BERNOULLI:
        return 1.0 if random(stream) < mean else 0.0
    if distribution.kind == EMPIRICAL:
        cell = client * distribution.local_means.shape[1] + arm
        low, high = distribution.offsets[cell], distribution.offsets[cell + 1] - 1
        share = random(stream)
        while low < high:  # the first value whose share so far exceeds the drawn one
            middle = (low + high) // 2
            if distribution.cumulative[middle] <= share:
                low = middle + 1
            else:
                high = middle
        return distribution.values[low]  # type: ignore[no-any-return]
    if distribution.kind == BETA and 0.0 < mean < 1.0:
        return beta(stream, distribution.concentration * mean, distribution.concentration * (1.0 - mean))
    return mean  # type: ignore[no-any-return]
