"""``tutelage run``: an experiment of one's own, from its file."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage import lab
from tutelage.cli import ending
from tutelage.cli.options import whole_number
from tutelage.cli.output import printing
from tutelage.cli.progress import Bar
from tutelage.instances.files import expanded
from tutelage.text import counted

if TYPE_CHECKING:
    from tutelage.experiments import Experiment
    from tutelage.report import ReportBuild


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
        str,
        typer.Option(
            metavar="WHERE", help="auto, threads, processes or dask://HOST:PORT; changes no result."
        ),
    ] = lab.DEFAULT_EXECUTOR,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of the tables.")
    ] = False,
) -> None:
    """Play an experiment that a file describes, and write its report.

    Interrupted, it goes on where it stopped when it is run again.
    """
    from tutelage import experiments

    experiment = experiments.read_experiment(file)
    folder = Path("out") / experiment.name if out is None else out
    carry_out((experiment,), folder, workers=workers, executor=executor, data=data, as_json=as_json)


def carry_out(
    chosen: "Sequence[Experiment]",
    folder: Path,
    *,
    workers: int | None,
    executor: str,
    data: str | None,
    as_json: bool,
) -> None:
    """Play and draw, and print what came of it."""
    import msgspec

    from tutelage.report import build_report

    place = expanded(folder).resolve()
    for each in (place, place / "cells"):
        ending.clears(each)
    with Bar(0) as bar:
        build = build_report(
            chosen,
            folder,
            workers=workers,
            executor=executor,
            progress=following(bar),
            data=data,
            drawing=lambda what: bar.say(f"drawing {what}"),
        )
    with printing():
        if as_json:
            document = msgspec.to_builtins(build.document())
            sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
        elif build.result is None:
            _print_up_to_date(build)
        else:
            from tutelage.cli import run_page

            run_page.show(build.result, build.files.page)


def _print_up_to_date(build: "ReportBuild") -> None:
    """Print one line, and one for each warning about the data."""
    from tutelage.cli.run_page import left_out

    cells = counted(len(build.preparation.cells), "cell")
    drawn = counted(sum(map(len, build.files.pictures.values())), "picture")
    sys.stdout.write(
        f"Everything is up to date ({cells}, {drawn}); nothing was run.  The report is {build.files.page}.\n"
    )
    sys.stdout.writelines(f"{warning}\n" for warning in build.preparation.warnings)
    for sentence, names in left_out(build.preparation.missing).items():
        sys.stdout.write(f"Left out: {', '.join(names)}. {sentence}\n")


def following(bar: Bar) -> Callable[[float, int, str], None]:
    """What tells ``bar`` how far :func:`tutelage.experiments.run_experiment` has come."""

    def tell(done: float, total: int, cell: str) -> None:
        bar(done, total=total, what=cell)

    return tell
