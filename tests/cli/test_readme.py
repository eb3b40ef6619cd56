"""The README shows what the commands print."""

import re
import shlex
from pathlib import Path

from tutelage.cli.app import execute

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_sample_is_what_simulate_prints(capsys):
    """The first command with `tutelage simulate`, and the block after the word "prints"."""
    command, sample = re.search(
        r"```sh\n\.venv/bin/(tutelage simulate .*?)\n```\n\nprints\n\n```text\n(.*?)\n```", README, re.DOTALL
    ).groups()
    assert execute(shlex.split(command.replace("\\\n", " "))[1:]) == 0
    assert capsys.readouterr().out == sample + "\n"
