"""``tutelage plan``: which teacher to run, whether it decides before the horizon, and what it costs."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from tutelage import simulator
from tutelage.cli import options
from tutelage.cli.completion import complete_teacher
from tutelage.cli.options import number, whole_number
from tutelage.cli.printing import checked_output
from tutelage.errors import InputError

_ASSUMED = "--num-clients, --num-arms and --gap"


def plan(
    instance: Annotated[
        str | None,
        typer.Argument(
            metavar="INSTANCE",
            show_default=False,
            help="Instance to plan for, as in paper or a file of means; without one, give " + _ASSUMED + ".",
        ),
    ] = None,
    num_clients: Annotated[
        int | None,
        typer.Option(
            metavar="M", parser=whole_number, show_default=False, help="Assumed number of clients, at least 1."
        ),
    ] = None,
    num_arms: Annotated[
        int | None,
        typer.Option(metavar="K", parser=whole_number, show_default=False, help="Assumed number of arms, at least 2."),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            metavar="G",
            parser=number,
            show_default=False,
            help="Assumed gap, above 0: difference between the means of the best and the second-best arm "
            "over all clients.",
        ),
    ] = None,
    means: Annotated[
        str | None,
        typer.Option(
            metavar="LOW;HIGH",
            show_default="0;1",
            help="Assumed range of the mean reward of an arm at a client, within 0 and 1, as in '0.2;0.8'.",
        ),
    ] = None,
    rewards: Annotated[
        str | None,
        typer.Option(
            metavar="DISTRIBUTION",
            show_default="bernoulli",
            help="Assumed reward distribution: bernoulli, beta(concentration) or constant.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="A;B;C",
            show_default="equal",
            help="Assumed weights of the clients in the mean over all clients: numbers as in '0.5;0.3;0.2', or a file.",
        ),
    ] = None,
    teacher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            show_default="tal and twl with several gamma1 and gamma2, and blt",
            help="Teacher to consider; repeat the option for several. known and none are always shown for comparison.",
            autocompletion=complete_teacher,
        ),
    ] = None,
    clients: options.Clients = simulator.DEFAULT_CLIENTS,
    horizon: options.Horizon = simulator.DEFAULT_HORIZON,
    cost_weight: Annotated[
        float,
        typer.Option(
            metavar="W",
            parser=number,
            help="Weight of cost, at least 0: the teacher with the lowest regret + W x cost is chosen.",
        ),
    ] = 1.0,
    min_decided: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            parser=number,
            help="Minimum share of runs, above 0 and at most 1, in which a teacher must decide to be chosen.",
        ),
    ] = 0.9,
    activity: options.Activity = None,
    delay: options.Delay = None,
    runs: Annotated[
        int,
        typer.Option(
            metavar="R",
            parser=whole_number,
            help="Number of runs with each teacher, at least 1; if the gap is assumed, each run draws its own means.",
        ),
    ] = simulator.DEFAULT_RUNS,
    seed: options.Seed = simulator.DEFAULT_SEED,
    workers: options.Workers = None,
    as_json: options.Json = False,
) -> None:
    """Choose a teacher before a campaign starts.

    The plan says which teachers decide before the horizon, what they cost, how the choice changes with a
    smaller gap, and which horizon or gap an undecided teacher needs.
    """
    from tutelage import planning
    from tutelage.cli import plan_output
    from tutelage.conditions import Conditions, with_options
    from tutelage.instances import load
    from tutelage.progress_bar import ProgressBar

    required = {"--num-clients": num_clients, "--num-arms": num_arms, "--gap": gap}
    optional = {"--means": means, "--rewards": rewards, "--weights": weights}
    case: planning.KnownInstance | planning.AssumedInstance
    if instance is not None:
        _refuse_assumptions({**required, **optional})
        known = load(instance)
        real = with_options(known.conditions, known.num_clients, activity, delay, {})
        case = planning.KnownInstance(dataclasses.replace(known, conditions=real))
    else:
        if num_clients is None or num_arms is None or gap is None:
            raise InputError(_describe_missing(required))
        low, high = _parse_range(means) if means is not None else (0.0, 1.0)
        case = planning.AssumedInstance(
            num_clients=num_clients,
            num_arms=num_arms,
            gap=gap,
            low=low,
            high=high,
            rewards=rewards or "bernoulli",
            weights=weights,
            conditions=with_options(Conditions(), num_clients, activity, delay, {}),
        )
    request = planning.make_request(
        case,
        teacher or None,
        clients,
        horizon=horizon,
        runs=runs,
        seed=seed,
        cost_weight=cost_weight,
        min_decided=min_decided,
    )
    with ProgressBar(request.num_runs) as bar:
        made = planning.make_plan(request, workers=workers, progress=bar)
    with checked_output():
        if as_json:
            sys.stdout.write(json.dumps(made.summary(), allow_nan=False) + "\n")
        else:
            plan_output.print_plan(made)


def _refuse_assumptions(assumptions: Mapping[str, object]) -> None:
    """Refuse assumptions next to a named instance."""
    for option, value in assumptions.items():
        if value is not None:
            raise InputError(f"{option} {value} and INSTANCE exclude each other: leave one of them out.")


def _describe_missing(required: Mapping[str, object]) -> str:
    missing = [option for option, value in required.items() if value is None]
    if len(missing) == len(required):
        return f"Missing INSTANCE: name one, as in tutelage plan paper, or give {_ASSUMED}."
    return f"Missing {' and '.join(missing)}: give all of {_ASSUMED}, or name an instance."


def _parse_range(text: str) -> tuple[float, float]:
    """Read ``"0.2;0.8"`` as two numbers.  Raises ``InputError``."""
    try:
        low, high = (float(part) for part in text.split(";"))
    except ValueError:
        raise InputError(f"Invalid --means {text!r}: use LOW;HIGH, as in '0.2;0.8'.") from None
    return low, high
