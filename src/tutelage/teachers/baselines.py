"""The two baselines of every comparison: a target known from the start, and no teaching."""

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
    begin_with_target,
    fixed_directive,
    fixed_report,
)


@dataclass(frozen=True)
class KnownTarget(Fixed):
    """Known target: reveals every other arm as 0 from the start (Rangi et al. 2021)."""

    target: int | None = parameter(
        None, help="number of the target arm, by default that of the best arm", minimum=0
    )

    title: ClassVar[str] = "known target"
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)

    @property
    def style(self) -> Style | None:
        return Style("#000000", "x", (1.0, 1.5)) if self.target is None else None

    @property
    def needs_best_arm(self) -> bool:
        return self.target is None

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        """Start with the target, or the problem's best arm.  Raises ``InputError`` if it is not an arm."""
        return begin_with_target("known", self.target, problem)

    def directive(self, state: FixedState) -> Directive:
        return fixed_directive(state, Set(0.0))

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, f"teaching the known target, arm {state.target}")


@dataclass(frozen=True)
class NoTeaching(Fixed):
    """No teaching: reveals every reward as it is."""

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
