"""Whether learning can end in time, from formulas: the schedule of the epochs, and the theorems.

Epoch psi separates an arm with gap D from the best one

- about half of the time where 2 CB(psi) = 2^-(psi + 1) <= D: the two intervals, centred on the true means,
  then just do not overlap;
- surely (for all arms with probability at least 1 - 1/T) where 4 CB(psi) = 2^-psi <= D, the paper's psi_max.

So the likely epoch is the one before the sure one.  The likely round is that of clients that pull the active
arms evenly.  The sure round is that of ``tutelage bound``, which also depends on how the clients explore
(:func:`tutelage.theory.learning_end`); without a proof no round is sure.  Where clients act
seldom or late, rounds are multiplied by the average number of rounds that the slowest client takes for a
pull: then half of all runs need a little more, and no round is sure.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tutelage.conditions import Conditions
from tutelage.instances.base import Instance
from tutelage.policies.base import Policy
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher
from tutelage.theory import always_acts, epoch_end, horizon_needed, learning_end, separating_epoch, setting_of


@dataclass(frozen=True)
class EpochReach:
    """One epoch: the pulls F(psi) that it needs of each arm, and the round in which all K arms have them.

    ``likely_gap`` and ``sure_gap`` are the smallest gaps that it separates half of the time, and surely.
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
        """Return the epoch as plain values."""
        return vars(self) | {"likely_gap": self.likely_gap, "sure_gap": self.sure_gap}


@dataclass(frozen=True)
class DecisionTime:
    """The epoch and the round of a decision; the earliest and latest where instances or gammas vary."""

    epoch: int
    earliest: int
    latest: int
    horizon: int

    @property
    def in_time(self) -> bool:
        """Whether the latest round lies within the horizon."""
        return self.latest <= self.horizon

    def as_json(self) -> dict[str, Any]:
        """Return the epoch and the rounds as plain values."""
        return {"epoch": self.epoch, "earliest": self.earliest, "latest": self.latest, "in_time": self.in_time}


@dataclass(frozen=True)
class Reachability:
    """What the schedule and the theorems say about a gap and a horizon.

    ``epochs`` are those within the horizon and the next one.  ``likely`` and ``sure`` map a kind of teacher
    to the time of its decision; they are empty where the best arms are tied, because no epoch separates
    them.  ``sure`` has the kinds for which a round is proved with every requested gamma; ``unproved`` are the
    teachers of the other kinds for which no round is proved.  ``on_average``: clients act seldom or late, so
    the rounds are averages.
    """

    epochs: tuple[EpochReach, ...]
    likely: dict[str, DecisionTime]
    sure: dict[str, DecisionTime]
    unproved: tuple[Teacher, ...] = ()
    on_average: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the epochs and decision times as plain values."""
        return {
            "epochs": [epoch.as_json() for epoch in self.epochs],
            "likely": {kind: ending.as_json() for kind, ending in self.likely.items()},
            "sure": {kind: ending.as_json() for kind, ending in self.sure.items()},
            "unproved": [TEACHERS.label(teacher) for teacher in self.unproved],
            "on_average": self.on_average,
        }


def kind_of(spec: str) -> str:
    """Return the teacher's name without its parameters."""
    return spec.partition("(")[0]


def has_formula(teacher: Teacher) -> bool:
    """Whether the likely round of this teacher's decision is known."""
    return teacher.likely_pulls([1], lambda epoch: epoch) is not None


def epoch_for(gap: float, *, sure: bool) -> int:
    """Return the epoch that separates a gap above 0: psi_max if it is to be ``sure``, else the one before."""
    last = separating_epoch(min(1.0, gap))
    return last if sure else max(1, last - 1)


def rounds_per_pull(instance: Instance) -> float:
    """Return how many rounds the slowest client takes for a pull on average: 1 for the paper's clients."""
    real = instance.conditions
    activity = real.activity or (1.0,) * instance.num_clients
    delays = real.delays or (0,) * instance.num_clients
    return max(1.0 / share + delay for share, delay in zip(activity, delays, strict=True))


def likely_round(teacher: Teacher, instance: Instance, horizon: int) -> int:
    """Return the likely round of this teacher's decision, for clients that explore evenly.

    The teacher has a formula (:func:`has_formula`), and the instance one best arm.
    """
    gaps = [gap for arm, gap in enumerate(instance.gaps.tolist()) if arm != instance.best_arm]
    epochs = [epoch_for(gap, sure=False) for gap in gaps]
    weights = instance.weights.tolist()
    pulls = teacher.likely_pulls(epochs, lambda epoch: epoch_end(epoch, instance.num_arms, horizon, weights))
    return math.ceil((pulls or 0) * rounds_per_pull(instance))


def sure_round(teacher: Teacher, policies: Sequence[Policy], instance: Instance, horizon: int) -> int | None:
    """Return the round by which this teacher surely decides, as in ``tutelage bound``; None without a proof.

    Where clients act seldom or late, it is the round of clients that always act, times the rounds per pull.
    """
    if instance.conditions.stops or instance.conditions.shifts:
        return None
    steady = dataclasses.replace(instance, conditions=Conditions())
    end = learning_end(setting_of(steady, horizon), teacher, policies)
    return None if end is None else math.ceil(end * rounds_per_pull(instance))


def likely_horizon(teacher: Teacher, instance: Instance) -> int:
    """Return the shortest horizon for which the likely round of this teacher is in time."""
    return horizon_needed(lambda horizon: likely_round(teacher, instance, horizon))


def sure_horizon(teacher: Teacher, policies: Sequence[Policy], instance: Instance) -> int | None:
    """Return the shortest horizon within which this teacher surely decides; None if none is proved."""
    if not always_acts(instance) or sure_round(teacher, policies, instance, 1) is None:
        return None
    # That a round is proved does not depend on the horizon.
    return horizon_needed(lambda horizon: sure_round(teacher, policies, instance, horizon) or 0)


def compute_reachability(
    instances: Sequence[Instance], horizon: int, teachers: Sequence[Teacher], policies: Sequence[Policy]
) -> Reachability:
    """Compute what is known before any simulation.

    All instances have the same M, K, weights and smallest gap.
    """
    first = instances[0]
    epochs = [_epoch(first, horizon, 1)]
    while epochs[-1].in_time:
        epochs.append(_epoch(first, horizon, len(epochs) + 1))
    kinds: dict[str, list[Teacher]] = {}
    for teacher in teachers if first.min_gap > 0 else ():
        if has_formula(teacher):
            kinds.setdefault(kind_of(TEACHERS.spec(teacher)), []).append(teacher)
    likely, sure, unproved = {}, {}, []
    for kind, variants in kinds.items():
        rounds = [likely_round(variants[0], instance, horizon) for instance in instances]
        likely[kind] = _decision_time(first, rounds, horizon, sure=False)
        ends = {teacher: _sure_rounds(teacher, policies, instances, horizon) for teacher in variants}
        lacking = [teacher for teacher, found in ends.items() if not found]
        unproved += lacking
        if not lacking:
            sure[kind] = _decision_time(first, [*itertools.chain(*ends.values())], horizon, sure=True)
    return Reachability(tuple(epochs), likely, sure, tuple(unproved), rounds_per_pull(first) > 1)


def _sure_rounds(
    teacher: Teacher, policies: Sequence[Policy], instances: Sequence[Instance], horizon: int
) -> list[int]:
    """The sure round of each instance; empty if none is proved, which does not depend on the means."""
    found = [sure_round(teacher, policies, instance, horizon) for instance in instances]
    return [round for round in found if round is not None]


def _decision_time(instance: Instance, rounds: Sequence[int], horizon: int, *, sure: bool) -> DecisionTime:
    return DecisionTime(epoch_for(instance.min_gap, sure=sure), min(rounds), max(rounds), horizon)


def _epoch(instance: Instance, horizon: int, epoch: int) -> EpochReach:
    pulls = epoch_end(epoch, instance.num_arms, horizon, instance.weights.tolist())
    round = math.ceil(instance.num_arms * pulls * rounds_per_pull(instance))
    return EpochReach(epoch, pulls, round, round <= horizon)
