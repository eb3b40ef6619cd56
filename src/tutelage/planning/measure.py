"""Teachers played on the instances of a case, and what each came to.

Shapes: R runs.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage import lab
from tutelage.metrics import summarize_runs
from tutelage.planning.cases import Case
from tutelage.request import SimulationRequest, make_problem
from tutelage.results import NONE, SimulationResult
from tutelage.schedule import make_schedule
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Teacher

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Measured:
    """One teacher over R runs.

    ``regret`` and ``cost`` [R] are totals at the horizon; ``rounds`` [R] those of the decisions, 0 from the
    start and -1 for none; ``epochs`` [R] the teacher's epoch at the end; ``wrong`` [R] says which runs hold
    to an arm that is not a best one.  ``has_epochs``: it decides at the ends of the paper's epochs.
    ``never_decides``: by its nature.
    """

    teacher: Teacher
    regret: NDArray[np.float64]
    cost: NDArray[np.float64]
    rounds: NDArray[np.int64]
    epochs: NDArray[np.int64]
    wrong: NDArray[np.bool_]
    has_epochs: bool
    never_decides: bool

    @property
    def spec(self) -> str:
        """Every parameter spelled out."""
        return TEACHERS.spec(self.teacher)

    @property
    def brief(self) -> str:
        """As people read it."""
        return TEACHERS.brief(self.teacher)

    @property
    def decisions(self) -> NDArray[np.int64]:
        """The rounds of the runs that decided."""
        rounds: NDArray[np.int64] = self.rounds[self.rounds != NONE]
        return rounds

    @property
    def ends(self) -> float:
        """The share of the runs in which learning ended, whatever the target."""
        return self.decisions.size / self.rounds.size

    @property
    def is_guess(self) -> bool:
        """Whether all its decisions fell before the first pull: told or guessed, not learned."""
        return self.decisions.size > 0 and not self.decisions.any()

    @property
    def epoch_counts(self) -> dict[int, int]:
        """How many runs decided in which of the paper's epochs; empty for a teacher without them."""
        if not self.has_epochs:
            return {}
        return dict(sorted(Counter(self.epochs[self.rounds != NONE].tolist()).items()))

    def as_json(self) -> dict[str, Any]:
        """The figures as plain values; spreads as in ``tutelage simulate --json``."""
        decisions = self.decisions
        return {
            "teacher": self.spec,
            "ends": self.ends,
            "round": vars(summarize_runs(decisions.astype(np.float64))) if decisions.size else None,
            "epochs": {str(epoch): runs for epoch, runs in self.epoch_counts.items()},
            "regret": vars(summarize_runs(self.regret)),
            "cost": vars(summarize_runs(self.cost)),
            "wrong": int(self.wrong.sum()),
        }


@dataclass(frozen=True, eq=False)
class Setting:
    """What stays the same over all simulations of a plan."""

    case: Case
    clients: str
    seed: int
    workers: int | None = None

    def requests(
        self, teachers: Sequence[Teacher], gap: float, horizon: int, runs: int
    ) -> Iterator[SimulationRequest]:
        """One request with all runs, or where every run has an instance of its own one for each."""
        parts = range(runs) if self.case.varied else (0,)
        for run in parts:
            yield lab.make_request(
                self.case.instance(gap, self.seed, run),
                teachers,
                self.clients,
                horizon=horizon,
                runs=1 if self.case.varied else runs,
                seed=(self.seed + run) % 2**64,
                checkpoints=1,
            )

    def measure(
        self,
        teachers: Sequence[Teacher],
        gap: float,
        horizon: int,
        runs: int,
        progress: Progress | None = None,
    ) -> tuple[Measured, ...]:
        """Play the teachers, all with the same instances and random numbers.

        ``progress`` is told how many runs of all teachers have been played.
        """
        outcomes: list[SimulationResult] = []
        for request in self.requests(teachers, gap, horizon, runs):
            watch = None if progress is None else after(len(outcomes) * len(teachers), progress)
            outcomes.append(lab.simulate_request(request, workers=self.workers, progress=watch))
        return tuple(_measured(outcomes, position) for position in range(len(teachers)))


def after(before: int, progress: Progress) -> Progress:
    """Tells ``progress`` of runs that come after ``before`` others."""
    return lambda played: progress(before + played)


def _measured(outcomes: Sequence[SimulationResult], position: int) -> Measured:
    """One teacher's figures over all outcomes."""
    totals = [outcome.totals(position) for outcome in outcomes]
    request = outcomes[0].request
    teacher = request.teachers[position]
    problem = make_problem(request.instance, request.horizon, teacher)
    schedule = make_schedule(problem.num_arms, problem.horizon, problem.weights)
    return Measured(
        teacher=teacher,
        regret=np.concatenate([regret for regret, _ in totals]),
        cost=np.concatenate([cost for _, cost in totals]),
        rounds=np.concatenate([outcome.decided_in[position] for outcome in outcomes]),
        epochs=np.concatenate([outcome.consultations[position] for outcome in outcomes]).astype(np.int64),
        wrong=np.concatenate([outcome.is_wrong(position) for outcome in outcomes]),
        has_epochs=bool(schedule.ends) and teacher.segments(problem) == schedule.ends,
        never_decides=all(outcome.never_decides(position) for outcome in outcomes),
    )
