"""The commands, and how their errors are told.  A new command is one file here and one line below."""

import re
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from tutelage.cli.simulate import simulate
from tutelage.errors import InputError

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(simulate)

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
    except typer.Exit as stop:
        return stop.exit_code
    except InputError as error:
        return _fail(str(error), 2)
    except _UsageError as error:
        return _fail(_usage_sentence(error), 2)
    except MemoryError as error:
        return _fail(f"There is not enough memory: ask for fewer runs, checkpoints or clients ({error}).", 1)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        return _fail(f"{error.filename}: {reason}" if error.filename else reason, 1)
    return 0


def _fail(sentence: str, status: int) -> int:
    line = " ".join(sentence.split())
    sys.stderr.write(line if line.endswith((".", "?", "!")) else f"{line}.")
    sys.stderr.write("\n")
    return status


def _usage_sentence(error: Exception) -> str:
    """What typer says, as one sentence that ends with where to look."""
    told = error.format_message() if hasattr(error, "format_message") else str(error)
    told = re.sub(r"[.;]? Did you mean (.*?)\??$", r" (did you mean \1?)", " ".join(told.split()))
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "tutelage"
    return f"{told.rstrip('.')}; {path} --help lists what there is."
