"""The setting of the theorems: means, gaps, weights and the horizon."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.base import require_bounded
from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.text import format_value
from tutelage.theory import arguments


@dataclass(frozen=True, eq=False)
class TheorySetting:
    """A bandit problem with one best arm, as in section III: every client acts in every round.

    ``local_means`` [M, K], ``weights`` [M], ``gaps`` [K] (0 only for the best arm), ``horizon`` T.
    Raises ``InputError`` unless they fit together and lie in their ranges; :func:`setting_of` makes one.
    """

    local_means: NDArray[np.float64]
    weights: tuple[float, ...]
    gaps: NDArray[np.float64]
    best_arm: int
    horizon: int

    def __post_init__(self) -> None:
        means, gaps = (_within_one(name, getattr(self, name)) for name in ("local_means", "gaps"))
        weights = arguments.weights_of(self.weights)
        if means.ndim != 2 or means.shape[1] < 2 or means.shape[0] != len(weights):
            raise InputError(
                f"The local means are of the shape {list(means.shape)}: give [M, K] for {len(weights)} "
                "weights and 2 arms or more."
            )
        best_arm = arguments.whole("best arm", self.best_arm, 0, means.shape[1] - 1)
        if gaps.shape != means.shape[1:] or [*np.flatnonzero(gaps == 0.0)] != [best_arm]:
            raise InputError(
                f"The gaps {format_value(gaps.tolist())} are invalid: use one for each of {means.shape[1]} "
                f"arms, and 0 only for arm {best_arm}."
            )
        horizon = arguments.rounds("horizon", self.horizon)
        for name, value in (
            ("local_means", means), ("weights", weights), ("gaps", gaps), ("best_arm", best_arm),
            ("horizon", horizon),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def num_clients(self) -> int:
        return int(self.local_means.shape[0])

    @property
    def num_arms(self) -> int:
        return int(self.local_means.shape[1])

    @property
    def others(self) -> tuple[int, ...]:
        """All arms but the best."""
        return tuple(arm for arm in range(self.num_arms) if arm != self.best_arm)

    @property
    def other_gaps(self) -> tuple[float, ...]:
        """The gaps of all arms but the best, in their order."""
        return tuple(self.gaps[list(self.others)].tolist())

    @property
    def best_means(self) -> tuple[float, ...]:
        """mu_(dagger, m) [M]: each client's own mean of the best arm."""
        return tuple(self.local_means[:, self.best_arm].tolist())

    @property
    def most_regret(self) -> float:
        """M T Delta_max: the largest possible regret of all clients in T rounds."""
        return self.num_clients * self.horizon * float(self.gaps.max())

    def most_cost(self, gamma1: float, gamma2: float) -> float:
        """Return the largest possible cost in T rounds if gamma1, gamma2 or the true reward is revealed."""
        dearest = np.maximum(self.adjustments(gamma1), self.adjustments(gamma2)).max(axis=1)
        return self.horizon * float(dearest.sum())

    def adjustments(self, gamma: float) -> NDArray[np.float64]:
        """Return delta_(k, m)(gamma) = E|gamma - X_(k, m)|, [M, K], or an upper bound.

        (1 - mu) gamma + mu (1 - gamma).  |gamma - x| is convex in x, so of all distributions on [0, 1] with mean mu
        that of zeros and ones has the largest; for gamma 0 and 1 all have the same.
        Raises ``InputError`` for a gamma outside [0, 1].
        """
        gamma = arguments.real("gamma", gamma)
        return (1.0 - self.local_means) * gamma + self.local_means * (1.0 - gamma)


def setting_of(instance: Instance, horizon: int) -> TheorySetting:
    """Return the setting of an instance.  Raises ``InputError`` where the theorems do not apply."""
    arguments.instance_of(Instance, "instance", instance)
    horizon = arguments.rounds("horizon", horizon)
    if instance.num_arms < 2:
        raise InputError(f"{instance.name} has one arm, but the theorems require 2 or more.")
    if len(instance.best_arms) > 1:
        tied = ", ".join(instance.arm_label(arm) for arm in instance.best_arms)
        raise InputError(f"The best arms of {instance.name} are tied ({tied}): the theorems require one.")
    if not always_acts(instance):
        raise InputError(
            f"The clients of {instance.name} do not act in every round, or their means shift: the theorems "
            "require clients that always act and constant means."
        )
    require_bounded(instance.rewards, instance.name, "the theorems require rewards within it")
    return TheorySetting(
        local_means=instance.local_means,
        weights=tuple(instance.weights.tolist()),
        gaps=np.minimum(instance.gaps, 1.0),  # weights may sum to a little more than 1
        best_arm=instance.best_arm,
        horizon=horizon,
    )


def always_acts(instance: Instance) -> bool:
    """Whether every client acts in every round and means are constant, as all theorems require."""
    arguments.instance_of(Instance, "instance", instance)
    real = instance.conditions
    slow = any(share < 1 for share in real.activity) or any(real.delays)
    return not (slow or real.stops or real.shifts)


def _within_one(name: str, given: Any) -> NDArray[np.float64]:
    """An array of numbers in [0, 1]; else ``InputError``."""
    what = name.replace("_", " ")
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):  # rows of unequal length
        array = np.array(None)
    if array.dtype.kind not in "iuf" or not array.size:
        raise InputError(f"The {what} {format_value(given)} are not an array of numbers: give one.")
    array = array.astype(np.float64, copy=False)
    if not np.all((array >= 0.0) & (array <= 1.0)):
        raise InputError(f"One of the {what} {format_value(array.tolist())} lies outside [0, 1].")
    return array
