"""``tutelage bound``: the bounds of theorems and what must be paid, compared with simulation."""

from typing import Annotated

from tutelage import simulator
from tutelage.cli import options
from tutelage.cli.completion import complete_teacher
from tutelage.cli.options import option, whole_option
from tutelage.cli.printing import print_answer


def bound(
    instance: options.Instance,
    teacher: Annotated[
        str,
        option(
            "SPEC",
            "Teacher with a theorem for these clients, as in tal or 'twl(gamma1=1,gamma2=0)'.",
            autocompletion=complete_teacher,
        ),
    ] = "twl",
    clients: options.Clients = simulator.DEFAULT_CLIENTS,
    horizon: options.Horizon = simulator.DEFAULT_HORIZON,
    runs: Annotated[
        int, whole_option("R", "Number of runs to compare the bounds with; 0 for bounds only.")
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
    print_answer(made.summary, lambda: bound_output.print_bounds(made), as_json=as_json, encode=encode_json)
