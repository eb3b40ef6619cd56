"""What a reward distribution is: how a client's reward is drawn around its local mean.

A reward distribution is a frozen dataclass of SPEC parameters with one plain function that the engine
compiles into its kernels:

``draw(rewards, client, arm, stream) -> reward``
    One reward of an arm at a client.  Its mean is ``rewards.local_means[client, arm]``.  It lies in [0, 1], unless
    the distribution states a ``sub_gaussian`` constant (:func:`sub_gaussian_of`).

``draw`` may draw from ``stream``, the client's own reward stream, through ``tutelage.draws``.  It changes
nothing else.

Rewards of different clients in the same round may depend on each other through shocks: numbers that
``tutelage.draws.shock`` computes from ``rewards.shock_key``, which is the same for all clients of a run, and
``rewards.round``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.validation import check_number

_NO_KEY = np.zeros(1, dtype=np.uint64)


@dataclass(frozen=True)
class Samples:
    """Observed rewards, cell by cell, for a distribution that resamples them.

    The distinct values of cell (m, k), ascending, are ``values[offsets[m K + k] : offsets[m K + k + 1]]``;
    ``cumulative`` holds for each of them the share of the cell's observations up to and including it (the
    last of a cell is exactly 1).
    """

    offsets: NDArray[np.int64]  # [M K + 1]
    values: NDArray[np.float64]
    cumulative: NDArray[np.float64]


class RewardArrays(NamedTuple):
    """What ``draw`` reads: the instance's means, the distribution's parameters and the observed rewards."""

    local_means: NDArray[np.float64]  # [M, K]
    global_means: NDArray[np.float64]  # [K]
    parameters: NDArray[np.float64]  # [P]; the distribution's `parameters()`
    offsets: NDArray[np.int64]  # as in Samples; without samples the three arrays hold nothing
    values: NDArray[np.float64]
    cumulative: NDArray[np.float64]
    shock_key: NDArray[np.uint64] = _NO_KEY  # [1]; that of the run (seeding.py)
    round: int = 0  # the round of the pull, from 1


def in_round(rewards: RewardArrays, round: int) -> RewardArrays:
    """Return the same arrays for a pull of this round (compiled; costs nothing)."""
    return RewardArrays(
        rewards.local_means,
        rewards.global_means,
        rewards.parameters,
        rewards.offsets,
        rewards.values,
        rewards.cumulative,
        rewards.shock_key,
        round,
    )


Draw = Callable[[RewardArrays, int, int, Any], float]


def reward_variances(distribution: "RewardDistribution", rewards: RewardArrays) -> NDArray[np.float64]:
    """Return the variance of each client's and arm's reward, [M, K].

    That of the distribution's function ``variances(rewards)``; without one mu (1 - mu), the largest on [0, 1].
    """
    known = getattr(distribution, "variances", None)
    means = rewards.local_means
    return np.asarray(means * (1.0 - means) if known is None else known(rewards))


def sub_gaussian_of(distribution: "RewardDistribution") -> float | None:
    """Return sigma with E exp(s (X - mu)) <= exp(s^2 sigma^2 / 2) for rewards beyond [0, 1]; None within [0, 1].

    The distribution states it as ``sub_gaussian``.  Raises ``InputError`` unless it is a number above 0.
    """
    stated = getattr(distribution, "sub_gaussian", None)
    return None if stated is None else check_number("sub_gaussian of a reward distribution", stated, above=0)


def check_clients(distribution: "RewardDistribution", num_clients: int) -> None:
    """Raise ``InputError`` if the distribution has a method ``check`` that refuses this number of clients."""
    check = getattr(distribution, "check", None)
    if check is not None:
        check(num_clients)


def require_bounded(distribution: "RewardDistribution", instance: str, why: str) -> None:
    """Raise ``InputError`` for rewards beyond [0, 1], with the name of the instance and what requires them within."""
    if sub_gaussian_of(distribution) is not None:
        raise InputError(
            f"The rewards of {instance} go beyond [0, 1], but {why}: use another distribution, as in rewards=beta(10)."
        )


class RewardDistribution(Protocol):
    """An entry of the table of reward distributions."""

    @property
    def draw(self) -> Draw:
        """The function that draws a reward (a static method: plain, compilable)."""
        ...

    @property
    def needs_samples(self) -> bool:
        """Whether the instance must hold observed rewards of every client and arm."""
        ...

    def parameters(self) -> tuple[float, ...]:
        """The parameters as ``draw`` sees them."""
        ...
