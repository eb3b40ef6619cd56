"""A teacher.  docs/extending.md of Tutelage shows the same code."""

from dataclasses import dataclass, replace
from typing import ClassVar

from tutelage.registry import check_parameters, parameter
from tutelage.rules import KEEP, Set
from tutelage.teachers.base import Directive, Problem, Quota, Report, Teacher, add_excluded


@dataclass(frozen=True)
class ExploreState:
    problem: Problem
    target: int | None = None
    excluded: tuple[int, ...] = ()


@dataclass(frozen=True)
class Explore(Teacher):
    """Explore first: shows 1/2 until every arm is known, then 0 on all but the best."""

    pulls: int = parameter(100, help="pulls of each arm by each client before the decision", minimum=1)

    state_type: ClassVar[type] = ExploreState

    def __post_init__(self):
        check_parameters(self)

    def segments(self, problem):
        return (self.pulls,) if self.pulls <= problem.horizon else ()

    def begin(self, problem, generator):
        return ExploreState(problem)

    def directive(self, state):
        arms = tuple(range(state.problem.num_arms))
        if state.target is not None:
            rules = tuple(KEEP if arm == state.target else Set(0.0) for arm in arms)
            return Directive(rules, None, (state.target,), target=state.target)
        quota = Quota(self.segments(state.problem) * len(arms)) if self.segments(state.problem) else None
        return Directive((Set(0.5),) * len(arms), quota, arms)

    def advance(self, state, evidence):
        estimates = [float(sums[0] @ state.problem.weights) for sums in evidence.sums]
        return replace(state, target=estimates.index(max(estimates)))

    def exclude(self, state, client):
        return replace(state, excluded=add_excluded(state.excluded, client, state.problem))

    def report(self, state):
        unknown = (None,) * state.problem.num_arms
        directive = self.directive(state)
        reachable = state.target is not None or directive.quota is not None
        if state.target is not None:
            sentence = f"decided on arm {state.target}"
        else:
            sentence = "exploring" if reachable else "the horizon is too short for a decision"
        consultations = int(state.target is not None)
        return Report(consultations, directive.active_arms, state.target, unknown, unknown, reachable, sentence)
