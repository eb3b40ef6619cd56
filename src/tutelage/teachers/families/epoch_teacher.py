"""Teachers that compare confidence intervals at the end of each epoch: TAL and TWL (Shi et al., section V)."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

from numpy.random import Generator

from tutelage.teachers.base import Evidence, Problem, Report, Teacher, add_excluded, add_risk, bound_error
from tutelage.teachers.families.intervals import SegmentSums, append_segments, no_sums, schedule_of


class EpochTeacher(Teacher):
    """The functions that do not depend on what a teacher concludes from the intervals of an epoch.

    Its states have ``problem``, ``segment_sums``, ``intervals`` and ``epoch``.
    """

    rules_out_arms: ClassVar[bool]  # while it learns
    needs_bounded_rewards: ClassVar[bool] = False
    gamma1: float
    gamma2: float

    @abstractmethod
    def start(self, problem: Problem, segment_sums: SegmentSums) -> Any:
        """Return the state before the first epoch."""

    @abstractmethod
    def finish_epoch(self, state: Any) -> Any:
        """Draw conclusions from the epoch; the same state if it is incomplete or nothing is left to decide."""

    @abstractmethod
    def count_epochs(self, state: Any) -> int:
        """Return the number of epochs from which conclusions were drawn."""

    def error_bound(self, problem: Problem) -> str:
        """Shi et al., Lemmas tal_good_event and twl_arm_elim."""
        return bound_error(add_risk(problem, self.risk), dependence=self.dependence)

    def segments(self, problem: Problem) -> tuple[int, ...]:
        """Return the ends F(1), F(2), ... of the epochs within the horizon."""
        return schedule_of(add_risk(problem, self.risk), self.dependence).ends

    def begin(self, problem: Problem, generator: Generator) -> Any:
        """Alg. 1 and 2, line 1."""
        return self.start(add_risk(problem, self.risk), no_sums(problem))

    def advance(self, state: Any, evidence: Evidence) -> Any:
        """Alg. 1, lines 4 to 10; Alg. 2, lines 4 to 8."""
        return self.finish_epoch(replace(state, segment_sums=append_segments(state.segment_sums, evidence)))

    def exclude(self, state: Any, client: int) -> Any:
        """Repeat the stored epochs with the other clients' sums; a decision may be withdrawn."""
        segment_sums, problem = state.segment_sums, state.problem
        excluded = add_excluded(segment_sums.excluded, client, problem)
        later = self.start(problem, SegmentSums(segment_sums.sums, excluded))
        while later is not state:
            state, later = later, self.finish_epoch(later)
        return later

    def report(self, state: Any) -> Report:
        """Report the epoch and its intervals."""
        directive, consultations = self.directive(state), self.count_epochs(state)
        active = directive.active_arms
        reachable = directive.target is not None or directive.quota is not None
        if directive.target is not None:
            sentence = f"decided on arm {directive.target} in epoch {max(1, consultations)}"
        elif reachable:
            arms = f", {len(active)} arms active" if self.rules_out_arms else ""
            sentence = f"learning, epoch {consultations + 1}{arms}"
        else:
            sentence = f"epoch {consultations + 1} needs more pulls than the horizon allows: no decision"
        return Report(
            consultations=consultations,
            active_arms=active,
            target=directive.target,
            lower=state.intervals.lower,
            upper=state.intervals.upper,
            reachable=reachable,
            sentence=sentence,
        )
