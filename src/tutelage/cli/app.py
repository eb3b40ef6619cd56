"""The commands, and how their errors are told.  A new command is one file here and one line below."""

import contextlib
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from tutelage.cli import campaign, db, key, ledger
from tutelage.cli.bound import bound
from tutelage.cli.config import config
from tutelage.cli.data import data
from tutelage.cli.demo import demo
from tutelage.cli.ending import is_interrupted
from tutelage.cli.output import printing
from tutelage.cli.plan import plan
from tutelage.cli.plot import plot
from tutelage.cli.reproduce import reproduce
from tutelage.cli.run import run
from tutelage.cli.serve import serve
from tutelage.cli.simulate import simulate
from tutelage.errors import InputError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(simulate)
app.command()(plot)
app.command()(reproduce)
app.command()(run)
app.command(short_help="Tell where the real data sets are, and check a copy.")(data)
app.command(short_help="Plan before you start: end, cost, teacher.")(plan)
app.command()(bound)
app.command()(serve)
app.command()(demo)
app.command(short_help="Print every setting and where it comes from.")(config)
for group, name in ((campaign, "campaign"), (key, "key"), (ledger, "ledger"), (db, "db")):
    app.add_typer(group.app, name=name)

# typer does not name the class of all usage errors (an unknown option, a missing value, a bad number).
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


@app.callback(invoke_without_command=True)
def tutelage(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Teach bandits that you do not own: lead many clients to the arm that is best for all of them."""
    if show_version:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"tutelage {version('tutelage')}")
        except PackageNotFoundError:
            typer.echo("tutelage, not installed")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def execute(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit status; what went wrong is one sentence on standard error."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("tutelage", list(arguments)) as context:
            command.invoke(context)
        return _printed(0)
    except typer.Exit as stop:
        return _printed(stop.exit_code)
    except InputError as error:
        return _fail(str(error), 2)
    except _UsageError as error:
        return _fail(_usage_sentence(error), 2)
    except MemoryError as error:
        return _fail(f"There is not enough memory: ask for fewer runs, checkpoints or clients ({error}).", 1)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _system_failure(error)


def _printed(status: int) -> int:
    """The status, once all that was printed has left."""
    try:
        with printing():
            return status
    except BrokenPipeError:
        raise
    except OSError as error:
        return _system_failure(error)


def _system_failure(error: OSError) -> int:
    reason, place = error.strerror or str(error), error.filename
    last = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1:]
    if last and last[0].f_code.co_name == "echo":  # typer's, of help and versions
        reason, place = f"cannot be written: {reason}", "Standard output"
    return _fail(f"{place}: {reason}" if place else reason, 1)


def _fail(sentence: str, status: int) -> int:
    if is_interrupted():  # compilers turn it into errors of their own
        raise KeyboardInterrupt
    line = " ".join(sentence.split())
    with contextlib.suppress(OSError):  # nobody can be told; the status remains
        sys.stderr.write((line if line.endswith((".", "?", "!")) else f"{line}.") + "\n")
    return status


def _usage_sentence(error: Exception) -> str:
    """What typer says, as one sentence that ends with where to look."""
    told = error.format_message() if hasattr(error, "format_message") else str(error)
    told = re.sub(r"[.;]? Did you mean (.*?)\??$", r" (did you mean \1?)", " ".join(told.split()))
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "tutelage"
    return f"{told.rstrip('.')}; {path} --help lists what there is."
