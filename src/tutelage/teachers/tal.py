"""Teaching-After-Learning (Shi et al., Alg. 1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from numpy.random import Generator

from tutelage.registry import parameter, write_value
from tutelage.rules import KEEP, Rule, Set
from tutelage.teachers.base import (
    Directive,
    Evidence,
    Problem,
    Report,
    Style,
    Teacher,
    error_probability,
)
from tutelage.teachers.families.intervals import (
    Intervals,
    SegmentSums,
    append_segments,
    compute_intervals,
    exclude_client,
    has_epoch,
    is_reachable,
    no_intervals,
    no_sums,
    quota_of,
    schedule_of,
)

_STYLES = {(1.0, 0.0): Style("#0072b2", "circle"), (0.0, 0.0): Style("#3fa2dc", "square", (4.0, 1.5))}


@dataclass(frozen=True, eq=False)
class TalState:
    """Epoch psi, counted from 1; the target is None in the learning phase (F = 1 in Alg. 1)."""

    problem: Problem
    segment_sums: SegmentSums
    intervals: Intervals
    epoch: int = 1
    target: int | None = None


@dataclass(frozen=True)
class TAL(Teacher):
    """Teaching-After-Learning: reveals gamma1 until one arm is the best, then gamma2 for all others."""

    gamma1: float = parameter(1.0, help="reward revealed for every arm while learning", minimum=0, maximum=1)
    gamma2: float = parameter(
        0.0, help="reward revealed for every arm except the target afterwards", minimum=0, maximum=1
    )

    state_type: ClassVar[type] = TalState
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({}, {"gamma1": 0.0, "gamma2": 0.0})

    @property
    def label(self) -> str:
        """``TAL(1,0)``, as in the paper."""
        return f"TAL({write_value(self.gamma1)},{write_value(self.gamma2)})"

    @property
    def style(self) -> Style | None:
        return _STYLES.get((self.gamma1, self.gamma2))

    def error_bound(self, problem: Problem) -> str:
        """Shi et al., Lemma tal_good_event."""
        return f"Wrong with probability at most {error_probability(problem)}."

    def likely_pulls(self, epochs: Sequence[int], pulls: Callable[[int], int]) -> int:
        """Every arm is pulled until the last one is separated."""
        return (len(epochs) + 1) * pulls(max(epochs))

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """Return the ends F(1), F(2), ... of the epochs within the horizon."""
        return schedule_of(problem).ends

    def begin(self, problem: Problem, generator: Generator) -> TalState:
        """Alg. 1, line 1."""
        return TalState(problem, no_sums(problem), no_intervals(problem.num_arms))

    def directive(self, state: TalState) -> Directive:
        """Alg. 1, lines 11 and 12."""
        arms = tuple(range(state.problem.num_arms))
        if state.target is None:
            quota = quota_of(state.problem, state.epoch, arms)
            return Directive((Set(self.gamma1),) * len(arms), quota, arms)
        rules: list[Rule] = [Set(self.gamma2)] * len(arms)
        rules[state.target] = KEEP
        return Directive(tuple(rules), None, (state.target,), target=state.target)

    def advance(self, state: TalState, evidence: Evidence) -> TalState:
        """Alg. 1, lines 4 to 10."""
        return _decide(replace(state, segment_sums=append_segments(state.segment_sums, evidence)))

    def exclude(self, state: TalState, client: int) -> TalState:
        """Repeat the stored epochs with the other clients' sums; a decision may be withdrawn."""
        problem = state.problem
        segment_sums = exclude_client(state.segment_sums, client, problem)
        state = TalState(problem, segment_sums, no_intervals(problem.num_arms))
        while state.target is None and has_epoch(segment_sums, state.epoch, tuple(range(problem.num_arms))):
            state = _decide(state)
        return state

    def report(self, state: TalState) -> Report:
        """Report the epoch and its intervals."""
        arms = tuple(range(state.problem.num_arms))
        reachable = state.target is not None or is_reachable(state.problem, state.epoch, arms)
        if state.target is not None:
            sentence = f"decided for arm {state.target} in epoch {state.epoch}"
        elif reachable:
            sentence = f"learning, epoch {state.epoch}"
        else:
            sentence = f"epoch {state.epoch} needs more pulls than the horizon allows: no decision"
        active = arms if state.target is None else (state.target,)
        intervals = state.intervals
        return Report(
            state.epoch, active, state.target, intervals.lower, intervals.upper, reachable, sentence
        )


def _decide(state: TalState) -> TalState:
    """Alg. 1, lines 5 to 8: the first arm whose LCB is at least every other arm's UCB is the target."""
    arms = tuple(range(state.problem.num_arms))
    if state.target is not None or not has_epoch(state.segment_sums, state.epoch, arms):
        return state
    intervals = compute_intervals(state.problem, state.segment_sums, state.epoch, arms)
    for arm in arms:
        lower = intervals.lower[arm]
        uppers = [upper for other, upper in enumerate(intervals.upper) if other != arm]
        if lower is not None and all(upper is not None and lower >= upper for upper in uppers):
            return replace(state, intervals=intervals, target=arm)
    return replace(state, intervals=intervals, epoch=state.epoch + 1)
