"""What an edge has in place of a teacher: the leader's directive, which it holds until the next one arrives."""

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from numpy.random import Generator

from tutelage.rules import Rule
from tutelage.teachers.base import Directive, Evidence, Problem, Report, Teacher

_RULES = {rule.__name__: rule for rule in get_args(Rule)}


@dataclass(frozen=True)
class HeldDirective:
    """A directive as it travels: without its quota, since only the leader consults the teacher.

    ``number`` is 1 + the consultations before; ``rules`` are the class and the fields of each arm's rule.
    """

    number: int
    rules: tuple[tuple[str, tuple[float, ...]], ...]
    active_arms: tuple[int, ...]
    leading_arm: int | None = None
    target: int | None = None
    restarts: int = 0
    windows: int = 0


def pack_directive(directive: Directive, number: int) -> HeldDirective:
    """Return the directive of this number as it travels; :meth:`EdgeTeacher.directive` reads it."""
    return HeldDirective(
        number=number,
        rules=tuple((type(rule).__name__, rule.numbers()) for rule in directive.rules),
        active_arms=directive.active_arms,
        leading_arm=directive.leading_arm,
        target=directive.target,
        restarts=directive.restarts,
        windows=directive.windows,
    )


@dataclass(frozen=True)
class EdgeTeacher(Teacher):
    """Publishes the leader's directives.  Its segments are those of ``teacher``, so that sums are cut alike."""

    teacher: Teacher

    state_type: ClassVar[type] = HeldDirective

    def __post_init__(self) -> None:
        """Check nothing: the leader has checked the teacher."""

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """Return the cuts of the leader's teacher."""
        return self.teacher.segments(problem)

    def begin(self, problem: Problem, generator: Generator) -> HeldDirective:
        """Keep rewards; the leader's directive arrives before the first pull."""
        return HeldDirective(1, (("Keep", ()),) * problem.num_arms, tuple(range(problem.num_arms)))

    def directive(self, state: HeldDirective) -> Directive:
        """Return the directive without a quota, so that this teacher is never consulted."""
        rules = tuple(_RULES[name](*numbers) for name, numbers in state.rules)
        return Directive(rules, None, state.active_arms, state.leading_arm, state.target, state.restarts, state.windows)

    def advance(self, state: Any, evidence: Evidence) -> Any:
        """Return the same state."""
        return state

    def exclude(self, state: Any, client: int) -> Any:
        """Return the same state: the leader excludes clients."""
        return state

    def report(self, state: HeldDirective) -> Report:
        """Report the directive that is held."""
        nothing = (None,) * len(state.rules)
        return Report(
            consultations=state.number - 1,
            active_arms=state.active_arms,
            target=state.target,
            lower=nothing,
            upper=nothing,
            reachable=True,
            sentence=f"holds directive {state.number} of the leader",
        )
