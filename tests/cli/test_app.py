"""Commands are imported only when they are called."""

import subprocess
import sys

import typer.main

from tutelage.cli.app import app, make_app


def test_help_is_that_of_the_commands_themselves():
    """The lines of ``tutelage --help`` are the first ones of each command's own help."""
    whole, names = (typer.main.get_group(each).commands for each in (app, make_app()))
    assert list(whole) == list(names)
    for name, command in whole.items():
        assert names[name].get_short_help_str(200) == command.get_short_help_str(200)


def test_help_imports_no_command():
    """So ``tutelage --help`` takes a fraction of a second: numpy, numba and rich are not imported."""
    code = (
        "import sys; from tutelage.cli.app import execute; execute(['--help']); "
        "print(sorted({'numpy', 'numba', 'rich', 'msgspec', 'tutelage.cli.simulate'} & sys.modules.keys()))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == "[]"
