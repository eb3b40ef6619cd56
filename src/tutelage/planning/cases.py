"""The cases that a plan can be made for: a known instance, or a guessed one."""

import dataclasses
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from tutelage.conditions import Conditions
from tutelage.distributions import parse_distribution
from tutelage.distributions.base import require_bounded
from tutelage.distributions.bernoulli import Bernoulli
from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.instances.planted import Planted
from tutelage.theory import arguments
from tutelage.validation import check_number

_SEEDS = 2**64
_LEAST_GAP = 1e-6


@runtime_checkable
class Case(Protocol):
    """The source of the instances of a plan's runs.

    ``gap`` is the smallest gap of the instances, ``most_gap`` the largest possible one.  ``varied`` says
    whether every run has its own instance.
    """

    @property
    def gap(self) -> float: ...
    @property
    def most_gap(self) -> float: ...
    @property
    def varied(self) -> bool: ...
    def instance(self, gap: float, seed: int, run: int) -> Instance:
        """Return the instance of a run, with this smallest gap."""
        ...


@dataclass(frozen=True, eq=False)
class KnownInstance:
    """A known instance.  Raises ``InputError`` if it has one arm or its means shift."""

    known: Instance

    def __post_init__(self) -> None:
        arguments.instance_of(Instance, "instance", self.known)
        if self.known.num_arms < 2:
            raise InputError(
                f"{self.known.name} has one arm, so there is nothing to plan: use an instance with 2 or more."
            )
        if len(self.known.phases) > 1:
            raise InputError(
                f"The means of {self.known.name} shift, but a plan assumes constant means: "
                "use tutelage simulate for this instance."
            )
        require_bounded(self.known.rewards, self.known.name, "a plan assumes rewards within it")

    @property
    def gap(self) -> float:
        return self.known.min_gap

    @property
    def most_gap(self) -> float:
        return 1.0

    @property
    def varied(self) -> bool:
        return False

    def instance(self, gap: float, seed: int, run: int) -> Instance:
        """Return the instance itself, or for another gap the result of :func:`with_gap`."""
        return self.known if gap == self.gap else with_gap(self.known, gap)


@dataclass(frozen=True, eq=False)
class AssumedInstance:
    """An unknown instance: M, K, a guess of the smallest gap, and the range [``low``, ``high``] of the means.

    Run r of seed S uses the ``planted`` instance of seed S + r, its means scaled from [0, 1] to [low, high],
    so that the spread of the results includes what is unknown about the means.
    Raises ``InputError`` unless 0 <= low < high <= 1, 1e-6 <= gap <= high - low and there are 2 arms or more.
    """

    num_clients: int
    num_arms: int
    gap: float
    low: float = 0.0
    high: float = 1.0
    rewards: str = "bernoulli"
    weights: str | None = None
    conditions: Conditions = Conditions()

    def __post_init__(self) -> None:
        for name, what, least in (("num_clients", "number of clients", 1), ("num_arms", "number of arms", 2)):
            object.__setattr__(self, name, arguments.whole(what, getattr(self, name), least))
        for name, what in (("gap", "gap"), ("low", "lowest mean"), ("high", "highest mean")):
            object.__setattr__(self, name, check_number(what, getattr(self, name)))
        arguments.instance_of(str, "reward distribution", self.rewards)
        require_bounded(parse_distribution(self.rewards), "the instances", "a plan assumes rewards within it")
        arguments.instance_of(str | None, "text of weights", self.weights)
        arguments.instance_of(Conditions, "conditions", self.conditions)
        if not 0.0 <= self.low < self.high <= 1.0:
            raise InputError(
                f"The means {self.low:g};{self.high:g} are not a range within [0, 1]: "
                "use LOW;HIGH with LOW below HIGH, as in '0.2;0.8'."
            )
        if not _LEAST_GAP <= self.gap <= self.high - self.low:
            raise InputError(
                f"Invalid gap {self.gap:g}: use {_LEAST_GAP:g} to {self.high - self.low:g}, the largest gap between "
                f"means of {self.low:g} to {self.high:g}."
            )

    @property
    def most_gap(self) -> float:
        return self.high - self.low

    @property
    def varied(self) -> bool:
        return True

    def instance(self, gap: float, seed: int, run: int) -> Instance:
        """Return a random instance whose best arm leads by the gap."""
        width = self.high - self.low
        planted = Planted(
            clients=self.num_clients,
            arms=self.num_arms,
            gap=min(1.0, gap / width),
            seed=(seed + run) % _SEEDS,
            rewards=self.rewards,
            weights=self.weights,
        ).load()
        means = np.clip(self.low + width * planted.local_means, self.low, self.high)
        return dataclasses.replace(planted, local_means=means, conditions=self.conditions)


def with_gap(instance: Instance, gap: float) -> Instance:
    """The instance with its best arm moved until it leads the second by ``gap``, in (0, 1].

    An arm is moved by stretching its local means towards 0 or 1, so that clients still differ.  If its mean
    would exceed 1, the means of all other arms are lowered first.  The distribution ``empirical`` has fixed
    values and is replaced by ``bernoulli``.
    """
    means = instance.local_means.copy()
    best = instance.best_arm
    globals_ = instance.global_means
    second = float(np.delete(globals_, best).max())
    if second + gap > 1.0:
        others = np.arange(instance.num_arms) != best
        means[:, others] *= (1.0 - gap) / second
        second = 1.0 - gap
    mean, target = float(globals_[best]), second + gap
    if target < mean:
        means[:, best] *= target / mean
    elif mean < 1.0:
        means[:, best] = 1.0 - (1.0 - means[:, best]) * (1.0 - target) / (1.0 - mean)
    return dataclasses.replace(
        instance,
        name=f"{instance.name} with a gap of {gap:g}",
        local_means=np.clip(means, 0.0, 1.0),
        rewards=Bernoulli() if instance.rewards.needs_samples else instance.rewards,
    )
