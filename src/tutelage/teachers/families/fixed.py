"""Teachers whose directive never changes: a target or none, and one rule for every other arm."""

from dataclasses import dataclass
from typing import ClassVar

from tutelage.errors import InputError
from tutelage.rules import KEEP, Rule
from tutelage.teachers.base import Directive, Evidence, Problem, Report, Teacher


@dataclass(frozen=True)
class FixedState:
    """A state that never changes: the number of arms and the target, or None."""

    num_arms: int
    target: int | None


class Fixed(Teacher):
    """The functions of a teacher that learns nothing and therefore uses no evidence."""

    state_type: ClassVar[type] = FixedState

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """No cuts, because it learns nothing."""
        return ()

    def advance(self, state: FixedState, evidence: Evidence) -> FixedState:
        """Return the same state."""
        return state

    def exclude(self, state: FixedState, client: int) -> FixedState:
        """Return the same state."""
        return state


def begin_with_target(name: str, target: int | None, problem: Problem) -> FixedState:
    """Return a state with this target, or the problem's best arm if it is None.

    Raises ``InputError`` unless the target is an arm of the problem.
    """
    chosen = problem.best_arm if target is None else target
    if chosen is None:
        raise InputError(f"The teacher {name} needs target=ARM here, because the best arm is not known.")
    if chosen >= problem.num_arms:
        raise InputError(
            f"Invalid target={chosen} of the teacher {name}: the arms are 0 to {problem.num_arms - 1}."
        )
    return FixedState(problem.num_arms, chosen)


def fixed_directive(state: FixedState, rule: Rule) -> Directive:
    """Return a directive with the rule for every arm except the target, which is revealed as it is."""
    rules = tuple(KEEP if arm == state.target else rule for arm in range(state.num_arms))
    active = tuple(range(state.num_arms)) if state.target is None else (state.target,)
    return Directive(rules, None, active, target=state.target)


def fixed_report(state: FixedState, sentence: str) -> Report:
    """Return a report without consultations and intervals."""
    active = tuple(range(state.num_arms)) if state.target is None else (state.target,)
    nothing = (None,) * state.num_arms
    return Report(0, active, state.target, nothing, nothing, True, sentence)
