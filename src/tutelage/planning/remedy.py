"""What would do where learning does not end: a longer horizon, or a larger gap."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from tutelage.planning.choice import Choice, Judged, Rule
from tutelage.planning.measure import Setting
from tutelage.planning.reach import CLOSED, horizon_for, round_of

CHECK_RUNS = 5  # of each trial
_TRIALS = 4  # of a horizon or a gap
_CHEAP = 50_000_000  # rounds x clients x runs of a trial: some seconds
_FINEST = 10  # the least gap tried is 1.25 x 2**-10
_LEAST_GAP = 0.01  # the first to try where the best arms are tied


@dataclass(frozen=True)
class Trial:
    """A horizon or a gap, and the share of ``runs`` in which learning then ended, with the right target.

    ``ends`` is None where a simulation would take too long and only the closed form says so.
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


def kind_of(spec: str) -> str:
    """The teacher's name without its parameters."""
    return spec.partition("(")[0]


def remedy(setting: Setting, failed: Judged, gap: float, horizon: int, rule: Rule) -> Remedy:
    """Try longer horizons and larger gaps, from the closed form where there is one, else by doubling."""

    def share_at(gap: float, horizon: int) -> float | None:
        cheap = horizon * setting.case.instance(gap, setting.seed, 0).num_clients * CHECK_RUNS <= _CHEAP
        if not cheap:
            return None
        (measured,) = setting.measure([failed.measured.teacher], gap, horizon, CHECK_RUNS)
        return measured.ends - float(measured.wrong.mean())

    kind = kind_of(failed.measured.spec)
    horizons, gaps = _horizons(setting, kind, gap, horizon), _gaps(setting, kind, gap, horizon)
    return Remedy(
        teacher=failed.measured.spec,
        brief=failed.measured.brief,
        horizon=_first(horizons, lambda value: share_at(gap, int(value)), rule, known=kind in CLOSED),
        gap=_first(gaps, lambda value: share_at(value, horizon), rule, known=kind in CLOSED),
    )


def _first(
    values: Iterable[float], share: Callable[[float], float | None], rule: Rule, *, known: bool
) -> Trial | None:
    """The first value that does, else the last one tried; what is too dear is trusted if ``known``."""
    tried: Trial | None = None
    for value in itertools.islice(values, _TRIALS):
        ends = share(value)
        if ends is None:
            return Trial(value, None, 0, enough=True) if known and tried is None else tried
        tried = Trial(value, ends, CHECK_RUNS, enough=ends >= rule.least_ends)
        if tried.enough:
            break
    return tried


def _horizons(setting: Setting, kind: str, gap: float, horizon: int) -> Iterator[float]:
    if gap == 0:
        return  # no horizon tells tied arms apart
    if kind not in CLOSED:
        yield from (horizon * 2**power for power in range(1, _TRIALS + 1))
        return
    instances = [setting.case.instance(gap, setting.seed, run) for run in range(_instances(setting))]
    likely, sure = (max(horizon_for(kind, each, sure=sure) for each in instances) for sure in (False, True))
    between = math.ceil(math.sqrt(likely * sure))
    yield from (value for value in (likely, between, sure) if value > horizon)
    yield from (max(sure, horizon) * 2**power for power in range(1, _TRIALS + 1))


def _gaps(setting: Setting, kind: str, gap: float, horizon: int) -> Iterator[float]:
    most = setting.case.most_gap
    larger = (max(gap, _LEAST_GAP / 2) * 2**power for power in itertools.count(1))
    candidates = itertools.takewhile(lambda value: value <= most, larger)
    if kind not in CLOSED:
        yield from candidates
        return
    finer = (part * 2.0**-power for power in range(_FINEST, 0, -1) for part in (1.25, 1.5, 1.75))
    for value in finer:
        if gap < value <= most and _likely_in_time(setting, kind, value, horizon):
            yield value


def _likely_in_time(setting: Setting, kind: str, gap: float, horizon: int) -> bool:
    instances = (setting.case.instance(gap, setting.seed, run) for run in range(_instances(setting)))
    return all(round_of(kind, each, horizon, sure=False) <= horizon for each in instances)


def _instances(setting: Setting) -> int:
    return CHECK_RUNS if setting.case.varied else 1
