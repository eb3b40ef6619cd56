"""Search what would be enough where a teacher does not decide: a longer horizon, or a larger gap."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from tutelage.instances.base import Instance
from tutelage.planning.candidates import CandidateSimulator
from tutelage.planning.choice import Assessment, Choice, SelectionRule
from tutelage.planning.decision_times import (
    has_formula,
    kind_of,
    likely_horizon,
    likely_round,
    sure_horizon,
    sure_round,
)
from tutelage.policies.base import Policy
from tutelage.teachers.base import Teacher
from tutelage.teachers.tal import TAL
from tutelage.teachers.twl import TWL
from tutelage.theory import always_acts

CHECK_RUNS = 5  # of each trial
_TRIALS = 4  # of a horizon or a gap
_CHEAP = 50_000_000  # rounds x clients x runs of a trial: some seconds
_FINEST = 10  # the smallest gap tried is 1.25 x 2**-10
_LEAST_GAP = 0.01  # the first to try where the best arms are tied


@dataclass(frozen=True)
class Trial:
    """A horizon or a gap, and the share of ``runs`` that then decided on a best arm.

    ``decided`` is None where a simulation would take too long and it is proved that learning then ends.
    """

    value: float
    decided: float | None
    runs: int
    enough: bool


@dataclass(frozen=True)
class Remedy:
    """For a teacher that decides too seldom: a horizon and a gap that are enough (None: nothing to try)."""

    teacher: str
    horizon: Trial | None
    gap: Trial | None
    has_formula: bool

    def as_json(self) -> dict[str, Any]:
        """Return the remedy as plain values."""
        horizon, gap = (None if trial is None else vars(trial) for trial in (self.horizon, self.gap))
        return {"teacher": self.teacher, "horizon": horizon, "gap": gap}


def is_enough(trial: Trial | None) -> TypeGuard[Trial]:
    """Whether there is a trial, and enough of its runs decided."""
    return trial is not None and trial.enough


def find_failing(choice: Choice) -> tuple[Assessment, ...]:
    """Return one teacher of each kind that can learn but decided too seldom with all its parameters.

    It is the one that decided in most runs, then was consulted most often, then has the lowest score.
    """
    kinds: dict[str, list[Assessment]] = {}
    for each in choice.assessments:
        if each.can_learn:
            kinds.setdefault(kind_of(each.measurement.spec), []).append(each)
    least = choice.rule.min_decided
    return tuple(
        min(group, key=lambda each: (-each.measurement.decided, -each.measurement.consultations.mean(), each.score))
        for group in kinds.values()
        if all(each.measurement.decided < least for each in group)
    )


@dataclass(frozen=True)
class RemedySearch:
    """A search for one teacher: ``gap`` and ``horizon`` are those that were not enough.

    ``policies`` [M] are those of the clients.
    """

    candidates: CandidateSimulator
    teacher: Teacher
    policies: tuple[Policy, ...]
    gap: float
    horizon: int
    rule: SelectionRule

    def instances(self, gap: float) -> list[Instance]:
        """Return the instances of a trial."""
        case, seed = self.candidates.case, self.candidates.seed
        return [case.instance(gap, seed, run) for run in range(CHECK_RUNS if case.varied else 1)]

    def share_at(self, gap: float, horizon: int) -> float | None:
        """Simulate the share of runs that decide rightly; None if that would take too long."""
        if horizon * len(self.policies) * CHECK_RUNS > _CHEAP:
            return None
        (measurement,) = self.candidates.measure([self.teacher], gap, horizon, CHECK_RUNS)
        return measurement.decided_rightly


def find_remedy(search: RemedySearch, failed: Assessment) -> Remedy:
    """Try longer horizons and larger gaps, from the formula where there is one, else by doubling.

    What would take too long to simulate is reported only if it is proved.
    """
    return Remedy(
        teacher=failed.measurement.label,
        horizon=_first_enough(
            _horizons(search), lambda value: search.share_at(search.gap, int(value)), search.rule, _sure_horizon(search)
        ),
        gap=_first_enough(
            _gaps(search), lambda value: search.share_at(value, search.horizon), search.rule, _sure_gap(search)
        ),
        has_formula=has_formula(search.teacher),
    )


def _first_enough(
    values: Iterable[float], share: Callable[[float], float | None], rule: SelectionRule, proved: float | None
) -> Trial | None:
    """The first value that is enough, else the ``proved`` one, else the last one tried."""
    tried: Trial | None = None
    for value in itertools.islice(values, _TRIALS):
        decided = share(value)
        if decided is None:
            break
        tried = Trial(value, decided, CHECK_RUNS, enough=decided >= rule.min_decided)
        if tried.enough:
            return tried
    if proved is None or (tried is not None and tried.value >= proved):
        return tried
    return Trial(proved, None, 0, enough=True)


def _horizons(search: RemedySearch) -> Iterator[float]:
    if search.gap == 0:
        return  # no horizon separates tied arms
    horizon = search.horizon
    if not has_formula(search.teacher):
        yield from (horizon * 2**power for power in range(1, _TRIALS + 1))
        return
    likely = max(likely_horizon(search.teacher, each) for each in search.instances(search.gap))
    late = _sure_horizon(search) or 4 * likely  # an epoch is four times as long as the one before
    between = math.ceil(math.sqrt(likely * late))
    yield from (value for value in (likely, between, late) if value > horizon)
    yield from (max(late, horizon) * 2**power for power in range(1, _TRIALS + 1))


def _sure_horizon(search: RemedySearch) -> int | None:
    """The shortest horizon within which it surely decides; None if none is proved."""
    if search.gap == 0:
        return None
    teacher = _of_any_means(search)
    found = [sure_horizon(teacher, search.policies, each) for each in search.instances(search.gap)]
    return max((each for each in found if each is not None), default=None)


def _gaps(search: RemedySearch) -> Iterator[float]:
    most = search.candidates.case.most_gap
    larger = (max(search.gap, _LEAST_GAP / 2) * 2**power for power in itertools.count(1))
    if not has_formula(search.teacher):
        yield from itertools.takewhile(lambda value: value <= most, larger)
        return
    for value in _finer(search):
        rounds = (likely_round(search.teacher, each, search.horizon) for each in search.instances(value))
        if all(round <= search.horizon for round in rounds):
            yield value


def _finer(search: RemedySearch) -> Iterator[float]:
    """Gaps above the one that is not enough, in steps finer than the epochs'."""
    for power, part in itertools.product(range(_FINEST, 0, -1), (1.25, 1.5, 1.75)):
        if search.gap < part * 2.0**-power <= search.candidates.case.most_gap:
            yield part * 2.0**-power


def _sure_gap(search: RemedySearch) -> float | None:
    """The smallest of these gaps with which it surely decides in time; None if none is proved."""
    teacher = _of_any_means(search)
    for value in _finer(search):
        instances = search.instances(value)
        rounds = [sure_round(teacher, search.policies, each, search.horizon) for each in instances]
        if always_acts(instances[0]) and all(round is not None and round <= search.horizon for round in rounds):
            return value
    return None


def _of_any_means(search: RemedySearch) -> Teacher:
    """The teacher; where means vary TAL instead of TWL, whose round depends on them and is not later."""
    if search.candidates.case.varied and isinstance(search.teacher, TWL):
        first = search.instances(search.gap)[0]
        if sure_round(search.teacher, search.policies, first, search.horizon) is not None:
            return TAL(search.teacher.gamma1, search.teacher.gamma2)
    return search.teacher
