"""``tutelage run``: one's own experiment, from a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tutelage import simulator
from tutelage.cli import interrupts, options
from tutelage.cli.options import argument, option
from tutelage.cli.printing import print_answer
from tutelage.paths import expand_path
from tutelage.progress_bar import ProgressBar
from tutelage.text import format_count

if TYPE_CHECKING:
    from tutelage.experiments import Experiment
    from tutelage.report import ReportBuild


def run(
    file: Annotated[Path, argument("FILE", "TOML file that describes the experiment.")],
    out: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Folder for results and report; results that are already there are used again.",
            show_default="out/NAME",
        ),
    ] = None,
    data: Annotated[
        str | None,
        option("FOLDER", "Folder with the real data sets, for instances that need one.", show_default="TUTELAGE_DATA"),
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
    from tutelage.report import build_report
    from tutelage.results import encode_json

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
    print_answer(build.document, lambda: _describe(build), as_json=as_json, encode=encode_json)


def _describe(build: "ReportBuild") -> Iterator[str]:
    """Print what was simulated, or yield that nothing was."""
    from tutelage.cli.run_output import group_by_remedy, print_experiments

    if build.result is not None:
        print_experiments(build.result, build.files.page)
        return
    cells = format_count(len(build.preparation.cells), "cell")
    pictures = format_count(sum(map(len, build.files.pictures.values())), "picture")
    yield f"Everything is up to date ({cells}, {pictures}); nothing was run. The report is {build.files.page}."
    yield from build.preparation.warnings
    for remedy, names in group_by_remedy(build.preparation.missing).items():
        yield f"Left out: {', '.join(names)}. {remedy}"
