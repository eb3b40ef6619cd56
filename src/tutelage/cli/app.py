"""The commands, and how their errors are reported.  A new command is one file here and one line below.

Only the command that is called is imported: the help of all others is the line here.
"""

import contextlib
import functools
import importlib
import inspect
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
import typer.core

from tutelage.cli.interrupts import is_interrupted
from tutelage.errors import InputError, RefusalError
from tutelage.text import format_controls

_COMMANDS = {
    "simulate": "Simulate teachers and compare them.",
    "plot": "Draw saved results.",
    "verify": "Simulate a saved result again, and compare every value.",
    "reproduce": "Make the figures of the paper, and check its claims.",
    "run": "Run the experiment that a file describes, and write its report.",
    "data": "List the real data sets, or check a copy of one.",
    "plan": "Choose a teacher before a campaign starts.",
    "bound": "Compute upper and lower bounds on regret and cost.",
    "check": "Check a policy or teacher of your own.",
    "serve": "Serve campaigns over HTTP until interrupted.",
    "stream": "Answer the pulls of a Redis stream until interrupted.",
    "demo": "Watch a live server teach five clients, in about a minute.",
    "config": "Print the server's settings and where each value comes from.",
    "audit": "Print who created, changed and deleted campaigns and keys.",
}
_GROUPS = {
    "agent": "Check whether an agent of another library can be taught.",
    "campaign": "Create and manage campaigns of a running server.",
    "key": "Create, list, rotate and revoke keys of the live server.",
    "ledger": "Verify, export and import the ledgers in a store.",
    "db": "Create, check, measure and back up a store.",
}
_FILES_OF_CAMPAIGN = {"campaign_monitor": "monitor", "campaign_decisions": "decisions"}

LOG_LEVEL = logging.INFO  # of what the simulator says on standard error
_TRACEBACK, _COMPLETION = "--traceback", "_TUTELAGE_COMPLETE"


def _add_traceback_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--traceback``, which :func:`execute` reads."""

    @functools.wraps(command)
    def run(*arguments: Any, show_traceback: bool = False, **options: Any) -> None:
        command(*arguments, **options)

    help = "Print the traceback of an error before its message."
    option = inspect.Parameter(
        "show_traceback",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option(_TRACEBACK, help=help)],
    )
    own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in inspect.signature(command).parameters.values()]
    run.__signature__ = inspect.Signature([*own, option])  # type: ignore[attr-defined]
    return run


#: Packages of `tutelage` that `tutelage-server` does not install.
_NOT_IN_SERVER = frozenset(
    {"bokeh", "h5netcdf", "h5py", "llvmlite", "matplotlib", "numba", "polars", "scipy", "xarray"}
)
_LONG_NUMBER = re.compile("([0-9]{30})[0-9]{10,}")
# typer exports no name for the base class of usage errors (an unknown option, a missing value, a bad number).
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class _Command(typer.core.TyperCommand):
    """A command that refuses an option with one value where it is given twice, instead of taking the last one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for option in order:
            single = isinstance(option, typer.core.TyperOption) and not (option.is_flag or option.multiple)
            if single and order.count(option) > 1:
                raise _UsageError(f"{option.opts[0]} is given {order.count(option)} times: give it once.", ctx)
        return super().parse_args(ctx, args)


def make_app(*imported: str) -> typer.Typer:
    """Return the command line with these commands and groups; of the others it knows only names and help."""
    app = typer.Typer(
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(invoke_without_command=True)(tutelage)
    for name, help in _COMMANDS.items():
        if name in imported:
            command = getattr(importlib.import_module(f"tutelage.cli.{name}"), name)
            app.command(name, cls=_Command)(_add_traceback_option(command))
        else:
            app.command(name, help=help)(_is_not_imported)
    for name, help in _GROUPS.items():
        app.add_typer(_import_group(name) if name in imported else typer.Typer(help=help), name=name)
    return app


@functools.cache
def _import_group(name: str) -> typer.Typer:
    group: typer.Typer = importlib.import_module(f"tutelage.cli.{name}").app
    if name == "campaign":
        for file, command in _FILES_OF_CAMPAIGN.items():
            group.command()(getattr(importlib.import_module(f"tutelage.cli.{file}"), command))
    for registered in group.registered_commands:
        if registered.callback is not None:
            registered.callback, registered.cls = _add_traceback_option(registered.callback), _Command
    return group


def _is_not_imported() -> None:
    """Stand in for a command that is not called."""
    raise AssertionError


def __getattr__(name: str) -> typer.Typer:
    """Return ``app``, the command line with all commands imported."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_app(*_COMMANDS, *_GROUPS)


def tutelage(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Lead many bandit clients to the arm that is best for all of them, by adjusting their rewards."""
    if show_version:
        from tutelage.versions import package_version

        typer.echo(f"tutelage {package_version()}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def execute(arguments: Sequence[str]) -> int:
    """Run a command line, report an error in one sentence on standard error, and return the exit status."""
    if _COMPLETION in os.environ:  # the shell asks for suggestions or for its script
        typer.main.get_command(make_app(*_COMMANDS, *_GROUPS)).main(list(arguments), prog_name="tutelage")
    called = next((each for each in arguments if not each.startswith("-")), "")
    _print_log_of_simulator()
    try:
        command = typer.main.get_command(make_app(called))
        with command.make_context("tutelage", list(arguments)) as context:
            command.invoke(context)
        return _flush_output(0)
    except typer.Exit as stop:
        return _flush_output(stop.exit_code)
    except BrokenPipeError:
        raise
    except (InputError, _UsageError, MemoryError, OSError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name not in _NOT_IN_SERVER:
            raise
        if _TRACEBACK in arguments:
            with contextlib.suppress(OSError):
                traceback.print_exception(error)
        return _report_error(error)


class _StandardError(logging.Handler):
    """Prints a message as a line, above the bar of the progress if one is shown."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        with contextlib.suppress(OSError):
            sys.stderr.write(f"{record.getMessage()}\n")
            sys.stderr.flush()


def _print_log_of_simulator() -> None:
    """Print that code is compiled, and warnings about long simulations, on standard error."""
    log = logging.getLogger("tutelage.simulator")
    if not log.handlers:
        log.addHandler(_StandardError())
    log.setLevel(LOG_LEVEL)


def _report_error(error: Exception) -> int:
    if isinstance(error, ModuleNotFoundError):
        return _report(f"This command needs {error.name}, which tutelage-server does not bring: install tutelage.", 1)
    if isinstance(error, InputError):
        return _report(str(error), 1 if isinstance(error, RefusalError) else 2)
    if isinstance(error, MemoryError):
        return _report(f"Not enough memory: ask for fewer runs, checkpoints or clients ({error}).", 1)
    return _report_system_error(error) if isinstance(error, OSError) else _report(_usage_sentence(error), 2)


def _flush_output(status: int) -> int:
    """Flush standard output and return the status."""
    from tutelage.cli.printing import checked_output

    try:
        with checked_output():
            return status
    except BrokenPipeError:
        raise
    except OSError as error:
        return _report_system_error(error)


def _report_system_error(error: OSError) -> int:
    reason, place = error.strerror or str(error), error.filename
    last = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1:]
    if last and last[0].f_code.co_name == "echo":  # typer printed the help or the version
        reason, place = f"cannot be written: {reason}", "Standard output"
    return _report(f"{place}: {reason}" if place else reason, 1)


def _report(sentence: str, status: int) -> int:
    if is_interrupted():  # compilers turn the interrupt into errors of their own
        raise KeyboardInterrupt
    from tutelage.stores.address import hide_passwords_in

    line = _LONG_NUMBER.sub(r"\1...", hide_passwords_in(format_controls(" ".join(sentence.split()))))
    with contextlib.suppress(OSError):  # standard error is closed or full; the status remains
        sys.stderr.write((line if line.endswith((".", "?", "!")) else f"{line}.") + "\n")
    return status


def _usage_sentence(error: Exception) -> str:
    """Return typer's message as one sentence that ends with where to look."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    message = re.sub(r"[.;]? Did you mean (.*?)\??$", r" (did you mean \1?)", " ".join(message.split()))
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "tutelage"
    return f"{message.rstrip('.')}; see {path} --help."
