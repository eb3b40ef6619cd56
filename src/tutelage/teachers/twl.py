"""Teaching-While-Learning (Shi et al., Alg. 2)."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

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


@dataclass(frozen=True, eq=False)
class TwlState:
    """Epoch psi, counted from 1, and the active arms (Upsilon in Alg. 2), ascending."""

    problem: Problem
    segment_sums: SegmentSums
    intervals: Intervals
    active_arms: tuple[int, ...]
    epoch: int = 1


@dataclass(frozen=True)
class TWL(EpochTeacher):
    """Teaching-While-Learning: reveals gamma1 for active arms and gamma2 for others until one active arm is left."""

    gamma1: float = parameter(1.0, help="reward revealed for active arms while learning", minimum=0, maximum=1)
    gamma2: float = parameter(0.0, help="reward revealed for arms that are ruled out", minimum=0, maximum=1)
    dependence: str | None = dependence_parameter()
    risk: float | None = risk_parameter()

    state_type: ClassVar[type] = TwlState
    rules_out_arms: ClassVar[bool] = True
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    likely_caveat: ClassVar[str] = "assumes clients that stop pulling an arm once it is ruled out"

    @property
    def style(self) -> Style | None:
        return Style("#d55e00", "triangle") if self == TWL() else None

    def likely_decision(self, separation: Separation) -> tuple[int, int]:
        """An arm is pulled until an epoch rules it out and never again, the best one until the last epoch.

        The number of arms in an epoch is the expected one in runs that are still undecided.  Which arms earlier
        epochs left is regarded as independent from arm to arm, which matters only to arms that more than one
        epoch may rule out.  Clients do pull arms that are ruled out: the more, the less gamma1 is above gamma2,
        and as often as under TAL where both are equal.
        """
        separation = replace(separation, dependence=self.dependence, risk=self.risk)
        undecided, pulls = 1.0, 0
        active = np.ones(separation.num_arms - 1)
        for epoch in itertools.count(1):
            pulls += (1 + max(1, round(float(active.sum()) / undecided))) * separation.pulls(epoch)
            remaining = active * (1.0 - separation.chances(epoch))
            undecided = 1.0 - float(average((1.0 - remaining).prod(axis=1)))
            active = average(remaining)
            if undecided <= 0.5:
                break
        return epoch, pulls

    def start(self, problem: Problem, segment_sums: SegmentSums) -> TwlState:
        """Alg. 2, line 1."""
        arms = tuple(range(problem.num_arms))
        return TwlState(problem, segment_sums, no_intervals(problem.num_arms), arms)

    def directive(self, state: TwlState) -> Directive:
        """Alg. 2, line 9."""
        active = state.active_arms
        rules: list[Rule] = [Set(self.gamma2)] * state.problem.num_arms
        for arm in active:
            rules[arm] = Set(self.gamma1) if len(active) > 1 else KEEP
        if len(active) == 1:
            return Directive(tuple(rules), None, active, target=active[0])
        return Directive(
            tuple(rules), quota_of(state.problem, self.segments(state.problem), state.epoch, active), active
        )

    def finish_epoch(self, state: TwlState) -> TwlState:
        """Alg. 2, lines 5 to 7: arms whose UCB lies below another active arm's LCB are ruled out."""
        active = state.active_arms
        if len(active) == 1 or not has_epoch(state.segment_sums, state.epoch, active):
            return state
        intervals = compute_intervals(state.problem, state.segment_sums, state.epoch, active, self.dependence)
        highest = max(lower for lower in intervals.lower if lower is not None)
        remaining = tuple(arm for arm in active if _at_least(intervals.upper[arm], highest))
        return replace(state, intervals=intervals, active_arms=remaining, epoch=state.epoch + 1)

    def count_epochs(self, state: TwlState) -> int:
        """Return the epochs before the present one."""
        return state.epoch - 1


def _at_least(upper: float | None, lower: float) -> bool:
    return upper is not None and upper >= lower
