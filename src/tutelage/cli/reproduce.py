"""``tutelage reproduce``: every figure of the paper, as data, pictures and one report."""

from pathlib import Path
from typing import Annotated

from tutelage import simulator
from tutelage.cli import options
from tutelage.cli.options import argument, option, whole_option
from tutelage.cli.run import run_experiments, with_engine
from tutelage.errors import InputError

_MOVIELENS = "ml-latest-small"


def reproduce(
    figures: Annotated[
        list[str] | None,
        argument(
            "[FIGURE]...",
            "Figures to make: fig2a to fig2l, fig3a, fig3b; fig2 and fig3 mean all of their panels.",
            show_default="all",
        ),
    ] = None,
    runs: Annotated[
        int | None, whole_option("R", "Number of runs on each fixed instance, at least 1.", show_default="100")
    ] = None,
    horizon: Annotated[
        int | None, whole_option("T", "Number of rounds in a run, at least 1.", show_default="50000")
    ] = None,
    runs_per_instance: Annotated[
        int | None,
        whole_option("R", "Number of runs on each random instance of fig2i to fig2l, at least 1.", show_default="1"),
    ] = None,
    seed: Annotated[int | None, whole_option("S", "Seed of all random numbers, at least 0.", show_default="1")] = None,
    movielens: Annotated[
        str | None,
        option(
            "PATH",
            "Data set ml-latest-small for fig3: its folder or archive, or the folder that contains it.",
            "--movielens",
            "--data",
            show_default="TUTELAGE_DATA",
        ),
    ] = None,
    workers: options.Workers = None,
    executor: options.Executor = simulator.DEFAULT_EXECUTOR,
    engine: options.OwnEngine = None,
    out: Annotated[
        Path,
        option("FOLDER", "Folder for results, pictures and report; results that are already there are used again."),
    ] = Path("out/paper"),
    as_json: options.Json = False,
) -> None:
    """Make the figures of the paper, and check its claims.

    After an interrupt, run the command again: it continues where it stopped.
    Without the MovieLens data set fig3 is left out, and the report says where to get it.
    """
    from tutelage import experiments
    from tutelage.experiments.data_sets import find_data_set, locate

    chosen = experiments.load_paper_experiments(
        figures or (), runs=runs, horizon=horizon, runs_per_instance=runs_per_instance, seed=seed
    )
    if movielens is not None and locate(find_data_set(_MOVIELENS), movielens) is None:
        raise InputError(
            f"{movielens!r} does not contain {_MOVIELENS}: name its folder or archive; tutelage data lists "
            "where it is published."
        )
    chosen = tuple(with_engine(each, engine) for each in chosen)
    run_experiments(chosen, out, workers=workers, executor=executor, data=movielens, as_json=as_json)
