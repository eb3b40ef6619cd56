"""Teaching-While-Learning (Shi et al., Alg. 2)."""

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


@dataclass(frozen=True, eq=False)
class TwlState:
    """Epoch psi, counted from 1, and the active arms (Upsilon in Alg. 2), ascending."""

    problem: Problem
    segment_sums: SegmentSums
    intervals: Intervals
    active_arms: tuple[int, ...]
    epoch: int = 1


@dataclass(frozen=True)
class TWL(Teacher):
    """Teaching-While-Learning: reveals gamma1 for active arms and gamma2 for others until one is left."""

    gamma1: float = parameter(
        1.0, help="reward revealed for active arms while there are several", minimum=0, maximum=1
    )
    gamma2: float = parameter(0.0, help="reward revealed for arms that are ruled out", minimum=0, maximum=1)

    state_type: ClassVar[type] = TwlState
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    likely_caveat: ClassVar[str] = "assumes clients that stop pulling an arm once it is ruled out"

    @property
    def label(self) -> str:
        """``TWL(1,0)``, as in the paper."""
        return f"TWL({write_value(self.gamma1)},{write_value(self.gamma2)})"

    @property
    def style(self) -> Style | None:
        return Style("#d55e00", "triangle") if self == TWL() else None

    def error_bound(self, problem: Problem) -> str:
        """Shi et al., Lemma twl_arm_elim."""
        return f"Wrong with probability at most {error_probability(problem)}."

    def likely_pulls(self, epochs: Sequence[int], pulls: Callable[[int], int]) -> int:
        """An arm is pulled until its own epoch and never again, the best one until the last epoch.

        Clients do pull arms that are ruled out: the more, the less gamma1 is above gamma2, and as often as
        under TAL where both are equal.
        """
        return sum(pulls(epoch) for epoch in epochs) + pulls(max(epochs))

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """Return the ends F(1), F(2), ... of the epochs within the horizon."""
        return schedule_of(problem).ends

    def begin(self, problem: Problem, generator: Generator) -> TwlState:
        """Alg. 2, line 1."""
        arms = tuple(range(problem.num_arms))
        return TwlState(problem, no_sums(problem), no_intervals(problem.num_arms), arms)

    def directive(self, state: TwlState) -> Directive:
        """Alg. 2, line 9."""
        active = state.active_arms
        rules: list[Rule] = [Set(self.gamma2)] * state.problem.num_arms
        for arm in active:
            rules[arm] = Set(self.gamma1) if len(active) > 1 else KEEP
        if len(active) == 1:
            return Directive(tuple(rules), None, active, target=active[0])
        return Directive(tuple(rules), quota_of(state.problem, state.epoch, active), active)

    def advance(self, state: TwlState, evidence: Evidence) -> TwlState:
        """Alg. 2, lines 4 to 8."""
        return _eliminate(replace(state, segment_sums=append_segments(state.segment_sums, evidence)))

    def exclude(self, state: TwlState, client: int) -> TwlState:
        """Repeat the stored epochs with the other clients' sums; arms may become active again."""
        problem = state.problem
        segment_sums = exclude_client(state.segment_sums, client, problem)
        arms = tuple(range(problem.num_arms))
        state = TwlState(problem, segment_sums, no_intervals(problem.num_arms), arms)
        while len(state.active_arms) > 1 and has_epoch(segment_sums, state.epoch, state.active_arms):
            state = _eliminate(state)
        return state

    def report(self, state: TwlState) -> Report:
        """Report the epoch and its intervals."""
        decided = len(state.active_arms) == 1
        epoch = max(1, state.epoch - 1) if decided else state.epoch
        reachable = decided or is_reachable(state.problem, state.epoch, state.active_arms)
        if decided:
            sentence = f"decided for arm {state.active_arms[0]} in epoch {epoch}"
        elif reachable:
            sentence = f"learning, epoch {epoch}, {len(state.active_arms)} arms active"
        else:
            sentence = f"epoch {epoch} needs more pulls than the horizon allows: no decision"
        intervals = state.intervals
        target = state.active_arms[0] if decided else None
        return Report(epoch, state.active_arms, target, intervals.lower, intervals.upper, reachable, sentence)


def _eliminate(state: TwlState) -> TwlState:
    """Alg. 2, lines 5 to 7: arms whose UCB lies below another active arm's LCB are ruled out."""
    active = state.active_arms
    if len(active) == 1 or not has_epoch(state.segment_sums, state.epoch, active):
        return state
    intervals = compute_intervals(state.problem, state.segment_sums, state.epoch, active)
    highest = max(lower for lower in intervals.lower if lower is not None)
    remaining = tuple(arm for arm in active if _at_least(intervals.upper[arm], highest))
    return replace(state, intervals=intervals, active_arms=remaining, epoch=state.epoch + 1)


def _at_least(upper: float | None, lower: float) -> bool:
    return upper is not None and upper >= lower
