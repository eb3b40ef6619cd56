"""Simulate teachers on the instances of a case and measure their regret, cost and decisions.

Shapes: R runs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage import simulator
from tutelage.epoch_schedule import make_schedule
from tutelage.metrics import summarize_runs
from tutelage.planning.cases import Case
from tutelage.request import SimulationRequest, make_problem
from tutelage.results import NONE, SimulationResult
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Measurement:
    """The figures of one teacher over R runs.

    ``regret`` and ``cost`` [R] are totals at the horizon; ``rounds`` [R] those of the decisions, 0 for a
    target from the start and -1 for none; ``consultations`` [R] those up to the horizon;
    a teacher that ``has_epochs`` decides at the ends of the paper's epochs, one for each consultation;
    ``wrong`` [R] marks the runs whose target is not a best arm.
    """

    teacher: Teacher
    regret: NDArray[np.float64]
    cost: NDArray[np.float64]
    rounds: NDArray[np.int64]
    consultations: NDArray[np.int64]
    wrong: NDArray[np.bool_]
    has_epochs: bool

    @property
    def spec(self) -> str:
        """The SPEC with every parameter."""
        return TEACHERS.spec(self.teacher)

    @property
    def label(self) -> str:
        """The SPEC without the parameters that have their default."""
        return TEACHERS.label(self.teacher)

    @property
    def decisions(self) -> NDArray[np.int64]:
        """The rounds of the decisions, of the runs that decided."""
        rounds: NDArray[np.int64] = self.rounds[self.rounds != NONE]
        return rounds

    @property
    def decided(self) -> float:
        """The share of the runs that decided, whatever the target."""
        return self.decisions.size / self.rounds.size

    @property
    def decided_rightly(self) -> float:
        """The share of the runs that decided on a best arm."""
        return self.decided - float(self.wrong.mean())

    @property
    def is_guess(self) -> bool:
        """Whether all decisions came before the first pull, so that no target was learned."""
        return self.decisions.size > 0 and not self.decisions.any()

    @property
    def epoch_counts(self) -> dict[int, int]:
        """The number of runs that decided in each of the paper's epochs; empty without epochs."""
        if not self.has_epochs:
            return {}
        return dict(sorted(Counter(self.consultations[self.rounds != NONE].tolist()).items()))

    def as_json(self) -> dict[str, Any]:
        """Return the figures as plain values, with the statistics of ``tutelage simulate --json``."""
        decisions = self.decisions
        return {
            "teacher": self.label,
            "spec": self.spec,
            "decided": self.decided,
            "round": vars(summarize_runs(decisions.astype(np.float64))) if decisions.size else None,
            "epochs": {str(epoch): runs for epoch, runs in self.epoch_counts.items()},
            "regret": vars(summarize_runs(self.regret)),
            "cost": vars(summarize_runs(self.cost)),
            "wrong": int(self.wrong.sum()),
        }


@dataclass(frozen=True, eq=False)
class CandidateSimulator:
    """Simulates teachers on a case; everything here stays the same over all simulations of a plan."""

    case: Case
    clients: str
    seed: int
    workers: int | None = None

    def requests(self, teachers: Sequence[Teacher], gap: float, horizon: int, runs: int) -> Iterator[SimulationRequest]:
        """Yield one request with all runs, or one for each run where every run has its own instance."""
        parts = range(runs) if self.case.varied else (0,)
        for run in parts:
            yield simulator.make_request(
                self.case.instance(gap, self.seed, run),
                teachers,
                self.clients,
                horizon=horizon,
                runs=1 if self.case.varied else runs,
                seed=(self.seed + run) % 2**64,
                checkpoints=1,
            )

    def measure(
        self, teachers: Sequence[Teacher], gap: float, horizon: int, runs: int, progress: Progress | None = None
    ) -> tuple[Measurement, ...]:
        """Simulate the teachers, all with the same instances and random numbers.

        ``progress`` is called with the number of finished runs of all teachers.
        """
        outcomes: list[SimulationResult] = []
        for request in self.requests(teachers, gap, horizon, runs):
            shifted = None if progress is None else shift_progress(len(outcomes) * len(teachers), progress)
            outcomes.append(simulator.simulate_request(request, workers=self.workers, progress=shifted))
        return tuple(_measurement(outcomes, position) for position in range(len(teachers)))


def shift_progress(before: int, progress: Progress) -> Progress:
    """Return a callback that adds ``before`` to the number of finished runs."""
    return lambda finished: progress(before + finished)


def _measurement(outcomes: Sequence[SimulationResult], position: int) -> Measurement:
    """The figures of one teacher over all results."""
    totals = [outcome.totals(position) for outcome in outcomes]
    request = outcomes[0].request
    teacher = request.teachers[position]
    problem = make_problem(request.instance, request.horizon, teacher)
    schedule = make_schedule(problem.num_arms, problem.horizon, problem.weights)
    return Measurement(
        teacher=teacher,
        regret=np.concatenate([regret for regret, _ in totals]),
        cost=np.concatenate([cost for _, cost in totals]),
        rounds=np.concatenate([outcome.decided_in[position] for outcome in outcomes]),
        consultations=np.concatenate([outcome.consultations[position] for outcome in outcomes]).astype(np.int64),
        wrong=np.concatenate([outcome.is_wrong(position) for outcome in outcomes]),
        has_epochs=bool(schedule.ends) and teacher.segments(problem) == schedule.ends,
    )
