"""``tutelage reproduce``: every figure of the paper, as data, pictures and one page."""

from pathlib import Path
from typing import Annotated

import typer

from tutelage import lab
from tutelage.cli.options import whole_number
from tutelage.cli.run import carry_out
from tutelage.errors import InputError

_MOVIELENS = "ml-latest-small"


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...",
            show_default="all",
            help="Figures of the paper: fig2a to fig2l, fig3a, fig3b; fig2 and fig3 are all of their panels.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="R", parser=whole_number, show_default="100", help="Runs on a fixed instance, for curves."
        ),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(metavar="T", parser=whole_number, show_default="50000", help="Rounds in a run."),
    ] = None,
    runs_per_instance: Annotated[
        int | None,
        typer.Option(
            metavar="R",
            parser=whole_number,
            show_default="1",
            help="Runs on each of the random instances of fig2i to fig2l.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="S", parser=whole_number, show_default="1", help="Where all random numbers come from."
        ),
    ] = None,
    movielens: Annotated[
        str | None,
        typer.Option(
            "--movielens",
            "--data",
            metavar="PATH",
            show_default="TUTELAGE_DATA",
            help="The data of fig3: ml-latest-small as folder or archive, or the folder that it is in.",
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
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Where results, pictures and report go; what is there already is not played again.",
        ),
    ] = Path("out/paper"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the tables.")
    ] = False,
) -> None:
    """Make the figures of the paper, and try its claims on them.

    Interrupted, it goes on where it stopped when it is run again.  Without MovieLens the report says how to
    get it, and all else is made.
    """
    from tutelage import experiments
    from tutelage.experiments.data_sets import find_data_set, locate

    chosen = experiments.load_paper_experiments(
        figures or (), runs=runs, horizon=horizon, runs_per_instance=runs_per_instance, seed=seed
    )
    if movielens is not None and locate(find_data_set(_MOVIELENS), movielens) is None:
        raise InputError(
            f"{movielens!r} does not contain {_MOVIELENS}: name its folder or archive; tutelage data says "
            "where it is published."
        )
    carry_out(chosen, out, workers=workers, executor=executor, data=movielens, as_json=as_json)
