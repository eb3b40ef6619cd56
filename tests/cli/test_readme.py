"""The README shows what the commands print, and the Makefile's commands can be repeated."""

import re
import shlex
from pathlib import Path

import pytest

from tutelage.cli.app import execute

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLES = re.findall(
    r"```sh\n\.venv/bin/(tutelage (?:[^\n]|(?<=\\)\n)*)\n```\n\nprints\n\n```text\n(.*?)\n```", README, re.DOTALL
)


def test_every_sample_belongs_to_a_command():
    """A block of text stands after one command and the word "prints"."""
    assert len(SAMPLES) == README.count("```text") > 0


@pytest.mark.parametrize(("command", "sample"), SAMPLES, ids=[command[:40] for command, _ in SAMPLES])
def test_a_sample_is_what_its_command_prints(capsys, command, sample):
    """Character by character."""
    assert execute(shlex.split(command.replace("\\\n", " "))[1:]) == 0
    assert capsys.readouterr().out == sample + "\n"


def test_make_run_can_be_repeated(tmp_path, capsys):
    """The commands of the target ``run``, with fewer and shorter runs, succeed twice and write the same."""
    recipe = re.search(r"^run:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
    lines = re.findall(r"^\t@\$\(BIN\)/(tutelage .*)$", recipe.replace("\\\n", " "), re.MULTILINE)
    commands = [shlex.split(line.replace("$(OUT)", str(tmp_path)))[1:] for line in lines]
    small = {"--horizon": "60", "--runs": "2"}
    for command in commands:
        for option, value in small.items():
            if option in command:
                command[command.index(option) + 1] = value
    assert [command[0] for command in commands] == ["simulate", "plot", "simulate", "plot"]
    contents = []
    for _ in range(2):
        for command in commands:
            assert execute(command) == 0, capsys.readouterr().err
        contents.append({path.name: path.read_bytes() for path in tmp_path.iterdir()})
    assert contents[0] == contents[1]
    assert set(contents[0]) == {"paper.nc", "paper.png", "grenoble.nc", "grenoble.png"}
