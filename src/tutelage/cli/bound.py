"""``tutelage bound``: the bounds of the paper's theorems, compared with simulation."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage import simulator
from tutelage.cli import options
from tutelage.cli.options import whole_number
from tutelage.cli.printing import checked_output

if TYPE_CHECKING:
    from tutelage.request import SimulationRequest
    from tutelage.results import SimulationResult
    from tutelage.theory import Bound, Guarantee


def bound(
    instance: options.Instance,
    teacher: Annotated[
        str,
        typer.Option(metavar="SPEC", help="Teacher that a theorem is about, as in tal or 'twl(gamma1=1,gamma2=0)'."),
    ] = "twl",
    clients: options.Clients = simulator.DEFAULT_CLIENTS,
    horizon: options.Horizon = simulator.DEFAULT_HORIZON,
    runs: Annotated[
        int,
        typer.Option(
            metavar="R", parser=whole_number, help="Number of runs to compare the bounds with; 0 for bounds only."
        ),
    ] = simulator.DEFAULT_RUNS,
    seed: options.Seed = simulator.DEFAULT_SEED,
    workers: options.Workers = None,
    as_json: options.Json = False,
) -> None:
    """Compute the paper's bounds on regret and cost.

    The table compares them with simulated values.
    """
    from tutelage.cli import bound_output
    from tutelage.cli.progress import ProgressBar
    from tutelage.results import encode_json
    from tutelage.theory import guarantee

    request = simulator.make_request(
        instance, teacher, clients, horizon=horizon, runs=runs or 1, seed=seed, checkpoints=1
    )
    promised = guarantee(request.instance, request.teachers[0], request.policies, request.horizon)
    result = None
    if runs:
        with ProgressBar(runs) as bar:
            result = simulator.simulate_request(request, workers=workers, progress=bar)
    with checked_output():
        if as_json:
            document = bound_document(request, promised, result)
            sys.stdout.write(encode_json(document) + "\n")
        else:
            bound_output.print_bounds(request, promised, result)


def bound_document(
    request: "SimulationRequest", promised: "Guarantee", result: "SimulationResult | None"
) -> dict[str, Any]:
    """Return the document that ``--json`` prints (docs/theory.md)."""
    from tutelage.results import describe_instance
    from tutelage.versions import package_version

    simulated = result.summary().teachers[0] if result else None
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
        "vacuous": promised.is_vacuous,
        "needed_horizon": promised.needed_horizon,
        "regret": _compare(promised.regret, promised.most_regret, simulated.regret.mean if simulated else None),
        "cost": _compare(promised.cost, promised.most_cost, simulated.cost.mean if simulated else None),
        "learning": simulated.learning if simulated else None,
        "target": simulated.target if simulated else None,
    }


def _compare(promised: "Bound", most: float, simulated: float | None) -> dict[str, Any]:
    return {
        "bound": promised.value,
        "parts": {"learning": promised.learning, "teaching": promised.teaching, "remainder": promised.remainder},
        "most": most,
        "simulated": simulated,
        "ratio": promised.value / simulated if simulated else None,
    }
