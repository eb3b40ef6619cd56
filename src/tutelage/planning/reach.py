"""Whether learning can end in time, in closed form: from the schedule of the epochs alone.

An arm with gap D is told from the best one in epoch psi

- as likely as not, where 2 CB(psi) = 2^-(psi + 1) <= D: the two intervals, centred on the true means, part;
- surely (for all arms with probability at least 1 - 1/T), where 4 CB(psi) = 2^-psi <= D, the paper's psi_max.

So the likely epoch is the one before the sure one.  Rounds are those of clients that pull the active arms
evenly.  Where clients act seldom or late they are stretched by how long the slowest takes for a pull in the
mean: then half of all runs need a little more.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tutelage.instances.base import Instance
from tutelage.theory.epochs import epoch_end, horizon_needed, separating_epoch


@dataclass(frozen=True)
class Epoch:
    """One epoch: the pulls F(psi) that it needs of each arm, and the round in which all K arms have them.

    ``likely_gap`` and ``sure_gap`` are the smallest gaps that it tells as likely as not, and surely.
    """

    epoch: int
    pulls: int
    round: int
    in_time: bool

    @property
    def likely_gap(self) -> float:
        return 2.0 ** -(self.epoch + 1)

    @property
    def sure_gap(self) -> float:
        return 2.0**-self.epoch

    def as_json(self) -> dict[str, Any]:
        """The epoch as plain values."""
        return vars(self) | {"likely_gap": self.likely_gap, "sure_gap": self.sure_gap}


@dataclass(frozen=True)
class Ending:
    """The epoch and the round of a decision.  Where instances vary, the earliest and the latest of them."""

    epoch: int
    earliest: int
    latest: int
    horizon: int

    @property
    def in_time(self) -> bool:
        """Whether all of it lies within the horizon."""
        return self.latest <= self.horizon

    def as_json(self) -> dict[str, Any]:
        """The ending as plain values."""
        return {
            "epoch": self.epoch,
            "earliest": self.earliest,
            "latest": self.latest,
            "in_time": self.in_time,
        }


@dataclass(frozen=True)
class Reach:
    """What the schedule says of a gap and a horizon.

    ``epochs`` are those within the horizon and the next one.  ``likely`` and ``sure``
    map a kind of teacher to its ending; they are empty where the best arms are tied: no epoch tells them
    apart.  ``in_mean``: the rounds are those of the mean, as clients act seldom or late.
    """

    epochs: tuple[Epoch, ...]
    likely: dict[str, Ending]
    sure: dict[str, Ending]
    in_mean: bool = False

    def as_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "epochs": [epoch.as_json() for epoch in self.epochs],
            "likely": {kind: ending.as_json() for kind, ending in self.likely.items()},
            "sure": {kind: ending.as_json() for kind, ending in self.sure.items()},
        }


def _all_at_once(epochs: Sequence[int], pulls: Callable[[int], int]) -> int:
    """Every arm is pulled until the last one is told; ``epochs`` has one entry an arm but the best."""
    return (len(epochs) + 1) * pulls(max(epochs))


def _one_by_one(epochs: Sequence[int], pulls: Callable[[int], int]) -> int:
    """An arm is pulled until its own epoch and never again, the best one until the last."""
    return sum(pulls(epoch) for epoch in epochs) + pulls(max(epochs))


_Count = Callable[[Sequence[int], Callable[[int], int]], int]
# Kinds of teachers whose round of decision is known in closed form: the likely one, and the sure one.  TWL's
# clients go on to pull arms that are ruled out, the more the less gamma1 is above gamma2, and the most, as
# often as TAL's, where the two are equal.  (theory.learning_time_of_twl has what UCB1 clients do.)
CLOSED: dict[str, tuple[_Count, _Count]] = {
    "tal": (_all_at_once, _all_at_once),
    "twl": (_one_by_one, _all_at_once),
}


def epoch_for(gap: float, *, sure: bool) -> int:
    """The epoch that tells a gap above 0: psi_max if it is to be ``sure``, else the one before."""
    told = separating_epoch(gap)
    return told if sure else max(1, told - 1)


def rounds_per_pull(instance: Instance) -> float:
    """How many rounds the slowest client takes for a pull, in the mean: 1 for the paper's clients."""
    activity, delays, _ = instance.conditions.arrays(instance.num_clients)
    return float((1.0 / activity + delays).max())


def pulls_until(instance: Instance, horizon: int, epoch: int) -> int:
    """F(psi), also of epochs that the horizon has no room for."""
    return epoch_end(epoch, instance.num_arms, horizon, instance.weights.tolist())


def round_of(kind: str, instance: Instance, horizon: int, *, sure: bool) -> int:
    """The round by which this kind of teacher surely decides, or likely the first in which it may.

    The gaps are those of the instance (none 0).
    """
    gaps = [gap for arm, gap in enumerate(instance.gaps.tolist()) if arm != instance.best_arm]
    epochs = [epoch_for(gap, sure=sure) for gap in gaps]
    pulls = CLOSED[kind][sure](epochs, lambda epoch: pulls_until(instance, horizon, epoch))
    return math.ceil(pulls * rounds_per_pull(instance))


def horizon_for(kind: str, instance: Instance, *, sure: bool) -> int:
    """The horizon from which on this kind of teacher decides in time."""
    return horizon_needed(lambda horizon: round_of(kind, instance, horizon, sure=sure))


def reach(instances: Sequence[Instance], horizon: int) -> Reach:
    """What the schedule says; all instances have the same M, K, weights and smallest gap."""
    first = instances[0]
    gap = first.min_gap
    epochs = [_epoch(first, horizon, 1)]
    while epochs[-1].in_time:
        epochs.append(_epoch(first, horizon, len(epochs) + 1))
    return Reach(
        epochs=tuple(epochs),
        likely=_endings(instances, horizon, sure=False) if gap > 0 else {},
        sure=_endings(instances, horizon, sure=True) if gap > 0 else {},
        in_mean=rounds_per_pull(first) > 1,
    )


def _epoch(instance: Instance, horizon: int, epoch: int) -> Epoch:
    pulls = pulls_until(instance, horizon, epoch)
    round = math.ceil(instance.num_arms * pulls * rounds_per_pull(instance))
    return Epoch(epoch, pulls, round, round <= horizon)


def _endings(instances: Sequence[Instance], horizon: int, *, sure: bool) -> dict[str, Ending]:
    epoch = epoch_for(instances[0].min_gap, sure=sure)
    endings = {}
    for kind in CLOSED:
        rounds = [round_of(kind, instance, horizon, sure=sure) for instance in instances]
        endings[kind] = Ending(epoch, min(rounds), max(rounds), horizon)
    return endings
