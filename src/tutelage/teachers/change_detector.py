"""Detect that a decision no longer holds by testing the target's rewards, and restart."""

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.random import SFC64, Generator
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.registry import parameter
from tutelage.teachers.base import Directive, Evidence, Problem, Quota, Report, Teacher, decode_state, encode_state
from tutelage.teachers.families.weights import remaining_weights

Array = NDArray[np.float64]
_STAKES = 2.0 ** (-np.arange(10) / 2.0)
_LEAST, _MOST = 0.01, 0.99


@dataclass(frozen=True, eq=False)
class ChangeDetectorState:
    """State of the inner teacher and of the test of its decision.

    ``inner`` is the inner teacher's state as JSON.  ``totals[k]`` is float64 [segments of arm k + 1, M]: the
    sum of observed rewards up to each cut since the last restart; ``handed`` [K] is the number of its own
    segments that the inner teacher has received; ``consultations`` counts those of this teacher.  After a
    decision ``mark`` is the lower confidence bound that the best other arm had then, ``alarms`` [G] is the
    test statistic of each stake, and ``tested`` the number of the target's segments in it.  ``doubtful``: the
    decision no longer holds, and the teacher does not restart.
    """

    problem: Problem
    inner: str
    totals: tuple[Array, ...]
    handed: tuple[int, ...]
    inner_seed: int
    mark: float | None = None
    alarms: tuple[float, ...] = ()
    tested: int = 0
    restarts: int = 0
    doubtful: bool = False
    excluded: tuple[int, ...] = ()
    consultations: int = 0


@dataclass(frozen=True)
class ChangeDetector(Teacher):
    """Change detector: tests the decision of another teacher and restarts it when the target gets worse.

    After the decision the target's true rewards are revealed, so that observing its mean costs nothing.  The
    test is a Shiryaev-Roberts sum of betting martingales against "the target's mean is at least the lower
    confidence bound of another arm": while that is true, the mean of the sum after n steps is at most n, so
    (Doob) it reaches y times the number of steps with probability at most 1/y.  The lower confidence bound is
    Hoeffding's at every cut at once (:func:`mark_radius`), from all evidence before the decision, because the
    decision chooses the cut.

    In the start after r restarts with e clients excluded the bound and the alarm fail with probability at most
    1 / (2 T (r + 1) (r + 2) M^e) each, which sums to 1/T over all starts; the inner teacher's risk of a wrong
    target is 1 / (T (r + 1) (r + 2)), which does so too.  Without ``restart`` there is one start, and the
    factor (r + 1) (r + 2) is 1.
    """

    teacher: str = parameter("twl", help="SPEC of the teacher whose decision is tested, in quotes if it has arguments")
    restart: bool = parameter(True, help="whether to restart learning when the decision no longer holds")
    growth: float = parameter(0.02, help="relative growth of the steps of the test", above=0)

    state_type: ClassVar[type] = ChangeDetectorState

    def __post_init__(self) -> None:
        super().__post_init__()
        for is_refused, reason in (
            (isinstance(self._inner, ChangeDetector), "use a teacher that is not itself a change-detector"),
            (self._inner.dependence is not None, "its own test assumes independent clients, so leave out dependence"),
            (self._inner.risk is not None, "its own test needs the horizon, so leave out risk"),
        ):
            if is_refused:
                raise InputError(f"Invalid teacher={self.teacher!r} of change-detector: {reason}.")

    @functools.cached_property
    def _inner(self) -> Teacher:
        from tutelage.teachers import TEACHERS

        return TEACHERS.parse(self.teacher)

    @property
    def needs_best_arm(self) -> bool:
        return self._inner.needs_best_arm

    @property
    def simulation_only(self) -> bool:
        return self._inner.simulation_only

    @property
    def decides(self) -> bool:
        return self._inner.decides

    def error_bound(self, problem: Problem) -> str:
        """That of the inner teacher, whose risks in all starts sum to 1/T."""
        return self._inner.error_bound(problem)

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """Return the cuts of the inner teacher and of the test: 1, 2, 3, ..., growing by ``growth``."""
        cuts, cut = set(self._inner.segments(problem)), 1
        while cut <= problem.horizon:
            cuts.add(cut)
            cut += max(1, math.floor(self.growth * cut))
        return tuple(sorted(cuts))

    def begin(self, problem: Problem, generator: Generator) -> ChangeDetectorState:
        """Start the inner teacher."""
        inner_seed = int(generator.bit_generator.random_raw() % 2**53)
        return self._begin(problem, inner_seed, restarts=0, excluded=())

    def _begin(
        self, problem: Problem, inner_seed: int, restarts: int, excluded: tuple[int, ...]
    ) -> ChangeDetectorState:
        shared = replace(problem, risk_divisor=problem.risk_divisor * self._risk_divisor(restarts))
        inner = self._inner.begin(shared, Generator(SFC64([inner_seed, restarts])))
        for client in excluded:
            inner = self._inner.exclude(inner, client)
        return ChangeDetectorState(
            problem,
            inner=encode_state(inner),
            totals=tuple(np.zeros((1, problem.num_clients)) for _ in range(problem.num_arms)),
            handed=(0,) * problem.num_arms,
            inner_seed=inner_seed,
            restarts=restarts,
            excluded=excluded,
        )

    def directive(self, state: ChangeDetectorState) -> Directive:
        """Return the inner teacher's directive, after its decision with a quota on the target."""
        inner = self._inner.directive(self._inner_state(state))
        if inner.target is None or inner.quota is not None or state.doubtful:
            return replace(inner, restarts=state.restarts)
        cuts = self.segments(state.problem)
        done = len(state.totals[inner.target]) - 1
        counts = [0] * state.problem.num_arms
        counts[inner.target] = cuts[done] if done < len(cuts) else 0
        quota = Quota(tuple(counts)) if any(counts) else None
        return replace(inner, quota=quota, restarts=state.restarts)

    def advance(self, state: ChangeDetectorState, evidence: Evidence) -> ChangeDetectorState:
        """Advance the inner teacher while it learns; test the target afterwards."""
        totals = tuple(
            np.concatenate((old, old[-1] + np.cumsum(new, axis=0))) if len(new) else old
            for old, new in zip(state.totals, evidence.sums, strict=True)
        )
        state = replace(state, totals=totals, consultations=state.consultations + 1)
        if self._inner.directive(self._inner_state(state)).target is None:
            return self._learn(state)
        return self._test(state)

    def exclude(self, state: ChangeDetectorState, client: int) -> ChangeDetectorState:
        """Exclude the client from the inner teacher, and restart the test of a decision."""
        inner = self._inner.exclude(self._inner_state(state), client)
        excluded = tuple(sorted((*state.excluded, client)))
        state = replace(state, inner=encode_state(inner), excluded=excluded, mark=None, alarms=(), doubtful=False)
        return self._mark(state)

    def report(self, state: ChangeDetectorState) -> Report:
        """Report the inner teacher's progress, whether its decision holds, and the number of restarts."""
        report = self._inner.report(self._inner_state(state))
        sentence = report.sentence
        if state.doubtful:
            sentence += "; the decision no longer holds"
        if state.restarts:
            sentence += f"; restarted {state.restarts} times" if state.restarts > 1 else "; restarted once"
        return replace(report, consultations=state.consultations, sentence=sentence)

    def _risk_divisor(self, restarts: int) -> int:
        """Return (r + 1) (r + 2), whose inverses sum to 1 over all starts; 1 if there is one start."""
        return (restarts + 1) * (restarts + 2) if self.restart else 1

    def _inverse_risk(self, state: ChangeDetectorState) -> int:
        """Return 2 T (r + 1) (r + 2) M^e, the inverse of the risk of the mark, and of the alarm."""
        problem = state.problem
        choices: int = problem.num_clients ** len(state.excluded)
        return 2 * problem.horizon * problem.risk_divisor * self._risk_divisor(state.restarts) * choices

    def _inner_state(self, state: ChangeDetectorState) -> Any:
        return decode_state(self._inner, state.inner)

    def _learn(self, state: ChangeDetectorState) -> ChangeDetectorState:
        """Give the inner teacher its own segments that have become complete."""
        cuts = self.segments(state.problem)
        place = {count: position for position, count in enumerate((0, *cuts))}
        ends = np.array([place[count] for count in (0, *self._inner.segments(state.problem))])
        sums, handed = [], []
        for totals, first in zip(state.totals, state.handed, strict=True):
            last = int(np.searchsorted(ends, len(totals) - 1, side="right")) - 1
            sums.append(np.diff(totals[ends[first : last + 1]], axis=0))
            handed.append(last)
        inner = self._inner.advance(self._inner_state(state), Evidence(tuple(sums)))
        return self._mark(replace(state, inner=encode_state(inner), handed=tuple(handed)))

    def _mark(self, state: ChangeDetectorState) -> ChangeDetectorState:
        """If the inner teacher has decided, set the mark and start the test."""
        target = self._inner.directive(self._inner_state(state)).target
        if target is None or state.mark is not None:
            return state
        problem, cuts = state.problem, self.segments(state.problem)
        weights = remaining_weights(problem.weights, state.excluded)
        lower_bounds = [0.0]
        for arm, totals in enumerate(state.totals):
            done = len(totals) - 1
            if arm != target and done > 0:
                risk = self._inverse_risk(state) * problem.num_arms
                radius = mark_radius(weights, cuts[done - 1], len(cuts), risk)
                lower_bounds.append(float(np.dot(weights, totals[done])) / cuts[done - 1] - radius)
        tested = len(state.totals[target]) - 1
        return replace(state, mark=max(lower_bounds), alarms=(0.0,) * len(_STAKES), tested=tested)

    def _test(self, state: ChangeDetectorState) -> ChangeDetectorState:
        """Update the test statistic with every new segment of the target."""
        state = self._mark(state)
        target = self._inner.directive(self._inner_state(state)).target
        if target is None or state.mark is None:
            return state
        totals, counts = state.totals[target], np.array((0, *self.segments(state.problem)))
        weights = remaining_weights(state.problem.weights, state.excluded)
        alarms = np.array(state.alarms)
        for segment in range(state.tested, len(totals) - 1):
            means = (totals[segment] + 0.5) / (counts[segment] + 1.0)
            won, length = totals[segment + 1] - totals[segment], counts[segment + 1] - counts[segment]
            alarms = (1.0 + alarms) * np.exp(_log_gain(means, won, int(length), weights, state.mark))
        alarms = np.minimum(alarms, _LARGEST)
        state = replace(state, alarms=tuple(alarms.tolist()), tested=len(totals) - 1)
        if float(np.mean(alarms)) < self._inverse_risk(state) * (counts.size - 1):
            return state
        if self.restart:
            fresh = self._begin(state.problem, state.inner_seed, state.restarts + 1, state.excluded)
            return replace(fresh, consultations=state.consultations)
        return replace(state, doubtful=True)


_LARGEST = 1e300


def mark_radius(weights: Array, pulls: int, num_cuts: int, inverse_risk: int) -> float:
    """sqrt(sum w^2 / (2 n) log(J / risk)): how far an arm's estimate may exceed its mean at one of J cuts.

    Hoeffding's inequality at each of the cuts: at the one that the decision chooses, n = ``pulls``, the
    estimate exceeds the mean by this much with probability at most 1 / ``inverse_risk``.
    """
    return math.sqrt(math.fsum(weight**2 for weight in weights) / (2 * pulls) * math.log(num_cuts * inverse_risk))


def _log_gain(means: Array, won: Array, length: int, weights: Array, mark: float) -> Array:
    """Compute what a segment adds to the log of each stake's bet on a target mean below ``mark``, [G].

    The bet multiplies 1 - b (X - c) over the pulls, with b the stake times M w_m; its mean is at most 1 if
    sum w mu >= sum w c (inequality of arithmetic and geometric means), and sum w c is at most the mark.  The
    predictions c are the clients' means so far, lowered to that sum.
    """
    predictions = _lowered(means, weights, mark)
    if predictions is None:
        return np.zeros(len(_STAKES))
    units = np.count_nonzero(weights) * weights
    bets = (_STAKES / max(1.0, float(units.max())))[:, None] * units
    lost = length - won
    gains = won * np.log1p(-bets * (1.0 - predictions)) + lost * np.log1p(bets * predictions)
    return np.asarray(np.add.reduce(gains, axis=1))


def _lowered(means: Array, weights: Array, mark: float) -> Array | None:
    """clip(means - x) [M] with the smallest x >= 0 for a weighted sum of at most ``mark``, or None."""
    low, high = 0.0, 1.0

    def at(x: float) -> Array:
        return np.minimum(np.maximum(means - x, _LEAST), _MOST)

    if float(weights @ at(high)) > mark:
        return None
    if float(weights @ at(low)) <= mark:
        return at(low)
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (low, middle) if float(weights @ at(middle)) <= mark else (middle, high)
    return at(high)
