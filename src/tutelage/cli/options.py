"""Options and arguments that several commands share, and how their values are read."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tutelage.cli.completion import complete_instance, complete_policies
from tutelage.errors import InputError, RefusalError
from tutelage.paths import expand_path
from tutelage.validation import read_whole


def whole_number(text: str | int) -> int:
    """Read a whole number, which may be written as in 50_000 or 5e4."""
    number = text if isinstance(text, int) else read_whole(text)
    if number is None:
        raise typer.BadParameter(f"{text!r} is not a whole number, as in 1000, 1_000 or 1e3")
    return number


def number(text: str | float) -> float:
    """Read a number with a decimal point."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number, as in 20 or 2.5") from None


def option(metavar: str, help: str, *names: str, **settings: Any) -> Any:
    """Return an option with a value, which ``names`` name where its parameter does not."""
    return typer.Option(*names, metavar=metavar, help=help, **settings)


def whole_option(metavar: str, help: str, **settings: Any) -> Any:
    """Return an option whose value is a whole number."""
    return option(metavar, help, parser=whole_number, **settings)


def number_option(metavar: str, help: str, **settings: Any) -> Any:
    """Return an option whose value is a number."""
    return option(metavar, help, parser=number, **settings)


def flag(name: str, help: str) -> Any:
    """Return an option without a value."""
    return typer.Option(name, help=help)


def argument(metavar: str, help: str, **settings: Any) -> Any:
    """Return an argument."""
    return typer.Argument(metavar=metavar, help=help, **settings)


def client_rounds(name: str, given: list[str] | None) -> dict[int, int]:
    """Read ``["0:1000", "3:20_000"]`` as {client: round}.  Raises ``InputError``."""
    found: dict[int, int] = {}
    for text in given or []:
        client, _, round = map(read_whole, text.partition(":"))
        if client is None or round is None:
            raise InputError(f"Invalid {name} {text!r}: use CLIENT:ROUND, as in {name} 0:1000.")
        if client in found:
            raise InputError(f"{name} names client {client} twice: give one round for it.")
        found[client] = round
    return found


def check_new_file(out: Path, *, force: bool) -> None:
    """Raise ``InputError`` if the file of ``--out`` exists, unless it may be replaced."""
    if not force and expand_path(out).exists():
        raise InputError(f"{str(out)!r} exists already: add --force to replace it, or use another --out.")


def confirm(question: str, *, yes: bool) -> None:
    """Ask on the terminal whether to do what cannot be undone, unless ``--yes`` is given.

    Raises ``InputError`` without a terminal, and ``RefusalError`` if the answer is not yes.
    """
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError(f"{question} This cannot be undone: add --yes to do it without a terminal.")
    sys.stderr.write(f"{question} This cannot be undone. [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise RefusalError("Nothing was changed.")


_INSTANCE_HELP = (
    "Instance, as in paper, uniform:clients=5,arms=5,seed=3 or a file of means; tutelage simulate --list shows all."
)

_INSTANCE = argument("INSTANCE", _INSTANCE_HELP, autocompletion=complete_instance)

Instance = Annotated[str, _INSTANCE]
OptionalInstance = Annotated[str | None, _INSTANCE]
Clients = Annotated[
    str,
    option(
        "SPEC",
        "Policies of the clients: ucb1 for all of them, or 2*ucb1,2*eps-greedy,1*ts in the clients' order.",
        autocompletion=complete_policies,
    ),
]
Horizon = Annotated[int, whole_option("T", "Number of rounds in a run, at least 1.")]
Runs = Annotated[int, whole_option("R", "Number of runs with each teacher, at least 1.")]
Seed = Annotated[int, whole_option("S", "Seed of all random numbers, at least 0.")]
Activity = Annotated[
    str | None,
    option(
        "P",
        "Probability, above 0 and at most 1, that a client acts in a round: one number for all clients, "
        "or one for each as in '1;1;0.1'.",
        show_default="1",
    ),
]
Delay = Annotated[
    str | None,
    option(
        "D",
        "Number of rounds, at least 0, until a pull reaches the teacher: one number for all clients, or "
        "one for each as in '0;0;5'.",
        show_default="0",
    ),
]
Workers = Annotated[
    int | None,
    whole_option(
        "N",
        "Number of runs to simulate at the same time, at least 1; does not change results.",
        show_default="all cores",
    ),
]
Executor = Annotated[
    str,
    option("WHERE", "Where to simulate runs: auto, threads, processes or dask://HOST:PORT; does not change results."),
]
_ENGINE_HELP = (
    "How to simulate: step plays every round; leap leaps over rounds where that does not change the distribution of "
    "any result; auto steps below 5,000,000 client-rounds (clients times horizon) and leaps, if any client can, from "
    "there on."
)
Engine = Annotated[str, option("NAME", _ENGINE_HELP)]
OwnEngine = Annotated[str | None, option("NAME", _ENGINE_HELP, show_default="that of the experiment")]
Force = Annotated[bool, flag("--force", "Replace the file of --out if it exists.")]
Yes = Annotated[bool, flag("--yes", "Do it without asking; needed where there is no terminal.")]
Json = Annotated[bool, flag("--json", "Print one JSON document instead of text.")]
