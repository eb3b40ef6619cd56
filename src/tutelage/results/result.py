"""The result of a simulation as arrays."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.inference import Difference, compare_pairs, interval_of_share
from tutelage.metrics import sum_over_clients, summarize_runs
from tutelage.request import SimulationRequest
from tutelage.results.dataset import CURVES, FINAL_VARIABLES, VARIABLES, make_dataset
from tutelage.results.documents import (
    LearningDocument,
    SimulationDocument,
    TargetDocument,
    TeacherDocument,
    describe_floors,
    describe_instance,
    summarize_noticing,
)
from tutelage.theory.floors import Floor, compute_floors
from tutelage.versions import package_version

if TYPE_CHECKING:
    import xarray as xr

NONE = -1  # no target, not decided


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """All runs of a request as arrays.

    ``regret`` and ``cost`` are cumulative up to each checkpoint; those of many clients (``request.sums_clients``) are
    summed over clients, with M = 1, and ``final_regret`` and so on have each client's at T.  ``consultations`` and
    ``reachable`` are from the teacher's report at the horizon.  ``undecided[n]`` says why runs of teacher n have no
    target: sentences, each with its number of runs.
    """

    request: SimulationRequest
    pulls: NDArray[np.integer[Any]]  # [N, R, M, C, K]
    regret: NDArray[np.float64]  # [N, R, M, C]
    cost: NDArray[np.float64]  # [N, R, M, C]
    final_pulls: NDArray[np.integer[Any]]  # [N, R, M, K]
    final_regret: NDArray[np.float64]  # [N, R, M]
    final_cost: NDArray[np.float64]  # [N, R, M]
    target: NDArray[np.int32]  # [N, R]; -1: none
    decided_in: NDArray[np.int64]  # [N, R] round, 0 from the start; -1: never
    consultations: NDArray[np.int32]  # [N, R]
    reachable: NDArray[np.bool_]  # [N, R]
    messages: NDArray[np.int64]  # [N, R]
    noticed_in: NDArray[np.int64]  # [N, R, M] round, 0: not noticed
    event_round: NDArray[np.int64]  # [N, R, E]
    event_target: NDArray[np.int32]  # [N, R, E]
    event_active: NDArray[np.bool_]  # [N, R, E, K]
    undecided: tuple[tuple[tuple[str, int], ...], ...]

    def totals(self, teacher: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return regret and cost [R] at the horizon, summed over clients."""
        regret, cost = self.regret[teacher, :, :, -1], self.cost[teacher, :, :, -1]
        return sum_over_clients(regret.T), sum_over_clients(cost.T)

    def never_decides(self, teacher: int) -> bool:
        """Return whether the teacher by its nature never names a target."""
        return not self.request.teachers[teacher].decides

    def is_wrong(self, teacher: int) -> NDArray[np.bool_]:
        """Return which runs [R] decided on an arm whose global mean is below the best.

        An arm that is tied for best is not wrong.  Where means shift, those at the horizon count.
        """
        target = self.target[teacher]
        wrong: NDArray[np.bool_] = (target != NONE) & (self.request.final_phase.gaps[target] > 0.0)
        return wrong

    def floors(self, teacher: int) -> tuple[Floor, ...]:
        """Return what the clients of this teacher must pay; empty where nothing is known (docs/floors.md)."""
        request = self.request
        if request.exclude or request.exclude_after is not None:
            return ()
        try:
            return compute_floors(request.instance, request.teachers[teacher], request.policies, request.horizon)
        except InputError:  # tied arms, clients that do not always act, shifts, too many arms and clients
            return ()

    def summary(self) -> SimulationDocument:
        """Summarise the result as ``tutelage simulate --json`` prints it."""
        request = self.request
        return SimulationDocument(
            tutelage=package_version(),
            instance=describe_instance(request.instance),
            clients=list(request.client_specs),
            horizon=request.horizon,
            runs=request.runs,
            seed=request.seed,
            engine=request.engine,
            teachers=[self._summarize_teacher(n) for n in range(len(request.teachers))],
            differences=self.differences(),
        )

    def differences(self) -> list[Difference]:
        """Compare every two teachers in regret and cost, run by run; empty for one run or one teacher."""
        labels = self.request.teacher_labels
        regret, cost = (np.array(each) for each in zip(*map(self.totals, range(len(labels))), strict=True))
        return compare_pairs({"regret": regret, "cost": cost}, labels)

    def _summarize_teacher(self, teacher: int) -> TeacherDocument:
        regret, cost = self.totals(teacher)
        rounds, targets = self.decided_in[teacher], self.target[teacher]
        decided = rounds[rounds != NONE].tolist()
        means = summarize_runs(regret), summarize_runs(cost)
        wrong, runs = int(self.is_wrong(teacher).sum()), self.request.runs
        counts = np.bincount(targets[targets != NONE], minlength=self.request.instance.num_arms)
        return TeacherDocument(
            teacher=self.request.teacher_labels[teacher],
            spec=self.request.teacher_specs[teacher],
            regret=means[0],
            cost=means[1],
            regret_per_client=self.final_regret[teacher].mean(axis=0).tolist(),
            cost_per_client=self.final_cost[teacher].mean(axis=0).tolist(),
            learning=LearningDocument(len(decided), interval_of_share(len(decided), runs), decided),
            consultations=float(self.consultations[teacher].mean()),
            messages=float(self.messages[teacher].mean()),
            noticed=summarize_noticing(self.noticed_in[teacher]),
            target=TargetDocument(counts.tolist(), wrong, interval_of_share(wrong, runs)),
            pulls=self.final_pulls[teacher].mean(axis=0).tolist(),
            floors=describe_floors(self.floors(teacher), means[0].mean, means[1].mean),
        )

    def to_dataset(self) -> "xr.Dataset":
        """Return the result with names, as :func:`tutelage.save` takes it (docs/simulate.md)."""
        names = [*VARIABLES, *FINAL_VARIABLES] if self.request.sums_clients else VARIABLES
        arrays = {name: getattr(self, name) for name in names}
        if self.request.sums_clients:
            arrays |= {name: arrays[name][:, :, 0] for name in CURVES}
        return make_dataset(self.request, arrays)
