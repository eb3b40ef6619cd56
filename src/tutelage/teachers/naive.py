"""The two naive teachers of the paper, Naively-Guess and Naively-Align (Shi et al., section IV)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tutelage.draws import index
from tutelage.rules import ALIGN, Rule, Set
from tutelage.teachers.base import Problem, Style
from tutelage.teachers.families.fixed_teacher import FixedState, FixedTeacher


@dataclass(frozen=True)
class NaivelyGuess(FixedTeacher):
    """Naively-Guess: teaches one arm drawn at random per run as if it were known to be the best."""

    sentence: ClassVar[str] = "teaching a guess, arm {target}"
    rule: ClassVar[Rule] = Set(0.0)
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    style: ClassVar[Style | None] = Style("#b8860b", "inverted_triangle", (4.0, 1.5))

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        """Draw the target uniformly from all arms."""
        return FixedState(problem.num_arms, index(generator, problem.num_arms))


@dataclass(frozen=True)
class NaivelyAlign(FixedTeacher):
    """Naively-Align: replaces each reward with a draw at the arm's global mean, which only a simulation knows.

    Departs from the paper: Y is drawn for every pull from that client's generator instead of being shared by
    the clients of a round, so that no client's random numbers depend on the others.
    """

    sentence: ClassVar[str] = "aligning every reward with the global model"
    rule: ClassVar[Rule] = ALIGN
    side_by_side: ClassVar[tuple[Mapping[str, float], ...]] = ({},)
    style: ClassVar[Style | None] = Style("#cc79a7", "plus", (5.0, 1.5, 1.0, 1.5))
    simulation_only: ClassVar[bool] = True
    decides: ClassVar[bool] = False
