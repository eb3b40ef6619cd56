"""``tutelage plan``: which teacher to run, whether it decides before the horizon, and what it costs."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated

from tutelage import simulator
from tutelage.cli import options
from tutelage.cli.completion import complete_teacher
from tutelage.cli.options import argument, number_option, option, whole_option
from tutelage.cli.printing import print_answer
from tutelage.errors import InputError

_ASSUMED = "--num-clients, --num-arms and --gap"


def plan(
    instance: Annotated[
        str | None,
        argument(
            "INSTANCE", "Instance to plan for, as in paper or a file of means; without one, give " + _ASSUMED + "."
        ),
    ] = None,
    num_clients: Annotated[int | None, whole_option("M", "Assumed number of clients, at least 1.")] = None,
    num_arms: Annotated[int | None, whole_option("K", "Assumed number of arms, at least 2.")] = None,
    gap: Annotated[
        float | None,
        number_option(
            "G",
            "Assumed gap, above 0: difference between the means of the best and the second-best arm over all clients.",
        ),
    ] = None,
    means: Annotated[
        str | None,
        option(
            "LOW;HIGH",
            "Assumed range of the mean reward of an arm at a client, within 0 and 1, as in '0.2;0.8'.",
            show_default="0;1",
        ),
    ] = None,
    rewards: Annotated[
        str | None,
        option(
            "DISTRIBUTION",
            "Assumed reward distribution: bernoulli, beta(concentration) or constant.",
            show_default="bernoulli",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        option(
            "A;B;C",
            "Assumed weights of the clients in the mean over all clients: numbers as in '0.5;0.3;0.2', or a file.",
            show_default="equal",
        ),
    ] = None,
    teacher: Annotated[
        list[str] | None,
        option(
            "SPEC",
            "Teacher to consider; repeat the option for several. known and none are always shown for comparison.",
            show_default="tal and twl with several gamma1 and gamma2, and blt",
            autocompletion=complete_teacher,
        ),
    ] = None,
    clients: options.Clients = simulator.DEFAULT_CLIENTS,
    horizon: options.Horizon = simulator.DEFAULT_HORIZON,
    cost_weight: Annotated[
        float,
        number_option("W", "Weight of cost, at least 0: the teacher with the lowest regret + W x cost is chosen."),
    ] = 1.0,
    min_decided: Annotated[
        float,
        number_option(
            "SHARE", "Minimum share of runs, above 0 and at most 1, in which a teacher must decide to be chosen."
        ),
    ] = 0.9,
    activity: options.Activity = None,
    delay: options.Delay = None,
    runs: Annotated[
        int,
        whole_option(
            "R", "Number of runs with each teacher, at least 1; if the gap is assumed, each run draws its own means."
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
    from tutelage.results import encode_json

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
    print_answer(made.summary, lambda: plan_output.print_plan(made), as_json=as_json, encode=encode_json)


def _refuse_assumptions(assumptions: Mapping[str, object]) -> None:
    """Refuse assumptions next to a named instance."""
    for name, value in assumptions.items():
        if value is not None:
            raise InputError(f"{name} {value} and INSTANCE exclude each other: leave one of them out.")


def _describe_missing(required: Mapping[str, object]) -> str:
    missing = [name for name, value in required.items() if value is None]
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
