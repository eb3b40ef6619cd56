"""``tutelage simulate``: compare teachers on one instance."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from tutelage import simulator
from tutelage.cli import interrupts, options
from tutelage.cli.completion import complete_teacher
from tutelage.cli.options import flag, number_option, option
from tutelage.cli.printing import print_answer
from tutelage.conditions import with_options
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.results import check_result_path, encode_json, save
from tutelage.results import load as load_result

_NEXT_TO_FILE = ("from_file", "workers", "executor", "out", "force", "as_json")  # options of their own


def simulate(
    context: typer.Context,
    instance: options.OptionalInstance = None,
    teacher: Annotated[
        list[str] | None,
        option(
            "SPEC",
            "Teacher, as in twl or 'tal(gamma1=0,gamma2=0)'; repeat the option to compare several.",
            show_default="all built-in ones except jun, ace and change-detector",
            autocompletion=complete_teacher,
        ),
    ] = None,
    clients: options.Clients = simulator.DEFAULT_CLIENTS,
    horizon: options.Horizon = simulator.DEFAULT_HORIZON,
    runs: options.Runs = simulator.DEFAULT_RUNS,
    seed: options.Seed = simulator.DEFAULT_SEED,
    checkpoints: Annotated[
        str,
        option(
            "SPEC", "Rounds whose values --out saves: linear(count=200), logarithmic(count=200), or only their number."
        ),
    ] = simulator.DEFAULT_CHECKPOINTS,
    activity: options.Activity = None,
    delay: options.Delay = None,
    stop: Annotated[
        list[str] | None, option("M:T", "Let client M stop pulling after round T; repeat the option for other clients.")
    ] = None,
    exclude: Annotated[
        list[str] | None,
        option(
            "M:T",
            "Exclude client M after round T: the teacher goes on without its pulls; repeat the option for others.",
        ),
    ] = None,
    exclude_after: Annotated[
        float | None,
        number_option(
            "INTERVALS",
            "Exclude a client that has been silent for more than this many times its usual interval "
            "between pulls, at least 1.",
            show_default="never",
        ),
    ] = None,
    binary_reveals: Annotated[
        bool, flag("--binary-reveals", "Reveal only 0 and 1, for agents that refuse fractions.")
    ] = False,
    workers: options.Workers = None,
    executor: options.Executor = simulator.DEFAULT_EXECUTOR,
    engine: options.Engine = simulator.DEFAULT_ENGINE,
    from_file: Annotated[
        Path | None,
        option("FILE", "Simulate again what this result holds, instead of an INSTANCE and options.", "--from"),
    ] = None,
    out: Annotated[Path | None, option("FILE", "NetCDF file in which to save every run.")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
    show_list: Annotated[
        bool, flag("--list", "List all instances, policies, teachers and reward distributions, and exit.")
    ] = False,
) -> None:
    """Simulate teachers and compare them.

    The table shows the clients' regret, the cost of teaching, and what each teacher decided.
    """
    from tutelage.cli import simulate_output, spec_list
    from tutelage.progress_bar import ProgressBar

    if show_list:
        spec_list.print_specs(as_json=as_json)
        return
    if instance is None and from_file is None:
        raise InputError(
            "Missing INSTANCE: name one, as in tutelage simulate paper; tutelage simulate --list shows all."
        )
    if out is not None:
        interrupts.remove_unfinished_in(check_result_path(out).parent)
        options.check_new_file(out, force=force)
    if from_file is not None:
        _refuse_next_to_file(context)
        request = simulator.restore_request(load_result(from_file))
    else:
        loaded = load(str(instance))
        request = simulator.make_request(
            loaded,
            teacher or None,
            clients,
            horizon=horizon,
            runs=runs,
            seed=seed,
            checkpoints=checkpoints,
            conditions=with_options(
                loaded.conditions, loaded.num_clients, activity, delay, options.client_rounds("--stop", stop)
            ),
            exclude=options.client_rounds("--exclude", exclude),
            exclude_after=exclude_after,
            engine=engine,
            binary_reveals=binary_reveals,
        )
        request = dataclasses.replace(request, command=simulator.write_command(request, checkpoints))
    unsaved: Exception | None = None
    with ProgressBar(request.runs * len(request.teachers)) as bar:
        result = simulator.simulate_request(request, workers=workers, executor=executor, progress=bar)
        if out is not None:
            bar.describe(f"saving {out}")
            try:
                save(result.to_dataset(), out)
            except (InputError, OSError, MemoryError) as error:
                unsaved = error  # raised after the result is printed, so that it is not lost
    print_answer(
        result.summary,
        lambda: simulate_output.print_result(result, None if unsaved else out),
        as_json=as_json,
        encode=encode_json,
    )
    if unsaved is not None:
        raise unsaved


def _refuse_next_to_file(context: typer.Context) -> None:
    """Raise ``InputError`` if an option is given whose value the file of ``--from`` holds."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE" and parameter.name not in _NEXT_TO_FILE:
            name = parameter.opts[0] if parameter.param_type_name == "option" else "INSTANCE"
            raise InputError(f"{name} and --from exclude each other: leave one of them out.")
