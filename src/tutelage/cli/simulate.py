"""``tutelage simulate``: teachers side by side on one instance."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tutelage import lab
from tutelage.cli import ending
from tutelage.cli.options import client_rounds, number, whole_number
from tutelage.cli.output import printing
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.instances.conditions import with_options
from tutelage.results import check_result_path, encode_json, save


def simulate(
    instance: Annotated[
        str | None,
        typer.Argument(
            metavar="INSTANCE",
            show_default=False,
            help="Where rewards come from: paper; uniform:clients=5,arms=5,seed=3; a file of means; ...",
        ),
    ] = None,
    teacher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            show_default="all, side by side",
            help="A teacher, as in twl or 'tal(gamma1=0,gamma2=0)'; give the option once for each.",
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
        int, typer.Option(metavar="T", parser=whole_number, help="Rounds in a run.")
    ] = lab.DEFAULT_HORIZON,
    runs: Annotated[
        int, typer.Option(metavar="R", parser=whole_number, help="Runs of each teacher.")
    ] = lab.DEFAULT_RUNS,
    seed: Annotated[
        int,
        typer.Option(
            metavar="S",
            parser=whole_number,
            help="Where all random numbers come from; the same for every teacher.",
        ),
    ] = lab.DEFAULT_SEED,
    checkpoints: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="Rounds to keep in --out: linear(count=200), logarithmic(count=200), or a number of them.",
        ),
    ] = lab.DEFAULT_CHECKPOINTS,
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
    stop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M:T", show_default=False, help="Client M stops after round T; once for each client."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="M:T",
            show_default=False,
            help="Client M no longer counts after round T; once for each client.",
        ),
    ] = None,
    exclude_after: Annotated[
        float | None,
        typer.Option(
            metavar="GAPS",
            parser=number,
            show_default="never",
            help="A client that has been silent over this many of its usual gaps no longer counts.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number,
            show_default="all cores",
            help="Runs played at a time; changes no result.",
        ),
    ] = None,
    executor: Annotated[
        str,
        typer.Option(
            metavar="WHERE", help="auto, threads, processes or dask://HOST:PORT; changes no result."
        ),
    ] = lab.DEFAULT_EXECUTOR,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Save every run as a NetCDF file."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the table.")
    ] = False,
    show_list: Annotated[
        bool,
        typer.Option(
            "--list", help="List all instances, policies, teachers and reward distributions, and end."
        ),
    ] = False,
) -> None:
    """Simulate teachers side by side.

    Tells what the clients lost, what the teaching cost and what was learned.
    """
    from tutelage.cli import listing, table
    from tutelage.cli.progress import Bar

    if show_list:
        with printing():
            listing.show(as_json=as_json)
        return
    if instance is None:
        raise InputError(
            "Name an instance, as in tutelage simulate paper; tutelage simulate --list shows all."
        )
    if out is not None:
        ending.clears(check_result_path(out).parent)
    loaded = load(instance)
    request = lab.make_request(
        loaded,
        teacher or None,
        clients,
        horizon=horizon,
        runs=runs,
        seed=seed,
        checkpoints=checkpoints,
        conditions=with_options(
            loaded.conditions, loaded.num_clients, activity, delay, client_rounds("--stop", stop)
        ),
        exclude=client_rounds("--exclude", exclude),
        exclude_after=exclude_after,
    )
    unsaved: Exception | None = None
    with Bar(runs * len(request.teachers)) as bar:
        outcome = lab.simulate_request(request, workers=workers, executor=executor, progress=bar)
        if out is not None:
            bar.say(f"saving {out}")
            try:
                save(outcome.to_dataset(), out)
            except (InputError, OSError, MemoryError) as error:
                unsaved = error  # told last: what was computed is not lost
    with printing():
        if as_json:
            sys.stdout.write(encode_json(outcome.summary()) + "\n")
        else:
            table.show(outcome, None if unsaved else out)
    if unsaved is not None:
        raise unsaved
