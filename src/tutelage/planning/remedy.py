"""What would do where learning does not end: a longer horizon, or a larger gap."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from tutelage.instances.base import Instance
from tutelage.planning.choice import Choice, Judged, Rule
from tutelage.planning.measure import Setting
from tutelage.planning.reach import CLOSED, kind_of, likely_horizon, likely_round, sure_horizon, sure_round
from tutelage.policies.base import Policy
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher
from tutelage.teachers.tal import TAL
from tutelage.teachers.twl import TWL
from tutelage.theory import always_acts

CHECK_RUNS = 5  # of each trial
_TRIALS = 4  # of a horizon or a gap
_CHEAP = 50_000_000  # rounds x clients x runs of a trial: some seconds
_FINEST = 10  # the least gap tried is 1.25 x 2**-10
_LEAST_GAP = 0.01  # the first to try where the best arms are tied


@dataclass(frozen=True)
class Trial:
    """A horizon or a gap, and the share of ``runs`` in which learning then ended, with the right target.

    ``ends`` is None where a simulation would take too long and it is proved that learning then ends.
    """

    value: float
    ends: float | None
    runs: int
    enough: bool


@dataclass(frozen=True)
class Remedy:
    """For one teacher that does not end: a horizon and a gap that do (None: nothing to try)."""

    teacher: str
    brief: str
    horizon: Trial | None
    gap: Trial | None

    def as_json(self) -> dict[str, Any]:
        """The remedy as plain values."""
        horizon, gap = (None if trial is None else vars(trial) for trial in (self.horizon, self.gap))
        return {"teacher": self.teacher, "horizon": horizon, "gap": gap}


def is_enough(trial: Trial | None) -> TypeGuard[Trial]:
    """Whether there is a trial, and learning ended in it."""
    return trial is not None and trial.enough


def failing(choice: Choice) -> tuple[Judged, ...]:
    """One of each kind of teacher that can learn but ended in too few runs, whatever its parameters.

    It is the one that came furthest: in most runs to the end, then to the highest epoch, then with the
    lowest score.
    """
    kinds: dict[str, list[Judged]] = {}
    for each in choice.judged:
        if each.can_learn:
            kinds.setdefault(kind_of(each.measured.spec), []).append(each)
    least = choice.rule.least_ends
    return tuple(
        min(group, key=lambda each: (-each.measured.ends, -each.measured.epochs.mean(), each.score))
        for group in kinds.values()
        if all(each.measured.ends < least for each in group)
    )


@dataclass(frozen=True)
class Remedying:
    """What is looked for: ``policies`` [M] are the clients', ``gap`` and ``horizon`` those that do not do."""

    setting: Setting
    teacher: Teacher
    policies: tuple[Policy, ...]
    gap: float
    horizon: int
    rule: Rule

    @property
    def kind(self) -> str:
        return kind_of(TEACHERS.spec(self.teacher))

    def instances(self, gap: float) -> list[Instance]:
        """Those of a trial."""
        case, seed = self.setting.case, self.setting.seed
        return [case.instance(gap, seed, run) for run in range(CHECK_RUNS if case.varied else 1)]

    def share_at(self, gap: float, horizon: int) -> float | None:
        """The share of runs in which it decides rightly; None where that takes too long to be simulated."""
        if horizon * len(self.policies) * CHECK_RUNS > _CHEAP:
            return None
        (measured,) = self.setting.measure([self.teacher], gap, horizon, CHECK_RUNS)
        return measured.ends - float(measured.wrong.mean())


def remedy(
    setting: Setting, failed: Judged, policies: Sequence[Policy], gap: float, horizon: int, rule: Rule
) -> Remedy:
    """Try longer horizons and larger gaps, from the closed form where there is one, else by doubling.

    What takes too long to be simulated is said only where it is proved.
    """
    asked = Remedying(setting, failed.measured.teacher, tuple(policies), gap, horizon, rule)
    return Remedy(
        teacher=failed.measured.spec,
        brief=failed.measured.brief,
        horizon=_first(
            _horizons(asked), lambda value: asked.share_at(gap, int(value)), rule, _sure_horizon(asked)
        ),
        gap=_first(_gaps(asked), lambda value: asked.share_at(value, horizon), rule, _sure_gap(asked)),
    )


def _first(
    values: Iterable[float], share: Callable[[float], float | None], rule: Rule, proved: float | None
) -> Trial | None:
    """The first value that does, else what is ``proved`` to do, else the last one tried."""
    tried: Trial | None = None
    for value in itertools.islice(values, _TRIALS):
        ends = share(value)
        if ends is None:
            break
        tried = Trial(value, ends, CHECK_RUNS, enough=ends >= rule.least_ends)
        if tried.enough:
            return tried
    if proved is None or (tried is not None and tried.value >= proved):
        return tried
    return Trial(proved, None, 0, enough=True)


def _horizons(asked: Remedying) -> Iterator[float]:
    if asked.gap == 0:
        return  # no horizon tells tied arms apart
    horizon = asked.horizon
    if asked.kind not in CLOSED:
        yield from (horizon * 2**power for power in range(1, _TRIALS + 1))
        return
    likely = max(likely_horizon(asked.kind, each) for each in asked.instances(asked.gap))
    late = _sure_horizon(asked) or 4 * likely  # an epoch is four times as long as the one before
    between = math.ceil(math.sqrt(likely * late))
    yield from (value for value in (likely, between, late) if value > horizon)
    yield from (max(late, horizon) * 2**power for power in range(1, _TRIALS + 1))


def _sure_horizon(asked: Remedying) -> int | None:
    """The horizon from which on it surely decides in time; None where that is not proved."""
    if asked.gap == 0:
        return None
    teacher = _of_any_means(asked)
    found = [sure_horizon(teacher, asked.policies, each) for each in asked.instances(asked.gap)]
    return max((each for each in found if each is not None), default=None)


def _gaps(asked: Remedying) -> Iterator[float]:
    most = asked.setting.case.most_gap
    larger = (max(asked.gap, _LEAST_GAP / 2) * 2**power for power in itertools.count(1))
    if asked.kind not in CLOSED:
        yield from itertools.takewhile(lambda value: value <= most, larger)
        return
    for value in _finer(asked):
        rounds = (likely_round(asked.kind, each, asked.horizon) for each in asked.instances(value))
        if all(round <= asked.horizon for round in rounds):
            yield value


def _finer(asked: Remedying) -> Iterator[float]:
    """Gaps above the one that does not do, in steps finer than the epochs'."""
    for power, part in itertools.product(range(_FINEST, 0, -1), (1.25, 1.5, 1.75)):
        if asked.gap < part * 2.0**-power <= asked.setting.case.most_gap:
            yield part * 2.0**-power


def _sure_gap(asked: Remedying) -> float | None:
    """The least of these gaps with which it surely decides in time; None where that is not proved."""
    teacher = _of_any_means(asked)
    for value in _finer(asked):
        instances = asked.instances(value)
        rounds = [sure_round(teacher, asked.policies, each, asked.horizon) for each in instances]
        if always_acts(instances[0]) and all(
            round is not None and round <= asked.horizon for round in rounds
        ):
            return value
    return None


def _of_any_means(asked: Remedying) -> Teacher:
    """The teacher; where means vary TAL for TWL, whose round depends on them and is no later."""
    if asked.setting.case.varied and isinstance(asked.teacher, TWL):
        proved = sure_round(asked.teacher, asked.policies, asked.instances(asked.gap)[0], asked.horizon)
        return asked.teacher if proved is None else TAL(asked.teacher.gamma1, asked.teacher.gamma2)
    return asked.teacher
