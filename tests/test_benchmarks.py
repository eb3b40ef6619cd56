"""The programs of benchmarks/, as far as they can be tried without the libraries that they compare with."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

PLAY_THE_REFERENCE = """
import sys
sys.path.insert(0, sys.argv[1])
from other_libraries import play_plain, play_plain_taught
play_plain_taught("ucb1", "AlgorithmTwo", (1.0, 0.0), [[0.2, 0.8], [0.9, 0.1]], 200)
print(play_plain("ts", [1.0, 1.0], 50))
"""

CHECK_THE_COMMANDS = """
import sys
sys.path.insert(0, sys.argv[1])
import processes, simulator_speed, typer
from tutelage.cli.app import app

def parse(command):
    command = command[len(processes.tutelage_command()):]
    group = typer.main.get_command(app)
    context = group.make_context("tutelage", command)
    name, called, arguments = group.resolve_command(context, command)
    called.make_context(name, arguments, parent=context)
    print(name)
    return 1.0, 2.0

processes.measure_seconds_and_memory = parse
assert all(each.samples for each in simulator_speed.measure_long_commands())
"""


def test_the_plain_python_reference_is_found_from_any_folder(tmp_path):
    """Its modules import each other as parts of the package ``tests``, which no program of benchmarks/ is in."""
    command = [sys.executable, "-c", PLAY_THE_REFERENCE, str(BENCHMARKS)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "50.0\n"), done.stderr


def test_long_commands_have_the_options_that_they_are_called_with():
    """``make bench`` calls them after minutes of other measurements."""
    command = [sys.executable, "-c", CHECK_THE_COMMANDS, str(BENCHMARKS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["reproduce"] * 3 + ["simulate"]), done.stderr
