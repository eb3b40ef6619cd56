"""A user's small experiment, and what a report's folder contains."""

from tutelage.experiments.parsing import parse_experiment

NAMES = ["fig2a", "fig2b", "fig2i"]

SMALL = """
name = "own"
runs = 2
horizons = [60]
checkpoints = 3
teachers = ["twl", "none"]
[[instances]]
label = "p"
spec = "paper"
[[clients]]
label = "u"
spec = "ucb1"
[[panels]]
name = "a"
title = "OLD"
quantity = "regret"
instance = "p"
clients = "u"
[[panels]]
name = "b"
title = "OLD"
quantity = "cost"
instance = "p"
clients = "u"
[[panels.claims]]
kind = "below"
text = "Teaching costs."
section = "our guess"
teachers = ["none"]
than = ["twl(gamma1=1,gamma2=0)"]
"""


def parse_small(text=SMALL):
    """Parse a user's small experiment."""
    return parse_experiment(text, "own.toml")


def read_files(folder):
    """Return the content of every file in a folder, by relative path."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def empty_file(path):
    """Remove the whole content."""
    path.write_bytes(b"")


def truncate_file(path):
    """Remove the last byte."""
    path.write_bytes(path.read_bytes()[:-1])


def flip_byte(path):
    """Change one byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
