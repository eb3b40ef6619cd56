"""Teachers that combine how BLT or TWL decides with what is revealed meanwhile, for blt_ablation.py.

They are named by SPECs such as ``ablation_teachers:Bets(reveal=ones)``.  After the decision each does what the
teacher does whose decisions it uses.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from numpy.random import Generator

from tutelage.registry import parameter
from tutelage.rules import Rule, Set
from tutelage.teachers.base import Directive, Evidence, Problem, Report, Teacher
from tutelage.teachers.blt.teacher import BLT, BltState
from tutelage.teachers.twl import TWL, TwlState

Reveal = Literal["zeros", "ones", "levels"]


def replace_learning_rules(directive: Directive, learning: Rule, new: Rule, leading_arm: int | None) -> Directive:
    """Return the directive with another rule for each active arm that has the ``learning`` rule of its teacher."""
    active = directive.active_arms
    if len(active) == 1 or any(directive.rules[arm] != learning for arm in active):
        return directive
    rules = tuple(new if arm in active else rule for arm, rule in enumerate(directive.rules))
    return replace(directive, rules=rules, leading_arm=leading_arm)


def make_rule(problem: Problem, reveal: Reveal, rho: int) -> Rule:
    """Return the rule of active arms: a constant, or BLT's levels."""
    blt = BLT(rho=rho)
    return {"zeros": Set(0.0), "ones": Set(1.0), "levels": blt._level_rule(blt.first_pulls_of(problem))}[reveal]  # noqa: SLF001


class _Combined(Teacher):
    """A teacher that passes everything on to ``inner`` and changes its directives."""

    @property
    @abstractmethod
    def inner(self) -> Teacher:
        """The teacher that decides."""

    def segments(self, problem: Problem) -> tuple[int, ...]:
        return self.inner.segments(problem)

    def begin(self, problem: Problem, generator: Generator) -> Any:
        return self.inner.begin(problem, generator)

    def advance(self, state: Any, evidence: Evidence) -> Any:
        return self.inner.advance(state, evidence)

    def exclude(self, state: Any, client: int) -> Any:
        return self.inner.exclude(state, client)

    def report(self, state: Any) -> Report:
        return self.inner.report(state)


@dataclass(frozen=True)
class Bets(_Combined):
    """BLT's bets; ``levels`` with rho=3 is BLT, ``zeros`` is blt(level=false)."""

    reveal: Reveal = parameter("levels", help="what active arms are revealed as")
    rho: int = parameter(3, help="pulls of the leading arm for each pull of another active arm", minimum=1)

    state_type: ClassVar[type] = BltState

    @property
    def inner(self) -> BLT:
        return BLT(rho=self.rho)

    def directive(self, state: BltState) -> Directive:
        directive = self.inner.directive(state)
        learning = make_rule(state.problem, "levels", self.rho)
        rule = make_rule(state.problem, self.reveal, self.rho)
        return replace_learning_rules(directive, learning, rule, directive.leading_arm)


@dataclass(frozen=True)
class Intervals(_Combined):
    """TWL's confidence intervals; ``ones`` is TWL(1, 0), ``zeros`` TWL(0, 0).

    The leading arm of ``levels`` is the active arm whose latest interval has the highest middle; there is none in
    the first epoch.
    """

    reveal: Reveal = parameter("levels", help="what active arms are revealed as")
    rho: int = parameter(3, help="pulls of the leading arm for each pull of another active arm", minimum=1)

    state_type: ClassVar[type] = TwlState

    @property
    def inner(self) -> TWL:
        return TWL()

    def directive(self, state: TwlState) -> Directive:
        bounds = zip(state.intervals.lower, state.intervals.upper, strict=True)
        middles = {arm: low + high for arm, (low, high) in enumerate(bounds) if low is not None and high is not None}
        leading = max(state.active_arms, key=lambda arm: middles[arm]) if middles else None
        rule = make_rule(state.problem, self.reveal, self.rho)
        return replace_learning_rules(self.inner.directive(state), Set(1.0), rule, leading)
