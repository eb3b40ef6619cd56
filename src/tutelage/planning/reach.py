"""Whether learning can end in time, in closed form: from the schedule of the epochs, and from the theorems.

An arm with gap D is told from the best one in epoch psi

- as likely as not, where 2 CB(psi) = 2^-(psi + 1) <= D: the two intervals, centred on the true means, part;
- surely (for all arms with probability at least 1 - 1/T), where 4 CB(psi) = 2^-psi <= D, the paper's psi_max.

So the likely epoch is the one before the sure one.  The likely round is that of clients that pull the active
arms evenly.  The sure round is that of ``tutelage bound``, which also knows how the clients explore
(:func:`tutelage.theory.learning_end`); where nothing is proved of them there is none.  Where clients act
seldom or late rounds are stretched by how long the slowest takes for a pull in the mean: then half of all
runs need a little more, and no round is sure.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tutelage.conditions import Conditions
from tutelage.instances.base import Instance
from tutelage.policies.base import Policy
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher
from tutelage.theory import always_acts, epoch_end, horizon_needed, learning_end, separating_epoch, setting_of


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
    """The epoch and the round of a decision.  Where instances or gammas vary, the earliest and the latest."""

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
    """What the schedule and the theorems say of a gap and a horizon.

    ``epochs`` are those within the horizon and the next one.  ``likely`` and ``sure`` map a kind of teacher
    to its ending; they are empty where the best arms are tied: no epoch tells them apart.  ``sure`` has the
    kinds of which a round is proved with every gamma that was asked for, ``unproved`` the teachers of the
    others of which none is.  ``in_mean``: the rounds are those of the mean, as clients act seldom or late.
    """

    epochs: tuple[Epoch, ...]
    likely: dict[str, Ending]
    sure: dict[str, Ending]
    unproved: tuple[Teacher, ...] = ()
    in_mean: bool = False

    def as_json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "epochs": [epoch.as_json() for epoch in self.epochs],
            "likely": {kind: ending.as_json() for kind, ending in self.likely.items()},
            "sure": {kind: ending.as_json() for kind, ending in self.sure.items()},
            "unproved": [TEACHERS.spec(teacher) for teacher in self.unproved],
            "in_mean": self.in_mean,
        }


def _all_at_once(epochs: Sequence[int], pulls: Callable[[int], int]) -> int:
    """Every arm is pulled until the last one is told; ``epochs`` has one entry an arm but the best."""
    return (len(epochs) + 1) * pulls(max(epochs))


def _one_by_one(epochs: Sequence[int], pulls: Callable[[int], int]) -> int:
    """An arm is pulled until its own epoch and never again, the best one until the last."""
    return sum(pulls(epoch) for epoch in epochs) + pulls(max(epochs))


# Kinds of teachers whose likely round is known in closed form.  TWL's clients go on to pull arms that are
# ruled out, the more the less gamma1 is above gamma2, and the most, as often as TAL's, where both are equal.
CLOSED = {"tal": _all_at_once, "twl": _one_by_one}


def kind_of(spec: str) -> str:
    """The teacher's name without its parameters."""
    return spec.partition("(")[0]


def epoch_for(gap: float, *, sure: bool) -> int:
    """The epoch that tells a gap above 0: psi_max if it is to be ``sure``, else the one before."""
    told = separating_epoch(min(1.0, gap))
    return told if sure else max(1, told - 1)


def rounds_per_pull(instance: Instance) -> float:
    """How many rounds the slowest client takes for a pull, in the mean: 1 for the paper's clients."""
    real = instance.conditions
    activity = real.activity or (1.0,) * instance.num_clients
    delays = real.delays or (0,) * instance.num_clients
    return max(1.0 / share + delay for share, delay in zip(activity, delays, strict=True))


def likely_round(kind: str, instance: Instance, horizon: int) -> int:
    """The round in which this kind of teacher decides as likely as not.

    Of clients that explore evenly.  The gaps are those of the instance (none 0).
    """
    gaps = [gap for arm, gap in enumerate(instance.gaps.tolist()) if arm != instance.best_arm]
    epochs = [epoch_for(gap, sure=False) for gap in gaps]
    weights = instance.weights.tolist()
    pulls = CLOSED[kind](epochs, lambda epoch: epoch_end(epoch, instance.num_arms, horizon, weights))
    return math.ceil(pulls * rounds_per_pull(instance))


def sure_round(teacher: Teacher, policies: Sequence[Policy], instance: Instance, horizon: int) -> int | None:
    """The round by which this teacher surely decides, as in ``tutelage bound``; None where none is proved.

    Where clients act seldom or late it is that of clients that always act, stretched like all rounds.
    """
    if instance.conditions.stops or instance.conditions.shifts:
        return None
    steady = dataclasses.replace(instance, conditions=Conditions())
    told = learning_end(setting_of(steady, horizon), teacher, policies)
    return None if told is None else math.ceil(told * rounds_per_pull(instance))


def likely_horizon(kind: str, instance: Instance) -> int:
    """The horizon from which on the likely round of this kind of teacher is in time."""
    return horizon_needed(lambda horizon: likely_round(kind, instance, horizon))


def sure_horizon(teacher: Teacher, policies: Sequence[Policy], instance: Instance) -> int | None:
    """The horizon from which on this teacher surely decides in time; None where that is not proved."""
    if not always_acts(instance) or sure_round(teacher, policies, instance, 1) is None:
        return None
    # That a round is proved does not depend on the horizon.
    return horizon_needed(lambda horizon: sure_round(teacher, policies, instance, horizon) or 0)


def reach(
    instances: Sequence[Instance], horizon: int, teachers: Sequence[Teacher], policies: Sequence[Policy]
) -> Reach:
    """What is known before anything is played; all instances have the same M, K, weights and smallest gap."""
    first = instances[0]
    epochs = [_epoch(first, horizon, 1)]
    while epochs[-1].in_time:
        epochs.append(_epoch(first, horizon, len(epochs) + 1))
    told = Reach(tuple(epochs), {}, {}, in_mean=rounds_per_pull(first) > 1)
    kinds: dict[str, list[Teacher]] = {}
    for teacher in teachers if first.min_gap > 0 else ():
        if kind_of(TEACHERS.spec(teacher)) in CLOSED:
            kinds.setdefault(kind_of(TEACHERS.spec(teacher)), []).append(teacher)
    for kind, asked in kinds.items():
        rounds = [likely_round(kind, instance, horizon) for instance in instances]
        ends = {teacher: _sure_rounds(teacher, policies, instances, horizon) for teacher in asked}
        unproved = tuple(teacher for teacher, found in ends.items() if not found)
        told.likely[kind] = _ending(first, rounds, horizon, sure=False)
        if not unproved:
            told.sure[kind] = _ending(first, [*itertools.chain(*ends.values())], horizon, sure=True)
        told = dataclasses.replace(told, unproved=told.unproved + unproved)
    return told


def _sure_rounds(
    teacher: Teacher, policies: Sequence[Policy], instances: Sequence[Instance], horizon: int
) -> list[int]:
    """Of each instance; none where that is not proved, which does not depend on the means."""
    found = [sure_round(teacher, policies, instance, horizon) for instance in instances]
    return [round for round in found if round is not None]


def _ending(instance: Instance, rounds: Sequence[int], horizon: int, *, sure: bool) -> Ending:
    return Ending(epoch_for(instance.min_gap, sure=sure), min(rounds), max(rounds), horizon)


def _epoch(instance: Instance, horizon: int, epoch: int) -> Epoch:
    pulls = epoch_end(epoch, instance.num_arms, horizon, instance.weights.tolist())
    round = math.ceil(instance.num_arms * pulls * rounds_per_pull(instance))
    return Epoch(epoch, pulls, round, round <= horizon)
