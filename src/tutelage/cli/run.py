"""``tutelage run``: an experiment of one's own, from its file."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tutelage import lab
from tutelage.cli import ending
from tutelage.cli.options import whole_number
from tutelage.cli.output import printing
from tutelage.cli.progress import Bar


def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", show_default=False, help="The experiment, a TOML file.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            show_default="out/NAME",
            help="Where results and report go; what is there already is not played again.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            show_default="TUTELAGE_DATA",
            help="Where real data sets are, for instances that need one.",
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
        str, typer.Option(metavar="WHERE", help="threads, processes or dask://HOST:PORT; changes no result.")
    ] = lab.DEFAULT_EXECUTOR,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the tables.")
    ] = False,
) -> None:
    """Play an experiment that a file describes, and write its report.

    Interrupted, it goes on where it stopped when it is run again.
    """
    from tutelage import experiments
    from tutelage.cli import run_page
    from tutelage.experiments.playing import made_folder
    from tutelage.report import summary, write_report

    experiment = experiments.read(file)
    folder = Path("out") / experiment.name if out is None else out
    cells = made_folder(folder)
    for place in (cells, cells.parent):
        ending.clears(place)
    with Bar(0) as bar:
        played = experiments.play(
            experiment, folder, workers=workers, executor=executor, progress=following(bar), data=data
        )
        report = write_report(played, drawing=lambda what: bar.say(f"drawing {what}"))
    with printing():
        if as_json:
            document = summary(played) | {"report": str(report.page)}
            sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
        else:
            run_page.show(played, report.page)


def following(bar: Bar) -> Callable[[float, int, str], None]:
    """What tells ``bar`` how far :func:`tutelage.experiments.play` has come."""

    def tell(done: float, total: int, cell: str) -> None:
        bar.progress.update(bar.task, completed=done, total=total, description=cell)

    return tell
