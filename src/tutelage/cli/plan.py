"""``tutelage plan``: will learning end in time, what will it cost, and which teacher to run."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from tutelage import lab
from tutelage.cli.options import number, whole_number
from tutelage.cli.output import printing
from tutelage.errors import InputError

_GUESSED = "--num-clients, --num-arms and --gap"


def plan(
    instance: Annotated[
        str | None,
        typer.Argument(
            metavar="INSTANCE",
            show_default=False,
            help="What is planned for: paper; a file of means; ... or, if you do not know it, "
            + _GUESSED
            + ".",
        ),
    ] = None,
    num_clients: Annotated[
        int | None,
        typer.Option(metavar="M", parser=whole_number, show_default=False, help="Number of clients."),
    ] = None,
    num_arms: Annotated[
        int | None,
        typer.Option(metavar="K", parser=whole_number, show_default=False, help="Number of arms."),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            metavar="G",
            parser=number,
            show_default=False,
            help="A guess of how far the best arm's mean over all clients leads the next best.",
        ),
    ] = None,
    means: Annotated[
        str | None,
        typer.Option(
            metavar="LOW;HIGH",
            show_default="0;1",
            help="A guess of the range in which mean rewards of an arm at a client lie.",
        ),
    ] = None,
    rewards: Annotated[
        str | None,
        typer.Option(
            metavar="LAW",
            show_default="bernoulli",
            help="Of guessed means: bernoulli, beta(concentration) or constant.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="A;B;C",
            show_default="equal",
            help="Of guessed clients: their weights in the global model, or a file.",
        ),
    ] = None,
    teacher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            show_default="tal and twl over some gamma1 and gamma2, and blt",
            help="A candidate; give the option once for each. known and none are always shown beside.",
        ),
    ] = None,
    clients: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="How the clients play: ucb1 (all of them), or 2*ucb1,2*eps-greedy,1*ts (in this order).",
        ),
    ] = lab.DEFAULT_CLIENTS,
    horizon: Annotated[
        int, typer.Option(metavar="T", parser=whole_number, help="Rounds that the system will run.")
    ] = lab.DEFAULT_HORIZON,
    cost_weight: Annotated[
        float,
        typer.Option(
            metavar="W",
            parser=number,
            help="What a unit of cost is worth; regret + W x cost decides.",
        ),
    ] = 1.0,
    least_ends: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            parser=number,
            help="A teacher that ends learning in a smaller share of the runs is not chosen.",
        ),
    ] = 0.9,
    activity: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            show_default="1",
            help="Probability with which a client acts in a round; one number, or 1;1;0.1 for each client.",
        ),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="D",
            show_default="0",
            help="Rounds that a pull takes to arrive; one number, or 0;0;5 for each client.",
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            metavar="R",
            parser=whole_number,
            help="Runs of each teacher; each on means of its own where they are guessed.",
        ),
    ] = lab.DEFAULT_RUNS,
    seed: Annotated[
        int,
        typer.Option(metavar="S", parser=whole_number, help="Where all random numbers come from."),
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
        bool, typer.Option("--json", help="Print one JSON document instead of the tables.")
    ] = False,
) -> None:
    """Plan before you start: can learning end in time, at what cost, and with which teacher.

    Tells it for the instance and horizon, for smaller gaps, and what would do where learning cannot end.
    """
    from tutelage import planning
    from tutelage.cli import plan_page
    from tutelage.cli.progress import Bar
    from tutelage.instances import load
    from tutelage.instances.conditions import Conditions, with_options

    guessed = {"--num-clients": num_clients, "--num-arms": num_arms, "--gap": gap}
    loose = {"--means": means, "--rewards": rewards, "--weights": weights}
    case: planning.Given | planning.Guess
    if instance is not None:
        _refuse({**guessed, **loose})
        known = load(instance)
        real = with_options(known.conditions, known.num_clients, activity, delay, {})
        case = planning.Given(dataclasses.replace(known, conditions=real))
    else:
        if num_clients is None or num_arms is None or gap is None:
            raise InputError(_lacking(guessed))
        low, high = _range(means) if means is not None else (0.0, 1.0)
        case = planning.Guess(
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
        least_ends=least_ends,
    )
    with Bar(request.num_runs) as bar:
        made = planning.run(request, workers=workers, progress=bar)
    with printing():
        if as_json:
            sys.stdout.write(json.dumps(made.summary(), allow_nan=False) + "\n")
        else:
            plan_page.show(made)


def _refuse(options: Mapping[str, object]) -> None:
    """What is guessed has no place beside an instance that is known."""
    for option, value in options.items():
        if value is not None:
            raise InputError(f"{option} {value} is a guess and an INSTANCE is named: leave one of them out.")


def _lacking(guessed: Mapping[str, object]) -> str:
    lacking = [option for option, value in guessed.items() if value is None]
    if len(lacking) == len(guessed):
        return f"Name an instance, as in tutelage plan paper, or guess one with {_GUESSED}."
    return f"To plan for a guess, give {' and '.join(lacking)} too, or name an instance."


def _range(text: str) -> tuple[float, float]:
    """``"0.2;0.8"`` as two numbers.  Raises ``InputError``."""
    try:
        low, high = (float(part) for part in text.split(";"))
    except ValueError:
        raise InputError(f"--means {text!r} is not LOW;HIGH, as in 0.2;0.8.") from None
    return low, high
