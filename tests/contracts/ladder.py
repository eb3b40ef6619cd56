"""A teacher made for tests: it uses everything that the contract offers and means nothing by it."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.registry import parameter
from tutelage.rules import Level, Lift, Rule, Set
from tutelage.teachers.base import Directive, Evidence, Problem, Quota, Report, Teacher


@dataclass(frozen=True, eq=False)
class LadderState:
    """Every completed segment, the consultations so far, who is excluded, and a number drawn at the start."""

    problem: Problem
    sums: tuple[NDArray[np.float64], ...]
    consultations: int
    excluded: tuple[int, ...]
    luck: float


@dataclass(frozen=True)
class Ladder(Teacher):
    """Consults on a dense grid, levels while learning, drops the worst arm midway, then lifts the best."""

    mode: str = parameter("any", help="whether any or all listed arms must meet the quota")
    length: int = parameter(12, help="consultations before it decides")
    windows: bool = parameter(False, help="whether each consultation begins a window")

    state_type: ClassVar[type] = LadderState
    counts_are_cuts: ClassVar[bool] = False

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """1, 2, 3, ... and a quarter more each time."""
        cuts, cut = [], 1
        while cut <= problem.horizon:
            cuts.append(cut)
            cut += max(1, cut // 4)
        return tuple(cuts)

    def begin(self, problem: Problem, generator: Generator) -> LadderState:
        """Draws its luck, so that the teacher's generator is used."""
        nothing = tuple(np.zeros((0, problem.num_clients)) for _ in range(problem.num_arms))
        return LadderState(problem, nothing, 0, (), float(generator.random()))

    def directive(self, state: LadderState) -> Directive:
        """Level rules and a quota of the chosen mode, or the target lifted."""
        means, arms = _means(state), range(state.problem.num_arms)
        if state.consultations >= self.length:
            target = int(np.argmax(means))
            rules: list[Rule] = [Set(0.0)] * state.problem.num_arms
            rules[target] = Lift(0.5 + state.luck / 2)
            return Directive(tuple(rules), None, (target,), target=target)
        active = tuple(arms)
        if len(active) > 1 and 2 * state.consultations >= self.length:
            active = tuple(arm for arm in arms if arm != int(np.argmin(means)))
        leading_arm = max(active, key=lambda arm: means[arm]) if state.consultations else None
        cuts = self.segments(state.problem)
        step = state.consultations % 4 if self.windows else None
        done = [len(state.sums[arm]) if step is None else min(step, len(cuts) - 1) for arm in arms]
        counts = [
            cuts[done[arm]] * (1 + (arm == leading_arm)) if arm in active and done[arm] < len(cuts) else 0
            for arm in arms
        ]
        levels = tuple(Level(freeze_pulls=2.0) if arm in active else Set(0.0) for arm in arms)
        quota = Quota(tuple(counts), self.mode) if any(counts) else None
        windows = state.consultations if self.windows else 0
        return Directive(levels, quota, active, leading_arm=leading_arm, windows=windows)

    def advance(self, state: LadderState, evidence: Evidence) -> LadderState:
        """Keep the evidence and count the consultation."""
        sums = tuple(np.concatenate(pair) for pair in zip(state.sums, evidence.sums, strict=True))
        return replace(state, sums=sums, consultations=state.consultations + 1)

    def exclude(self, state: LadderState, client: int) -> LadderState:
        """Leave the client out from now on."""
        num_clients = state.problem.num_clients
        if not 0 <= client < num_clients or client in state.excluded:
            raise InputError(f"Cannot exclude client {client}: it is unknown or excluded already.")
        if len(state.excluded) == num_clients - 1:
            raise InputError(f"Cannot exclude client {client}: it is the last one.")
        return replace(state, excluded=(*state.excluded, client))

    def report(self, state: LadderState) -> Report:
        """How far it is."""
        nothing = (None,) * state.problem.num_arms
        now = self.directive(state)
        return Report(state.consultations, now.active_arms, now.target, nothing, nothing, True, "climbing")


def _means(state: LadderState) -> NDArray[np.float64]:
    others = [m for m in range(state.problem.num_clients) if m not in state.excluded]
    return np.array([sums[:, others].sum() / max(1, len(sums)) for sums in state.sums])
