"""The two ends between which every teacher lies: knowing the target, and not teaching at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tutelage.registry import parameter
from tutelage.rules import KEEP, Set
from tutelage.teachers.base import Directive, Problem, Report, Style
from tutelage.teachers.families.fixed import (
    Fixed,
    FixedState,
    aim,
    check_target,
    fixed_directive,
    fixed_report,
)


@dataclass(frozen=True)
class KnownTarget(Fixed):
    """The target is known from the start: every other arm is revealed as 0 (Rangi et al. 2021)."""

    target: int | None = parameter(None, help="the arm to teach, counted from 0; the best arm if left out")

    def __post_init__(self) -> None:
        check_target("known", self.target)

    title: ClassVar[str] = "known target"
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)

    @property
    def style(self) -> Style | None:
        return Style("#000000", "x", (1.0, 1.5)) if self.target is None else None

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

    title: ClassVar[str] = "no teaching"
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    style: ClassVar[Style | None] = Style("#7f7f7f", "hex", (8.0, 2.0))
    decides: ClassVar[bool] = False

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        return FixedState(problem.num_arms, None)

    def directive(self, state: FixedState) -> Directive:
        return fixed_directive(state, KEEP)

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, "not teaching")
