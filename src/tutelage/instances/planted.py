"""Random instances whose best arm leads by exactly a given gap."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tutelage.instances.base import Instance, equal_weights
from tutelage.instances.readers.numbers import read_weights
from tutelage.instances.support.building import (
    build,
    check_size,
    make_generators,
    rewards_parameter,
    seed_parameter,
    weights_parameter,
)
from tutelage.registry import check_parameters, parameter

_Means = NDArray[np.float64]


@dataclass(frozen=True)
class Planted:
    """Random local means whose global means have exactly the given gap.

    The means are drawn uniformly in [0, 1].  The arm that then is best for all is raised or lowered until
    it leads the second by the gap; if there is no room above, all other arms are lowered first so that the
    second lies at 0.9 (1 - gap).  An arm is moved by stretching its means towards 0 or 1, so the clients
    still disagree.  ``gap=0`` ties two best arms exactly.
    """

    clients: int = parameter(5, help="number of clients", minimum=1)
    arms: int = parameter(5, help="number of arms", minimum=2)
    gap: float = parameter(0.1, help="gap between the best and the second-best global mean", minimum=0, maximum=1)
    seed: int = seed_parameter("means")
    rewards: str = rewards_parameter()
    weights: str | None = weights_parameter()

    def __post_init__(self) -> None:
        check_parameters(self)

    def load(self) -> Instance:
        """Draw the means and plant the gap; it is within 1e-12 in ``Instance.min_gap``."""
        num_clients, num_arms = check_size("planted", self.clients, self.arms)
        (generator,) = make_generators(self.seed)
        weights = equal_weights(num_clients)
        if self.weights is not None:
            weights = read_weights(self.weights, num_clients)
        means = _plant(generator.random((num_clients, num_arms)), weights, self.gap, generator)
        return build("planted", self, means, notes=[("seed", str(self.seed))])


def _plant(means: _Means, weights: _Means, gap: float, generator: Generator) -> _Means:
    """Return the means [M, K] with the gap planted."""
    globals_ = [_mean(column, weights) for column in means.T]
    best = int(np.argmax(globals_))
    others = [arm for arm in range(len(globals_)) if arm != best]
    second = max(globals_[arm] for arm in others)
    room = 0.9 * (1.0 - gap)
    for arm in others if second > room else ():
        means[:, arm] = _moved(means[:, arm], weights, globals_[arm] * room / second)
    second_arm = max(others, key=lambda arm: _mean(means[:, arm], weights))
    second = _mean(means[:, second_arm], weights)
    if gap == 0.0:
        means[:, best] = _tied(means[:, best], means[:, second_arm], weights, generator)
    else:
        means[:, best] = _moved(means[:, best], weights, min(1.0, second + gap))
    return means


def _mean(column: _Means, weights: _Means) -> float:
    """The global mean of an arm, as ``Instance.global_means`` has it."""
    if np.all(weights == weights[0]):
        return math.fsum(column.tolist()) / weights.size
    return math.fsum((column * weights).tolist())


def _moved(column: _Means, weights: _Means, target: float) -> _Means:
    """The arm's local means stretched towards 0 or 1 until their global mean is the target."""
    mean = _mean(column, weights)
    if target < mean:
        return column * (target / mean)
    if mean == 1.0:
        return column
    moved: _Means = np.clip(1.0 - (1.0 - column) * ((1.0 - target) / (1.0 - mean)), 0.0, 1.0)
    return moved


def _tied(column: _Means, second: _Means, weights: _Means, generator: Generator) -> _Means:
    """Local means with exactly the global mean of the second-best arm.

    Under equal weights the second arm's means, each at another client, have it (the sum is
    correctly rounded).  Otherwise one mean is moved by single steps of a float; if none fits, it is a copy.
    """
    if np.all(weights == weights[0]):
        return np.roll(second, 1 + int(generator.random() * (second.size - 1)))
    target = _mean(second, weights)
    moved = _moved(column, weights, target)
    for client in np.argsort(weights * np.spacing(moved)):
        for _ in range(64):
            error = target - _mean(moved, weights)
            if error == 0.0:
                return moved
            step = max(abs(error) / weights[client], np.spacing(moved[client]))
            moved[client] = min(1.0, max(0.0, moved[client] + math.copysign(step, error)))
    return second.copy()
