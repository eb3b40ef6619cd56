"""The attacks of Jun, Li, Ma and Zhu, "Adversarial Attacks on Stochastic Bandits", on eps-greedy and UCB."""

import math
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from tutelage.errors import InputError
from tutelage.registry import parameter
from tutelage.rules import Sink
from tutelage.teachers.base import Directive, Problem, Report
from tutelage.teachers.families.fixed import (
    Fixed,
    FixedState,
    aim,
    check_delta,
    check_target,
    fixed_directive,
    fixed_report,
)


@dataclass(frozen=True)
class Jun(Fixed):
    """The attack of Jun et al. 2018: each other arm's revealed mean is held a margin below the target's.

    NeurIPS 2018, sections 3 and 4.  A reward X of arm i becomes X - alpha with

        alpha = max(0, S_i + X - N_i (S_K / N_K - 2 beta(N_K) - margin)),

    K the target, N the client's pulls, S the sums revealed to it before, beta the half-width of
    :func:`tutelage.rules.half_width`.  With ``margin`` 0 this is their attack on eps-greedy, with a
    ``margin`` above 0, their Delta_0, the one on UCB: with probability 1 - ``delta`` a UCB1 client pulls no
    other arm more than 1 + 2 log T / margin^2 times while the target's revealed mean is above the margin.
    1/2 is sigma, which they take for Delta_0 in their experiments.

    Departs from the paper: a reward is not lowered below 0.  What is left of alpha stays in S_i and is taken
    off the next rewards, so nothing is lost, but a mean cannot be held below 0: a ``margin`` above the
    target's mean reveals 0 on all others, as ``known`` does (test_a_wide_margin_is_the_known_target).
    Before the client's first pull of the target beta is infinite: others are revealed as 0.
    """

    target: int | None = parameter(None, help="the arm to teach, counted from 0; the best arm if left out")
    margin: float = parameter(
        0.5, help="Delta_0, how far below the target others are held, at least 0; 0 is for eps-greedy only"
    )
    delta: float = parameter(0.05, help="the chance that a confidence interval ever fails, in (0, 1)")

    def __post_init__(self) -> None:
        check_target("jun", self.target)
        check_delta("jun", self.delta)
        if not 0 <= self.margin < math.inf:
            raise InputError(f"jun's margin={self.margin:g} is not a distance: give a number from 0 up.")

    title: ClassVar[str] = "Jun"

    @property
    def needs_best_arm(self) -> bool:
        return self.target is None

    def begin(self, problem: Problem, generator: Generator) -> FixedState:
        """The given target, else the problem's best arm.  Raises ``InputError`` if there is no such arm."""
        return aim("jun", self.target, problem)

    def directive(self, state: FixedState) -> Directive:
        return fixed_directive(state, Sink(self.margin, self.delta))

    def report(self, state: FixedState) -> Report:
        return fixed_report(state, f"holding all other arms below the known target, arm {state.target}")
