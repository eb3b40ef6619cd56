"""``tutelage bound``: the paper's theorems as numbers, beside what simulation gives."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tutelage import lab
from tutelage.cli.options import whole_number
from tutelage.cli.output import printing

if TYPE_CHECKING:
    from tutelage.request import SimulationRequest
    from tutelage.results import SimulationResult
    from tutelage.theory import Bound, Guarantee


def bound(
    instance: Annotated[
        str,
        typer.Argument(
            metavar="INSTANCE",
            help="Where rewards come from: paper; uniform:clients=5,arms=5,seed=3; a file of means; ...",
        ),
    ],
    teacher: Annotated[
        str,
        typer.Option(metavar="SPEC", help="A teacher with a theorem, as in tal or 'twl(gamma1=1,gamma2=0)'."),
    ] = "twl",
    clients: Annotated[
        str,
        typer.Option(
            metavar="SPEC", help="How the clients play: ucb1 (all of them), or 3*ucb1,2*eps-greedy."
        ),
    ] = lab.DEFAULT_CLIENTS,
    horizon: Annotated[
        int, typer.Option(metavar="T", parser=whole_number, help="Rounds in a run.")
    ] = lab.DEFAULT_HORIZON,
    runs: Annotated[
        int, typer.Option(metavar="R", parser=whole_number, help="Runs to compare with; 0 for none.")
    ] = lab.DEFAULT_RUNS,
    seed: Annotated[
        int, typer.Option(metavar="S", parser=whole_number, help="Where all random numbers come from.")
    ] = lab.DEFAULT_SEED,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default="all cores",
            help="Runs played at a time; changes no result.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the table.")
    ] = False,
) -> None:
    """Show the paper's bounds on regret and cost as numbers.

    Beside them stands what simulation gives, and the ratio.
    """
    from tutelage.cli import bound_page
    from tutelage.cli.progress import Bar
    from tutelage.results import encode_json
    from tutelage.theory import guarantee

    request = lab.make_request(
        instance, teacher, clients, horizon=horizon, runs=runs or 1, seed=seed, checkpoints=1
    )
    promised = guarantee(request.instance, request.teachers[0], request.policies, request.horizon)
    outcome = None
    if runs:
        with Bar(runs) as bar:
            outcome = lab.simulate_request(request, workers=workers, progress=bar)
    with printing():
        if as_json:
            told = document(request, promised, outcome)
            sys.stdout.write(encode_json(told) + "\n")
        else:
            bound_page.show(request, promised, outcome)


def document(
    request: "SimulationRequest", promised: "Guarantee", outcome: "SimulationResult | None"
) -> dict[str, Any]:
    """The result as plain finite numbers, what ``--json`` prints (docs/theory.md)."""
    from tutelage.results import describe_instance
    from tutelage.versions import package_version

    played = outcome.summary().teachers[0] if outcome else None
    return {
        "tutelage": package_version(),
        "instance": describe_instance(request.instance),
        "clients": list(request.client_specs),
        "teacher": request.teacher_specs[0],
        "horizon": request.horizon,
        "runs": request.runs if played else 0,
        "seed": request.seed,
        "theorem": promised.theorem,
        "psi_max": promised.last_epoch,
        "T_1": promised.learning_time,
        "ends_by": promised.ends_by,
        "empty": promised.is_empty,
        "not_empty_from": promised.needed_horizon,
        "regret": _compared(
            promised.regret, promised.most_regret, played.regret.mean if played else None
        ),
        "cost": _compared(promised.cost, promised.most_cost, played.cost.mean if played else None),
        "learning": played.learning if played else None,
        "target": played.target if played else None,
    }


def _compared(promised: "Bound", most: float, simulated: float | None) -> dict[str, Any]:
    return {
        "bound": promised.value,
        "parts": {
            "learning": promised.learning,
            "teaching": promised.teaching,
            "remainder": promised.remainder,
        },
        "most": most,
        "simulated": simulated,
        "ratio": promised.value / simulated if simulated else None,
    }
