"""The two ends between which every teacher lies: knowing the target, and not teaching at all."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tutelage.registry import parameter
from tutelage.rules import KEEP, Set
from tutelage.teachers.base import Directive, Problem, Report
from tutelage.teachers.fixed import Fixed, FixedState, aim, check_target, fixed_directive, fixed_report


@dataclass(frozen=True)
class KnownTarget(Fixed):
    """The target is known from the start: every other arm is revealed as 0 (Rangi et al. 2021)."""

    target: int | None = parameter(None, help="the arm to teach, counted from 0; the best arm if left out")

    def __post_init__(self) -> None:
        check_target("known", self.target)

    @property
    def needs_best_arm(self) -> bool:
        return self.target is None

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        """The given target, else the problem's best arm.  Raises ``InputError`` if there is no such arm."""
        return aim("known", self.target, problem)

    def directive(self, state: FixedState) -> Directive:
        return fixed_directive(state, Set(0.0))

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, f"teaching the known target, arm {state.target}")


@dataclass(frozen=True)
class NoTeaching(Fixed):
    """No teaching: every reward is revealed as it is."""

    needs_best_arm: ClassVar[bool] = False

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        return FixedState(problem.num_arms, None)

    def directive(self, state: FixedState) -> Directive:
        return fixed_directive(state, KEEP)

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, "not teaching")
