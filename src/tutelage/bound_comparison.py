"""The bounds of a theorem next to a simulation of the same clients."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from tutelage import simulator
from tutelage.instances import Instance
from tutelage.policies.base import Policy
from tutelage.progress_bar import ProgressOption, show_progress
from tutelage.request import SimulationRequest
from tutelage.results import SimulationResult, describe_floors, describe_instance
from tutelage.teachers.base import Teacher, describe_assumptions
from tutelage.theory import Bound, Floor, Guarantee, compute_floors, guarantee
from tutelage.validation import check_whole
from tutelage.versions import package_version


@dataclass(frozen=True, eq=False)
class BoundComparison:
    """The bounds, the floors, and the simulation that they are compared with; ``result`` is None without one."""

    request: SimulationRequest
    guarantee: Guarantee
    floors: tuple[Floor, ...]
    result: SimulationResult | None

    def summary(self) -> dict[str, Any]:
        """Return the document of ``tutelage bound --json`` (docs/theory.md)."""
        request, promised = self.request, self.guarantee
        simulated = self.result.summary().teachers[0] if self.result else None
        return {
            "tutelage": package_version(),
            "instance": describe_instance(request.instance),
            "clients": list(request.client_specs),
            "teacher": request.teacher_labels[0],
            "spec": request.teacher_specs[0],
            "horizon": request.horizon,
            "runs": request.runs if simulated else 0,
            "seed": request.seed,
            "theorem": promised.theorem,
            "psi_max": promised.last_epoch,
            "T_1": promised.learning_time,
            "decides_by": promised.decides_by,
            "assumptions": describe_assumptions(),
            "vacuous": promised.is_vacuous,
            "needed_horizon": promised.needed_horizon,
            "regret": _compare(promised.regret, promised.most_regret, simulated.regret.mean if simulated else None),
            "cost": _compare(promised.cost, promised.most_cost, simulated.cost.mean if simulated else None),
            "condition": promised.condition,
            "floors": describe_floors(
                self.floors, simulated.regret.mean if simulated else None, simulated.cost.mean if simulated else None
            ),
            "learning": simulated.learning if simulated else None,
            "target": simulated.target if simulated else None,
        }


def bound(
    instance: str | PurePath | Instance,
    teacher: str | Teacher = "twl",
    clients: str | Policy | Sequence[str | Policy] = simulator.DEFAULT_CLIENTS,
    *,
    horizon: int = simulator.DEFAULT_HORIZON,
    runs: int = simulator.DEFAULT_RUNS,
    seed: int = simulator.DEFAULT_SEED,
    workers: int | None = None,
    progress: ProgressOption = False,
) -> BoundComparison:
    """Compute the bounds on regret and cost, what must be paid, and simulate the same clients.

    The arguments are those of :func:`tutelage.simulate`; ``runs`` may be 0, for bounds without simulation.
    Raises ``InputError`` where no theorem is about this teacher with these clients.
    """
    runs = check_whole("number of runs", runs, 0)
    request = simulator.make_request(
        instance, teacher, clients, horizon=horizon, runs=runs or 1, seed=seed, checkpoints=1
    )
    question = (request.instance, request.teachers[0], request.policies, request.horizon)
    promised, floors = guarantee(*question), compute_floors(*question)
    if not runs:
        return BoundComparison(request, promised, floors, None)
    with show_progress(progress, runs) as callback:
        result = simulator.simulate_request(request, workers=workers, progress=callback)
    return BoundComparison(request, promised, floors, result)


def _compare(promised: Bound, most: float, simulated: float | None) -> dict[str, Any]:
    return {
        "bound": promised.value,
        "parts": {"learning": promised.learning, "teaching": promised.teaching, "remainder": promised.remainder},
        "most": most,
        "simulated": simulated,
        "ratio": promised.value / simulated if simulated else None,
    }
