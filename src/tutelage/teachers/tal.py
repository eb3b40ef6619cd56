"""Teaching-After-Learning (Shi et al., Alg. 1)."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tutelage.registry import parameter
from tutelage.rules import KEEP, Rule, Set
from tutelage.teachers.base import Directive, Problem, Style, risk_parameter
from tutelage.teachers.dependence import dependence_parameter
from tutelage.teachers.families.epoch_teacher import EpochTeacher
from tutelage.teachers.families.intervals import (
    Intervals,
    SegmentSums,
    compute_intervals,
    has_epoch,
    no_intervals,
    quota_of,
)
from tutelage.teachers.separation import Separation, average

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
class TAL(EpochTeacher):
    """Teaching-After-Learning: reveals gamma1 until it decides on a target, then gamma2 for all other arms."""

    gamma1: float = parameter(1.0, help="reward revealed for every arm while learning", minimum=0, maximum=1)
    gamma2: float = parameter(
        0.0, help="reward revealed for every arm except the target afterwards", minimum=0, maximum=1
    )
    dependence: str | None = dependence_parameter()
    risk: float | None = risk_parameter()

    state_type: ClassVar[type] = TalState
    rules_out_arms: ClassVar[bool] = False
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({}, {"gamma1": 0.0, "gamma2": 0.0})

    @property
    def style(self) -> Style | None:
        return _STYLES.get((self.gamma1, self.gamma2))

    def likely_decision(self, separation: Separation) -> tuple[int, int]:
        """Every arm is pulled until one epoch separates all of them at once."""
        separation = replace(separation, dependence=self.dependence, risk=self.risk)
        undecided, pulls = 1.0, 0
        for epoch in itertools.count(1):
            undecided *= 1.0 - float(average(separation.chances(epoch).prod(axis=1)))
            pulls += separation.num_arms * separation.pulls(epoch)
            if undecided <= 0.5:
                break
        return epoch, pulls

    def start(self, problem: Problem, segment_sums: SegmentSums) -> TalState:
        """Alg. 1, line 1."""
        return TalState(problem, segment_sums, no_intervals(problem.num_arms))

    def directive(self, state: TalState) -> Directive:
        """Alg. 1, lines 11 and 12."""
        arms = tuple(range(state.problem.num_arms))
        if state.target is None:
            quota = quota_of(state.problem, self.segments(state.problem), state.epoch, arms)
            return Directive((Set(self.gamma1),) * len(arms), quota, arms)
        rules: list[Rule] = [Set(self.gamma2)] * len(arms)
        rules[state.target] = KEEP
        return Directive(tuple(rules), None, (state.target,), target=state.target)

    def finish_epoch(self, state: TalState) -> TalState:
        """Alg. 1, lines 5 to 8: the first arm whose LCB is at least every other arm's UCB is the target."""
        arms = tuple(range(state.problem.num_arms))
        if state.target is not None or not has_epoch(state.segment_sums, state.epoch, arms):
            return state
        intervals = compute_intervals(state.problem, state.segment_sums, state.epoch, arms, self.dependence)
        for arm in arms:
            lower = intervals.lower[arm]
            uppers = [upper for other, upper in enumerate(intervals.upper) if other != arm]
            if lower is not None and all(upper is not None and lower >= upper for upper in uppers):
                return replace(state, intervals=intervals, target=arm)
        return replace(state, intervals=intervals, epoch=state.epoch + 1)

    def count_epochs(self, state: TalState) -> int:
        """Return the epochs before the present one, or up to the one that decided."""
        return state.epoch - (state.target is None)
