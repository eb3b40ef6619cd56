"""Files that people bring: what the commands say about them, and how they print what is in them."""

import json

import pytest
import typer

from tests.cli.commands import error_of, output_of
from tutelage.cli.app import app
from tutelage.cli.options import whole_number

SMALL = ("--horizon", "3e2", "--runs", "2e0")
ESCAPE = "\x1b[31m"


@pytest.fixture
def table(tmp_path):
    """A table whose names hold an escape sequence, the 8-bit one and a line end."""
    path = tmp_path / "t.csv"
    path.write_text(f"client,a{ESCAPE}red,b\x9b31m\nx{ESCAPE},0.9,0.1\ny,0.2,0.8\n")
    return str(path)


def controls(text):
    """The control characters of a text."""
    return {character for character in text if not character.isprintable() and character != "\n"}


@pytest.mark.parametrize(
    ("command", "colour"),
    [
        (("simulate", "{}", "--teacher", "known", *SMALL), ""),
        (("simulate", "{}", "--teacher", "known", *SMALL), "1"),
        (("plan", "{}", "--teacher", "none", *SMALL), ""),
        (("bound", "{}", "--horizon", "1e3", "--runs", "0"), ""),
    ],
)
def test_escape_sequences_are_written_out(capsys, monkeypatch, table, command, colour):
    """No command lets a name of a file control the terminal, and each says what it took for names."""
    monkeypatch.setenv("FORCE_COLOR", colour)
    out = output_of(capsys, *(part.format(table) for part in command))
    assert ESCAPE not in out
    assert "\x9b" not in out
    if not colour:
        assert not controls(out)
        assert r"2 clients (x\u001b[31m, y), 2 arms (a\u001b[31mred, b\u009b31m)" in " ".join(out.split())


@pytest.mark.parametrize("teacher", ["known(target=c)", "known(target=a)"])
def test_escape_sequences_in_messages(capsys, table, teacher):
    """Errors list names, and show values, without control characters."""
    message = error_of(capsys, 2, "simulate", table, "--teacher", teacher, *SMALL)
    assert r"the arms are a\u001b[31mred, b\u009b31m" in message
    assert not controls(message)


def test_escape_sequences_in_ids(capsys, tmp_path):
    """So do messages about ratings, movies and links."""
    ratings = tmp_path / "r.csv"
    ratings.write_text(f"user,item,rating\n{ESCAPE}u,1,2\n{ESCAPE}u,1,3\n")
    assert not controls(error_of(capsys, 2, "simulate", f"movielens:{ratings}"))
    ratings.write_text(f"user,item,rating\nu,{ESCAPE}1,2\nv,2,3\n")
    message = error_of(capsys, 2, "simulate", f"movielens:{ratings},clients=2,arms=2,group=top")
    assert not controls(message)
    assert r"\u001b[31m" in message


def test_json_has_the_names_as_they_are(capsys, table):
    """A program gets the names of the file."""
    document = json.loads(output_of(capsys, "simulate", table, "--teacher", "none", *SMALL, "--json"))
    assert document["instance"]["arm_names"] == [f"a{ESCAPE}red", "b\x9b31m"]


def test_an_arm_is_named_or_numbered(capsys, tmp_path):
    """A target may be a name of the file; a number below K is always the number."""
    path = tmp_path / "t.csv"
    path.write_text('"blue, dark",1,2021\n0.2,0.9,0.1\n0.4,0.1,0.2\n')
    for target, number in (('"blue, dark"', 0), ("1", 1), ("2021", 2), ("2", 2)):
        teacher = f"known(target={target})"
        document = json.loads(output_of(capsys, "simulate", str(path), "--teacher", teacher, *SMALL, "--json"))
        assert f"known(target={number})" in json.dumps(document["teachers"])
    twice = ("--teacher", "known(target=2)", "--teacher", "known(target=2021)")
    assert "named twice" in error_of(capsys, 2, "simulate", str(path), *twice, *SMALL)
    assert "target=2022" in error_of(capsys, 2, "simulate", str(path), "--teacher", "known(target=2022)", *SMALL)
    assert "without names" in error_of(capsys, 2, "simulate", "paper", "--teacher", "known(target=blue)", *SMALL)
    assert "0 to 4, without names" in error_of(capsys, 2, "plan", "paper", "--teacher", "known(target=blue)", *SMALL)


def test_exponents_are_whole_numbers(capsys):
    """2e2 is 200, wherever a command takes a whole number."""
    exponents = ("--horizon", "2e2", "--runs", "2E0", "--seed", "1e1", "--workers", "1e0", "--checkpoints", "2e1")
    digits = ("--horizon", "200", "--runs", "2", "--seed", "10", "--workers", "1", "--checkpoints", "20")
    same = [
        output_of(capsys, "simulate", "paper:weights=.2;20%;0.2;2e-1;20 %", "--teacher", "twl", "--json", *options)
        for options in (exponents, digits)
    ]
    assert same[0] == same[1]
    for wrong in ("1.5e0", "2e-1", "1e", "20.0"):
        assert "is not a whole number" in error_of(capsys, 2, "simulate", "paper", "--horizon", wrong)
    assert "CLIENT:ROUND" in error_of(capsys, 2, "simulate", "paper", "--stop", "0:1.5e0")


def test_every_whole_number_option_reads_exponents():
    """No command has an option of whole numbers that is read in another way."""
    found, waiting = 0, [typer.main.get_command(app)]
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        for each in command.params:
            assert type(each.type).__name__ != "IntParamType", f"{command.name} {each.name}"
            found += getattr(each.type, "func", None) is whole_number
    assert found > 30
