"""``tutelage bound``: the bounds of theorems and what must be paid, compared with simulation."""

import sys
from typing import Annotated

import typer

from tutelage import simulator
from tutelage.cli import options
from tutelage.cli.completion import complete_teacher
from tutelage.cli.options import whole_number
from tutelage.cli.printing import checked_output


def bound(
    instance: options.Instance,
    teacher: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="Teacher with a theorem for these clients, as in tal or 'twl(gamma1=1,gamma2=0)'.",
            autocompletion=complete_teacher,
        ),
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
    """Compute upper and lower bounds on regret and cost.

    The tables compare them with simulated values.
    """
    from tutelage import bound_comparison
    from tutelage.cli import bound_output
    from tutelage.results import encode_json

    made = bound_comparison.bound(
        instance, teacher, clients, horizon=horizon, runs=runs, seed=seed, workers=workers, progress=True
    )
    with checked_output():
        if as_json:
            sys.stdout.write(encode_json(made.summary()) + "\n")
        else:
            bound_output.print_bounds(made)
