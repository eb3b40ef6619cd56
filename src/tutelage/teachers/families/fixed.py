"""What teachers share whose directive never changes: a target or none, and one rule on every other arm."""

from dataclasses import dataclass
from typing import ClassVar

from tutelage.errors import InputError
from tutelage.rules import KEEP, Rule
from tutelage.teachers.base import Directive, Evidence, Problem, Report, Teacher


@dataclass(frozen=True)
class FixedState:
    """A state that never changes: the target, or None, and how many arms there are."""

    num_arms: int
    target: int | None


class Fixed(Teacher):
    """The functions of a teacher that learns nothing, so that nobody's evidence matters to it."""

    state_type: ClassVar[type] = FixedState

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """None: it learns nothing."""
        return ()

    def advance(self, state: FixedState, evidence: Evidence) -> FixedState:
        """The same state."""
        return state

    def exclude(self, state: FixedState, client: int) -> FixedState:
        """The same state."""
        return state


def check_target(name: str, target: int | None) -> None:
    """Raise ``InputError`` for a target that cannot be an arm; None is the best arm."""
    if target is not None and target < 0:
        raise InputError(f"{name}'s target={target} is not an arm: arms are counted from 0.")


def check_delta(name: str, delta: float) -> None:
    """Raise ``InputError`` unless a chance of failure lies strictly between 0 and 1."""
    if not 0 < delta < 1:
        raise InputError(f"{name}'s delta={delta:g} is not a chance of failure: give one between 0 and 1.")


def aim(name: str, target: int | None, problem: Problem) -> FixedState:
    """The given target, else the problem's best arm.  Raises ``InputError`` if there is no such arm."""
    chosen = problem.best_arm if target is None else target
    if chosen is None:
        raise InputError(f"{name} needs target=ARM here: nobody has said which arm is best.")
    if chosen >= problem.num_arms:
        raise InputError(
            f"{name}'s target={chosen} is not an arm: they are counted from 0 to {problem.num_arms - 1}."
        )
    return FixedState(problem.num_arms, chosen)


def fixed_directive(state: FixedState, rule: Rule) -> Directive:
    """The rule on every arm but the target, which is kept, for good."""
    rules = tuple(KEEP if arm == state.target else rule for arm in range(state.num_arms))
    active = tuple(range(state.num_arms)) if state.target is None else (state.target,)
    return Directive(rules, None, active, target=state.target)


def fixed_report(state: FixedState, sentence: str) -> Report:
    """A report without epochs and intervals."""
    active = tuple(range(state.num_arms)) if state.target is None else (state.target,)
    nothing = (None,) * state.num_arms
    return Report(0, active, state.target, nothing, nothing, True, sentence)
