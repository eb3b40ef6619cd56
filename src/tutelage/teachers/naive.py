"""The paper's two baselines: Naively-Guess and Naively-Align (Shi et al., section IV)."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tutelage.draws import index
from tutelage.rules import ALIGN
from tutelage.teachers.base import Directive, Evidence, Problem, Report
from tutelage.teachers.ends import FixedState, fixed_directive, fixed_report


@dataclass(frozen=True)
class NaivelyGuess:
    """Naively-Guess: an arm drawn at random once a run is taught as if it were known to be best."""

    state_type: ClassVar[type] = FixedState
    needs_best_arm: ClassVar[bool] = False
    lab_only: ClassVar[bool] = False

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """None: it learns nothing."""
        return ()

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        """The draw is uniform over all arms."""
        return FixedState(problem.num_arms, index(generator, problem.num_arms))

    def directive(self, state: FixedState) -> Directive:
        return fixed_directive(state)

    def advance(self, state: FixedState, evidence: Evidence) -> FixedState:
        return state

    def retire(self, state: FixedState, client: int) -> FixedState:
        return state

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, f"teaching a guess, arm {state.target}")


@dataclass(frozen=True)
class NaivelyAlign:
    """Naively-Align: each reward is replaced by one of the global model, which only a simulation can see.

    Departs from the paper: Y is drawn afresh for every pull from that client's generator, not shared by the
    clients of a round, so that no client's stream depends on the others.
    """

    state_type: ClassVar[type] = FixedState
    needs_best_arm: ClassVar[bool] = False
    lab_only: ClassVar[bool] = True

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """None: it learns nothing."""
        return ()

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        return FixedState(problem.num_arms, None)

    def directive(self, state: FixedState) -> Directive:
        return Directive((ALIGN,) * state.num_arms, None, tuple(range(state.num_arms)))

    def advance(self, state: FixedState, evidence: Evidence) -> FixedState:
        return state

    def retire(self, state: FixedState, client: int) -> FixedState:
        return state

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, "aligning every reward with the global model")
