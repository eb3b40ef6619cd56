"""Bad input: one sentence on standard error, exit status 2, no traceback, nothing on standard output."""

import os
import subprocess

import pytest

from tutelage import simulator
from tutelage.cli.app import execute

PAPER = ["simulate", "paper"]

BAD = [
    (["simulate"], "Missing INSTANCE: name one"),
    (["simulate", "papr"], "'papr' (did you mean 'paper'?)"),
    (["simulate", ""], "instance is empty"),
    (["simulate", "missing.csv"], "missing.csv"),
    ([*PAPER, "--out", "a.nc", "--out", "b.nc"], "--out is given 2 times: give it once; see tutelage simulate --help."),
    (["simulate", "uniform:arm=3"], "'arm'"),
    (["simulate", "uniform:arms=3,arms=4"], "'arms' appears twice"),
    (["simulate", "uniform:arms=0"], "arms=0"),
    ([*PAPER, "--teacher", "twll"], "'twll' (did you mean 'twl'?)"),
    ([*PAPER, "--teacher", "twl(gama1=1)"], "'gama1' (did you mean 'gamma1'?)"),
    ([*PAPER, "--teacher", "twl(gama=1)"], "'gama' (did you mean 'gamma1'?)"),
    ([*PAPER, "--teacher", "twl(gamma1=1,gamma1=1)"], "'gamma1' appears twice"),
    ([*PAPER, "--teacher", "twl(gamma1=1.5)"], "Invalid gamma1=1.5 in 'twl(gamma1=1.5)': use a number in [0, 1]"),
    ([*PAPER, "--teacher", "tal(gamma2=-0.1)"], "gamma2=-0.1 in 'tal(gamma2=-0.1)': use a number in [0, 1]"),
    ([*PAPER, "--teacher", "tal(gamma2=nan)"], "Invalid gamma2=nan in 'tal(gamma2=nan)'"),
    ([*PAPER, "--teacher", "twl(gamma1=0,5)"], "decimal comma"),
    ([*PAPER, "--teacher", "twl(gamma1=x)"], "gamma1=x"),
    ([*PAPER, "--teacher", "twl(gamma1=1"], "'twl(gamma1=1'"),
    ([*PAPER, "--teacher", "twl", "--teacher", "twl(gamma1=1)"], "twl(gamma1=1,gamma2=0) is named twice"),
    ([*PAPER, "--teacher", "known(target=5)"], "target=5"),
    ([*PAPER, "--teacher", "nowhere.at:All"], "'nowhere.at:All' cannot be imported"),
    ([*PAPER, "--teacher", "collections:OrderedDict"], "'collections:OrderedDict' is not a teacher"),
    ([*PAPER, "--teacher", "os:path"], "'os:path' is not a class"),
    ([*PAPER, "--clients", "ubc1"], "'ubc1' (did you mean 'ucb1'?)"),
    ([*PAPER, "--clients", "ts(update=often)"], "update=often"),
    ([*PAPER, "--clients", "2*ucb1,1*ts"], "add up to 3, but the instance has 5"),
    ([*PAPER, "--clients", "0*ucb1,5*ts"], "'0*ucb1'"),
    ([*PAPER, "--clients", "5*"], "''"),
    ([*PAPER, "--activity", "0"], "activity 0 of client 0"),
    ([*PAPER, "--activity", "1;1"], "2 numbers for 5 clients"),
    ([*PAPER, "--delay", "1.5"], "Invalid delay 1.5: use a whole number of rounds"),
    ([*PAPER, "--stop", "9"], "Invalid --stop '9': use CLIENT:ROUND"),
    ([*PAPER, "--stop", "9:1"], "Invalid client 9 in stops"),
    ([*PAPER, "--exclude", "0:5", "--exclude", "0:6"], "client 0 twice"),
    ([*PAPER, "--exclude-after", "0"], "use a number of at least 1"),
    ([*PAPER, "--exclude-after", "soon"], "'soon' is not a number"),
    ([*PAPER, "--horizon", "0"], "Invalid horizon 0: use a whole number in [1, "),
    ([*PAPER, "--horizon", "-5"], "Invalid horizon -5: use a whole number in [1, "),
    ([*PAPER, "--horizon", "1.5"], "'1.5' is not a whole number"),
    ([*PAPER, "--horizon", "many"], "'many' is not a whole number"),
    ([*PAPER, "--horizon", "9" * 30], "use a whole number in [1, 9007199254740992]"),
    ([*PAPER, "--runs", "0"], "Invalid number of runs 0"),
    ([*PAPER, "--runs", "x"], "'x' is not a whole number"),
    ([*PAPER, "--seed", "-1"], "Invalid seed -1: use a whole number in [0, "),
    ([*PAPER, "--seed", str(2**64)], f"Invalid seed {2**64}"),
    ([*PAPER, "--workers", "0"], "Invalid number of workers 0"),
    ([*PAPER, "--workers", "x"], "'x' is not a whole number"),
    ([*PAPER, "--executor", "gpu"], "'gpu'"),
    ([*PAPER, "--executor", "dask://a:99999999999999999999"], "dask://a:99999999999999999999"),
    ([*PAPER, "--checkpoints", "linear(count=0)"], "count=0"),
    ([*PAPER, "--checkpoints", "cubic"], "'cubic'"),
    ([*PAPER, "--out", "/missing/r.nc"], "'/missing'"),
    ([*PAPER, "--out", "/"], "'/' is a folder"),
    ([*PAPER, "--out", "q.csv"], "Invalid file name 'q.csv' for a result, which is a NetCDF file: end it in .nc"),
    ([*PAPER, "--out", "/dev/null"], "'/dev/null' is not a regular file"),
    ([*PAPER, "--teacher"], "--teacher"),
    ([*PAPER, "--horizn", "3"], "--horizn"),
    ([*PAPER, "extra"], "extra"),
    (["simulat"], "'simulat' (did you mean 'simulate'?)"),
    (["--loud"], "--loud"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD, ids=[" ".join(arguments)[:60] for arguments, _ in BAD])
def test_bad_input(arguments, said, capsys):
    """The sentence has the offending value in it."""
    assert execute(arguments) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.err.endswith((".\n", "?\n"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError("Unable to allocate 7 TiB"), "Not enough memory: ask for fewer runs"),
        (OSError(28, "No space left on device", "/somewhere"), "/somewhere: No space left on device.\n"),
        (ConnectionError("The connection was lost."), "The connection was lost.\n"),
    ],
)
def test_system_errors(error, said, capsys, monkeypatch):
    """Memory, disks and networks: one sentence and exit status 1."""

    def refuse(*arguments, **options):
        raise error

    monkeypatch.setattr(simulator, "simulate_request", refuse)
    assert execute([*PAPER, "--horizon", "10"]) == 1
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_too_many_runs_for_any_memory(capsys):
    """Found before anything is played."""
    assert execute([*PAPER, "--runs", str(2**31 - 1)]) == 2
    assert "use fewer checkpoints" in capsys.readouterr().err


def test_exit_status_of_the_process(python):
    """The same through ``python -m tutelage``."""
    ended = python("-m", "tutelage", "simulate", "papr", check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("Unknown instance 'papr'")
    assert not ended.stdout


@pytest.mark.skipif(os.name == "nt", reason="no such pipes there")
@pytest.mark.parametrize("arguments", [["simulate", "--list"], [*PAPER, "--horizon", "9", "--json"], ["--help"]])
def test_a_closed_pipe_ends_silently(python, arguments):
    """As in ``tutelage ... | head -1``, where nobody reads on."""
    read, write = os.pipe()
    os.close(read)
    ended = python(
        "-m", "tutelage", *arguments, stdout=write, stderr=subprocess.PIPE, capture_output=False, check=False
    )
    os.close(write)
    assert ended.returncode == 141
    said = ("simulating: ", "Compiling ")  # where a kernel is compiled
    assert all(line.startswith(said) for line in ended.stderr.splitlines())


FILES = [
    ("m.csv", "0.1,nan\n0.2,0.3\n", "nan"),
    ("m.csv", "0.1,1.2\n0.2,0.3\n", "1.2"),
    ("m.csv", "0.1,0.2\n0.3\n", "equally long"),
    ("m.csv", "", "m.csv"),
    ("m.json", '{"means": [[0.1]], "means": [[0.2]]}', "'means'"),
    ("m.json", '{"means": [[0.1], [0.2]], "weights": [0.5, 0.6]}', "1.1"),
    ("m.toml", "means = [[0.1, 0.2]", "m.toml"),
    ("ratings.csv", "userId,movieId,rating,timestamp\n1,1,9.0,0\n1,2,3.0,0\n", "9"),
    ("ratings.csv", "userId,movieId,rating,timestamp\n1,1,4.0,0\n1,1,3.0,0\n", "1"),
]


@pytest.mark.parametrize(("name", "content", "words"), FILES)
def test_a_bad_file_is_one_sentence(name, content, words, tmp_path, capsys):
    """A file that cannot be used gives one sentence that names the problem, and status 2."""
    path = tmp_path / name
    path.write_text(content)
    instance = f"movielens:{path},clients=1,arms=1" if name == "ratings.csv" else str(path)
    assert execute(["simulate", instance, "--teacher", "known", "--horizon", "10"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert words in printed.err
