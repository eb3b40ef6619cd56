"""What the theorems look at: means, gaps, weights and the horizon."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.instances.base import Instance


@dataclass(frozen=True, eq=False)
class Setting:
    """A bandit problem with one best arm, as in section III: every client acts in every round.

    ``local_means`` [M, K], ``weights`` [M], ``gaps`` [K] (0 for the best arm alone), ``horizon`` T.
    """

    local_means: NDArray[np.float64]
    weights: tuple[float, ...]
    gaps: NDArray[np.float64]
    best_arm: int
    horizon: int

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
        """M T Delta_max: what T rounds of all clients can lose."""
        return self.num_clients * self.horizon * float(self.gaps.max())

    def most_cost(self, gamma1: float, gamma2: float) -> float:
        """What T rounds can cost a teacher that shows gamma1, gamma2 or the truth."""
        dearest = np.maximum(self.adjustments(gamma1), self.adjustments(gamma2)).max(axis=1)
        return self.horizon * float(dearest.sum())

    def adjustments(self, gamma: float) -> NDArray[np.float64]:
        """delta_(k, m)(gamma) = E|gamma - X_(k, m)|, [M, K], or what it is at most.

        (1 - mu) gamma + mu (1 - gamma).  |gamma - x| is convex in x, so of all laws on [0, 1] with mean mu
        the one of zeros and ones has the largest; for gamma 0 and 1 all have the same.
        """
        return (1.0 - self.local_means) * gamma + self.local_means * (1.0 - gamma)


def setting_of(instance: Instance, horizon: int) -> Setting:
    """The setting of an instance.  Raises ``InputError`` where the theorems do not speak of it."""
    if horizon < 1:
        raise InputError(f"The horizon {horizon} is below 1: give 1 or more.")
    if instance.num_arms < 2:
        raise InputError(f"{instance.name} has one arm: there is nothing to teach, and no bound.")
    if len(instance.best_arms) > 1:
        tied = ", ".join(instance.arm_label(arm) for arm in instance.best_arms)
        raise InputError(f"The best arms of {instance.name} are tied ({tied}): the theorems ask for one.")
    real = instance.conditions
    if real.activity or real.delays or real.stops or real.shifts:
        raise InputError(
            f"The clients of {instance.name} do not act in every round, or their means shift: the theorems "
            "hold for clients that always act and means that stay."
        )
    return Setting(
        local_means=instance.local_means,
        weights=tuple(instance.weights.tolist()),
        gaps=instance.gaps,
        best_arm=instance.best_arm,
        horizon=horizon,
    )
