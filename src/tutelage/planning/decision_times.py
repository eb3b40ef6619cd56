"""Whether learning can end in time, from formulas: the schedule of the epochs, and the theorems.

Epoch psi separates an arm with gap D from the best one

- half of the time where 2 CB(psi) = 2^-(psi + 1) = D: the two intervals, centred on the true means, then just
  do not overlap;
- surely (for all arms with probability at least 1 - 1/T) where 4 CB(psi) = 2^-psi <= D, the paper's psi_max.

A decision needs all arms: several that one epoch separates half of the time each are rarely separated together.
The likely epoch is the first by which at least half of all runs have decided
(:class:`tutelage.teachers.separation.Separation`): in one epoch with probability
E prod_k Phi((Delta_k - 2 CB + Z sigma_dagger) / sigma_k), Z standard normal and sigma_k^2 = sum w^2 Var(X_k) / f(psi);
under TWL by the arms that all epochs so far have ruled out.  The likely round is that of clients that pull the
active arms evenly.  The sure round is that of ``tutelage bound``, which also depends on how the clients explore
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

import numpy as np

from tutelage.conditions import Conditions
from tutelage.distributions.base import reward_variances
from tutelage.instances.base import Instance
from tutelage.policies.base import Policy
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher
from tutelage.teachers.separation import Separation
from tutelage.theory import always_acts, epoch_end, horizon_needed, learning_end, separating_epoch, setting_of


@dataclass(frozen=True)
class EpochReach:
    """One epoch: the pulls F(psi) that it needs of each arm, and the round in which all K arms have them.

    ``likely_gap`` is the smallest gap for which it separates one arm from the best half of the time, ``sure_gap``
    the smallest that it separates surely.
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
    return type(teacher).likely_decision is not Teacher.likely_decision


def rounds_per_pull(instance: Instance) -> float:
    """Return how many rounds the slowest client takes for a pull on average: 1 for the paper's clients."""
    real = instance.conditions
    activity = real.activity or (1.0,) * instance.num_clients
    delays = real.delays or (0,) * instance.num_clients
    return max(1.0 / share + delay for share, delay in zip(activity, delays, strict=True))


def likely_decision(teacher: Teacher, instance: Instance, horizon: int) -> tuple[int, int]:
    """Return the epoch and the round by which half of all runs decide, for clients that explore evenly.

    The teacher has a formula (:func:`has_formula`), and the instance one best arm.
    """
    others = np.arange(instance.num_arms) != instance.best_arm
    variances = instance.weights**2 @ reward_variances(instance.rewards, instance.reward_arrays())
    separation = Separation(
        gaps=instance.gaps[others],
        variances=variances[others],
        best_variance=float(variances[instance.best_arm]),
        horizon=horizon,
        weights=tuple(instance.weights.tolist()),
    )
    epoch, pulls = teacher.likely_decision(separation) or (0, 0)
    return epoch, math.ceil(pulls * rounds_per_pull(instance))


def likely_round(teacher: Teacher, instance: Instance, horizon: int) -> int:
    """Return the round of :func:`likely_decision`."""
    return likely_decision(teacher, instance, horizon)[1]


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
    """Return a horizon, nearly always the shortest, for which the likely round of this teacher is in time.

    A longer horizon has longer epochs, so that fewer of them may be likely to suffice.
    """
    horizon = horizon_needed(lambda horizon: likely_round(teacher, instance, horizon))
    while (needed := likely_round(teacher, instance, horizon)) > horizon:
        horizon = needed
    return horizon


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
    listed = [_epoch(first, horizon, 1)]
    while listed[-1].in_time:
        listed.append(_epoch(first, horizon, len(listed) + 1))
    kinds: dict[str, list[Teacher]] = {}
    for teacher in teachers if first.min_gap > 0 else ():
        if has_formula(teacher):
            kinds.setdefault(kind_of(TEACHERS.spec(teacher)), []).append(teacher)
    likely, sure, unproved = {}, {}, []
    for kind, variants in kinds.items():
        epochs, rounds = zip(*(likely_decision(variants[0], each, horizon) for each in instances), strict=True)
        likely[kind] = DecisionTime(max(epochs), min(rounds), max(rounds), horizon)
        ends = {teacher: _sure_rounds(teacher, policies, instances, horizon) for teacher in variants}
        lacking = [teacher for teacher, found in ends.items() if not found]
        unproved += lacking
        if not lacking:
            latest = [*itertools.chain(*ends.values())]
            epoch = separating_epoch(min(1.0, first.min_gap))
            sure[kind] = DecisionTime(epoch, min(latest), max(latest), horizon)
    return Reachability(tuple(listed), likely, sure, tuple(unproved), rounds_per_pull(first) > 1)


def _sure_rounds(
    teacher: Teacher, policies: Sequence[Policy], instances: Sequence[Instance], horizon: int
) -> list[int]:
    """The sure round of each instance; empty if none is proved, which does not depend on the means."""
    found = [sure_round(teacher, policies, instance, horizon) for instance in instances]
    return [round for round in found if round is not None]


def _epoch(instance: Instance, horizon: int, epoch: int) -> EpochReach:
    pulls = epoch_end(epoch, instance.num_arms, horizon, instance.weights.tolist())
    round = math.ceil(instance.num_arms * pulls * rounds_per_pull(instance))
    return EpochReach(epoch, pulls, round, round <= horizon)
