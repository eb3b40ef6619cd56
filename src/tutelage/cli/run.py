"""``tutelage run``: one's own experiment, from a file."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage import simulator
from tutelage.cli import interrupts, options
from tutelage.cli.printing import checked_output
from tutelage.paths import expand_path
from tutelage.progress_bar import ProgressBar
from tutelage.text import format_count

if TYPE_CHECKING:
    from tutelage.experiments import Experiment
    from tutelage.report import ReportBuild


def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", show_default=False, help="TOML file that describes the experiment.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            show_default="out/NAME",
            help="Folder for results and report; results that are already there are used again.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            show_default="TUTELAGE_DATA",
            help="Folder with the real data sets, for instances that need one.",
        ),
    ] = None,
    workers: options.Workers = None,
    executor: options.Executor = simulator.DEFAULT_EXECUTOR,
    engine: options.OwnEngine = None,
    as_json: options.Json = False,
) -> None:
    """Run the experiment that a file describes, and write its report.

    After an interrupt, run the command again: it continues where it stopped.
    """
    from tutelage import experiments

    experiment = experiments.read_experiment(file)
    folder = Path("out") / experiment.name if out is None else out
    experiment = with_engine(experiment, engine)
    run_experiments((experiment,), folder, workers=workers, executor=executor, data=data, as_json=as_json)


def with_engine(experiment: "Experiment", engine: str | None) -> "Experiment":
    """Return the experiment with the engine of the command line, if there is one.  Raises ``InputError``."""
    from msgspec.structs import replace

    return experiment if engine is None else replace(experiment, engine=simulator.parse_engine(engine))


def run_experiments(
    chosen: "Sequence[Experiment]", folder: Path, *, workers: int | None, executor: str, data: str | None, as_json: bool
) -> None:
    """Simulate and draw the experiments, write their report and print a summary."""
    import msgspec

    from tutelage.report import build_report

    place = expand_path(folder).resolve()
    for each in (place, place / "cells"):
        interrupts.remove_unfinished_in(each)
    interrupts.promise_resumption()
    with ProgressBar(0) as bar:
        build = build_report(
            chosen,
            folder,
            workers=workers,
            executor=executor,
            progress=lambda done, total, cell: bar(done, total=total, what=cell),
            announce=bar.print,
            data=data,
            drawing=lambda what: bar.describe(f"drawing {what}"),
        )
    with checked_output():
        if as_json:
            document = msgspec.to_builtins(build.document())
            sys.stdout.write(json.dumps(document, allow_nan=False) + "\n")
        elif build.result is None:
            _print_up_to_date(build)
        else:
            from tutelage.cli import run_output

            run_output.print_experiments(build.result, build.files.page)


def _print_up_to_date(build: "ReportBuild") -> None:
    from tutelage.cli.run_output import group_by_remedy

    cells = format_count(len(build.preparation.cells), "cell")
    pictures = format_count(sum(map(len, build.files.pictures.values())), "picture")
    sys.stdout.write(
        f"Everything is up to date ({cells}, {pictures}); nothing was run. The report is {build.files.page}.\n"
    )
    sys.stdout.writelines(f"{warning}\n" for warning in build.preparation.warnings)
    for remedy, names in group_by_remedy(build.preparation.missing).items():
        sys.stdout.write(f"Left out: {', '.join(names)}. {remedy}\n")
