"""Teachers whose directive never changes: a target or none, and one rule for every other arm."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tutelage.errors import InputError
from tutelage.registry import parameter
from tutelage.rules import KEEP, Rule
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Directive, Evidence, Problem, Report, Teacher


@dataclass(frozen=True)
class FixedState:
    """A state that never changes: the number of arms and the target, or None."""

    num_arms: int
    target: int | None

    @property
    def active_arms(self) -> tuple[int, ...]:
        return tuple(range(self.num_arms)) if self.target is None else (self.target,)


class FixedTeacher(Teacher):
    """A teacher that learns nothing and therefore uses no evidence.

    ``rule`` is the rule for every arm except the target, which is revealed as it is; ``sentence`` is that of
    every report, in which ``{target}`` stands for the number of the target.
    """

    state_type: ClassVar[type] = FixedState
    needs_bounded_rewards: ClassVar[bool] = False
    sentence: ClassVar[str]

    @property
    def rule(self) -> Rule:
        return KEEP

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        """Start without a target."""
        return FixedState(problem.num_arms, None)

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """No cuts, because it learns nothing."""
        return ()

    def directive(self, state: FixedState) -> Directive:
        """Return the same directive for ever, without a quota."""
        rule = self.rule
        rules = tuple(KEEP if arm == state.target else rule for arm in range(state.num_arms))
        return Directive(rules, None, state.active_arms, target=state.target)

    def advance(self, state: FixedState, evidence: Evidence) -> FixedState:
        """Return the same state."""
        return state

    def exclude(self, state: FixedState, client: int) -> FixedState:
        """Return the same state."""
        return state

    def report(self, state: FixedState) -> Report:
        """Report the target, without consultations and intervals."""
        nothing = (None,) * state.num_arms
        sentence = self.sentence.format(target=state.target)
        return Report(0, state.active_arms, state.target, nothing, nothing, True, sentence)


@dataclass(frozen=True)
class FixedTarget(FixedTeacher):
    """A teacher that knows its target from the start."""

    target: int | str | None = parameter(
        None, help="number or name of the target arm, by default the best arm", minimum=0, names_arm=True
    )

    @property
    def needs_best_arm(self) -> bool:
        return self.target is None

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        """Start with the target, or the problem's best arm.  Raises ``InputError`` if it is not an arm."""
        chosen = problem.best_arm if self.target is None else self.target
        if isinstance(chosen, int) and chosen < problem.num_arms:
            return FixedState(problem.num_arms, chosen)
        name = TEACHERS.spec(self).partition("(")[0]
        if chosen is None:
            raise InputError(f"The teacher {name} needs target=ARM here, because the best arm is not known.")
        if not isinstance(chosen, int):
            raise InputError(f"The teacher {name} cannot find target={chosen} by its name here: use its number.")
        raise InputError(f"Invalid target={chosen} of the teacher {name}: the arms are 0 to {problem.num_arms - 1}.")
