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
    check_gamma,
    error_probability,
)
from tutelage.teachers.families.intervals import (
    Evidences,
    Intervals,
    add_evidence,
    has_epoch,
    intervals_of,
    is_reachable,
    no_evidence,
    no_intervals,
    quota_of,
    schedule_of,
    without_client,
)


@dataclass(frozen=True, eq=False)
class TwlState:
    """Epoch psi, counted from 1, and the active arms (Upsilon in Alg. 2), ascending."""

    problem: Problem
    evidences: Evidences
    intervals: Intervals
    active_arms: tuple[int, ...]
    epoch: int = 1


@dataclass(frozen=True)
class TWL(Teacher):
    """Teaching-While-Learning: active arms are gamma1, those ruled out gamma2, until one is left."""

    gamma1: float = parameter(1.0, help="what an active arm is revealed as while several are, in [0, 1]")
    gamma2: float = parameter(0.0, help="what an arm that is ruled out is revealed as, in [0, 1]")

    state_type: ClassVar[type] = TwlState
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    likely_caveat: ClassVar[str] = (
        "twl's first round is that of clients that never pull an arm again once it is ruled out"
    )

    def __post_init__(self) -> None:
        check_gamma("gamma1", self.gamma1)
        check_gamma("gamma2", self.gamma2)

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
        """The ends F(1), F(2), ... of the epochs within the horizon."""
        return schedule_of(problem).ends

    def begin(self, problem: Problem, generator: Generator) -> TwlState:
        """Alg. 2, line 1."""
        arms = tuple(range(problem.num_arms))
        return TwlState(problem, no_evidence(problem), no_intervals(problem.num_arms), arms)

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
        return _eliminate(replace(state, evidences=add_evidence(state.evidences, evidence)))

    def exclude(self, state: TwlState, client: int) -> TwlState:
        """Run through the stored epochs again with the other clients' sums; arms may return."""
        problem = state.problem
        evidences = without_client(state.evidences, client, problem)
        arms = tuple(range(problem.num_arms))
        state = TwlState(problem, evidences, no_intervals(problem.num_arms), arms)
        while len(state.active_arms) > 1 and has_epoch(evidences, state.epoch, state.active_arms):
            state = _eliminate(state)
        return state

    def report(self, state: TwlState) -> Report:
        """The latest intervals and what they are good for."""
        decided = len(state.active_arms) == 1
        epoch = max(1, state.epoch - 1) if decided else state.epoch
        reachable = decided or is_reachable(state.problem, state.epoch, state.active_arms)
        if decided:
            sentence = f"decided for arm {state.active_arms[0]} in epoch {epoch}"
        elif reachable:
            sentence = f"learning, epoch {epoch}, {len(state.active_arms)} arms active"
        else:
            sentence = f"epoch {epoch} needs more pulls than the horizon has: no decision"
        shown = state.intervals
        target = state.active_arms[0] if decided else None
        return Report(epoch, state.active_arms, target, shown.lower, shown.upper, reachable, sentence)


def _eliminate(state: TwlState) -> TwlState:
    """Alg. 2, lines 5 to 7: arms whose UCB lies below another active arm's LCB are ruled out."""
    active = state.active_arms
    if len(active) == 1 or not has_epoch(state.evidences, state.epoch, active):
        return state
    intervals = intervals_of(state.problem, state.evidences, state.epoch, active)
    highest = max(lower for lower in intervals.lower if lower is not None)
    kept = tuple(arm for arm in active if _at_least(intervals.upper[arm], highest))
    return replace(state, intervals=intervals, active_arms=kept, epoch=state.epoch + 1)


def _at_least(upper: float | None, lower: float) -> bool:
    return upper is not None and upper >= lower
