"""The two ends between which every teacher lies: knowing the target, and not teaching at all."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tutelage.errors import InputError
from tutelage.registry import parameter
from tutelage.rules import KEEP, Rule, Set
from tutelage.teachers.base import Directive, Evidence, Problem, Report


@dataclass(frozen=True)
class FixedState:
    """A state that never changes: the target, or None, and how many arms there are."""

    num_arms: int
    target: int | None


def fixed_directive(state: FixedState) -> Directive:
    """Every arm but the target is revealed as 0 (Rangi et al. 2021); without a target nothing is touched."""
    rules: list[Rule] = [KEEP if state.target is None else Set(0.0)] * state.num_arms
    if state.target is None:
        return Directive(tuple(rules), None, tuple(range(state.num_arms)))
    rules[state.target] = KEEP
    return Directive(tuple(rules), None, (state.target,), target=state.target)


def fixed_report(state: FixedState, sentence: str) -> Report:
    """A report without epochs and intervals."""
    active = tuple(range(state.num_arms)) if state.target is None else (state.target,)
    nothing = (None,) * state.num_arms
    return Report(0, active, state.target, nothing, nothing, True, sentence)


@dataclass(frozen=True)
class KnownTarget:
    """The target is known from the start: every other arm is revealed as 0 (Rangi et al. 2021)."""

    target: int | None = parameter(None, help="the arm to teach, counted from 0; the best arm if left out")

    state_type: ClassVar[type] = FixedState
    lab_only: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.target is not None and self.target < 0:
            raise InputError(f"known's target={self.target} is not an arm: arms are counted from 0.")

    @property
    def needs_best_arm(self) -> bool:
        return self.target is None

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """None: it learns nothing."""
        return ()

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        """The given target, else the problem's best arm.  Raises ``InputError`` if there is no such arm."""
        target = problem.best_arm if self.target is None else self.target
        if target is None:
            raise InputError("known needs target=ARM here: nobody has said which arm is best.")
        if target >= problem.num_arms:
            raise InputError(
                f"known's target={target} is not an arm: they are counted from 0 to {problem.num_arms - 1}."
            )
        return FixedState(problem.num_arms, target)

    def directive(self, state: FixedState) -> Directive:
        return fixed_directive(state)

    def advance(self, state: FixedState, evidence: Evidence) -> FixedState:
        return state

    def retire(self, state: FixedState, client: int) -> FixedState:
        return state

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, f"teaching the known target, arm {state.target}")


@dataclass(frozen=True)
class NoTeaching:
    """No teaching: every reward is revealed as it is."""

    state_type: ClassVar[type] = FixedState
    needs_best_arm: ClassVar[bool] = False
    lab_only: ClassVar[bool] = False

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """None: it learns nothing."""
        return ()

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        return FixedState(problem.num_arms, None)

    def directive(self, state: FixedState) -> Directive:
        return fixed_directive(state)

    def advance(self, state: FixedState, evidence: Evidence) -> FixedState:
        return state

    def retire(self, state: FixedState, client: int) -> FixedState:
        return state

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, "not teaching")
