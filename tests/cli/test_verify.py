"""``tutelage verify``, ``tutelage simulate --from`` and what a saved result holds about itself."""

import json
import shlex
from importlib import metadata

import numpy as np
import pytest

import tutelage
from tutelage import versions
from tutelage.cli.app import execute
from tutelage.experiments.cells import hash_content
from tutelage.simulator import find_differences, restore_request

SMALL = ["--horizon", "60", "--runs", "2", "--seed", "3"]
REAL = ["--activity", "0.5;1;1;0.9;1", "--delay", "2", "--stop", "1:30", "--exclude", "0:40", "--exclude-after", "20"]
MEANS = "client,red,blue\nann,0.2,0.9\nbob,0.4,0.7\n"
CASES = {
    "paper": ["paper", "--clients", "2*ucb1,2*eps-greedy(c=2),1*ts", "--teacher", "blt(rho=3)", "--teacher", "tal"],
    "conditions": ["paper", *REAL, "--teacher", "twl", "--checkpoints", "logarithmic(count=7)"],
    "weights": ["uniform:clients=2,arms=3,seed=1,weights=0.25;0.75,rewards=beta(5)", "--teacher", "twl(gamma1=0.5)"],
    "shift": ["shift:paper,then='planted:clients=5,arms=5,seed=3',at=20", "--teacher", "known"],
    "file": ["means.csv", "--teacher", "known", "--teacher", "none"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a table of means."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "means.csv").write_text(MEANS, encoding="utf-8")
    return tmp_path


def saved(folder, case, name="a.nc"):
    """Save the result of a case and return its path."""
    assert execute(["simulate", *CASES[case], *SMALL, "--out", name]) == 0
    return folder / name


@pytest.mark.parametrize("case", CASES)
def test_a_result_holds_what_makes_it_again(folder, capsys, case):
    """Its command and its file lead to the same bytes, and verify finds no difference."""
    path = saved(folder, case)
    data = tutelage.load(path)
    assert set(data.attrs) >= {"tutelage", "commit", "command", "python", "numpy", "numba"}
    assert execute([*shlex.split(data.attrs["command"])[1:], "--out", "b.nc"]) == 0
    assert (folder / "b.nc").read_bytes() == path.read_bytes()
    (folder / "means.csv").unlink()  # the file of a result holds the means
    assert execute(["simulate", "--from", "a.nc", "--out", "c.nc"]) == 0
    assert (folder / "c.nc").read_bytes() == path.read_bytes()
    capsys.readouterr()
    assert execute(["verify", "a.nc"]) == 0
    verdict, origin = capsys.readouterr().out.splitlines()
    assert verdict.startswith("a.nc is reproduced: every value of 2 runs with ")
    assert origin.endswith(f" by: {data.attrs['command']}")


def test_a_changed_value_is_found(folder, capsys):
    """The variable, the teacher and the number of runs are named, and the exit status is 1; Python gets them too."""
    data = tutelage.load(saved(folder, "file"))
    data.regret[1, 0, 0, 3] += 1e-9
    data.attrs["numpy"] = "1.0"
    tutelage.save(data, folder / "a.nc")
    capsys.readouterr()
    assert execute(["verify", "a.nc"]) == 1
    out = capsys.readouterr().out
    assert "a.nc is not reproduced: values of 2 runs with 2 teachers differ." in out
    assert "regret differs: none in 1 run." in out
    assert f"Other versions: numpy 1.0 in the file, {np.__version__} here." in out
    assert execute(["verify", "a.nc", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["reproduced"] is False
    assert document["differences"] == {"regret": {"none": 1}}
    assert (document["saved"]["numpy"], document["here"]["numpy"]) == ("1.0", np.__version__)
    verification = tutelage.verify("a.nc")
    assert not verification.reproduced
    assert verification.differences == {"regret": {"none": 1}}


def test_other_numbers_of_events_differ(folder):
    """Results whose longest runs have other numbers of events can be compared."""
    data = tutelage.load(saved(folder, "paper"))
    short = data.isel(event=slice(0, 1))
    assert set(find_differences(data, short)) >= {"event_round", "event_active"}


def test_an_instance_made_in_python(folder):
    """The file holds it; there is no command, since no INSTANCE names it."""
    instance = tutelage.Instance("mine", [[0.2, 0.8], [0.9, 0.1]], [0.5, 0.5], arm_names=("a", "b"))
    data = tutelage.simulate(instance, "twl", ["ucb1", "ts"], horizon=40, runs=2, checkpoints=[3, 17])
    assert data.attrs["command"] == ""
    tutelage.save(data, "mine.nc")
    again = tutelage.simulate_request(restore_request(tutelage.load("mine.nc"))).to_dataset()
    assert again.identical(data)
    assert hash_content(again) == hash_content(data)


def test_what_cannot_be_replayed(folder, capsys):
    """A part of a result, means that have changed and a missing teacher: one sentence each, status 2."""
    whole = tutelage.load(saved(folder, "file"))
    tutelage.save(whole.isel(run=[1]), "part.nc")
    tutelage.save(whole.assign_coords(spec=("teacher", ["nowhere:Missing", "none"])), "missing.nc")
    shifted = tutelage.load(saved(folder, "shift", "shift.nc"))
    shifted.local_means[0, 0] = 0.25
    tutelage.save(shifted, "shift.nc")
    capsys.readouterr()
    for name, sentence in {
        "part.nc": "The result is a part of another (1 of 2 along run): use the whole one.",
        "missing.nc": "The teacher 'nowhere:Missing' cannot be imported",
        "shift.nc": "now has other means than in the result",
        "means.csv": "cannot be read as a NetCDF file",
        "none.nc": "does not exist",
    }.items():
        assert execute(["verify", name]) == 2
        printed = capsys.readouterr()
        assert sentence in printed.err
        assert (printed.out, printed.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("given", [["paper"], ["--runs", "20"], ["--seed", "0"], ["--teacher", "twl"]])
def test_from_excludes_what_the_result_holds(folder, capsys, given):
    """Also where the value is the default or the same."""
    assert execute(["simulate", *given, "--from", "a.nc"]) == 2
    name = given[0] if given[0].startswith("--") else "INSTANCE"
    assert f"{name} and --from exclude each other" in capsys.readouterr().err


def test_the_commit_is_that_of_the_source(folder, monkeypatch):
    """A package outside any repository, or in that of another project, has none."""
    import subprocess

    def commit_in(place):
        monkeypatch.setattr(versions, "__file__", str(place / "versions.py"))
        versions.source_commit.cache_clear()
        return versions.source_commit()

    monkeypatch.setattr(metadata, "distribution", _not_installed)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    assert commit_in(folder) == "unknown"
    (folder / "versions.py").write_text("1\n", encoding="utf-8")
    subprocess.run([*git, "init", "-q"], check=True)
    assert commit_in(folder) == "unknown"
    subprocess.run([*git, "add", "versions.py"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert commit_in(folder) == head
    (folder / "versions.py").write_text("2\n", encoding="utf-8")
    assert commit_in(folder) == f"{head}-changed"
    versions.source_commit.cache_clear()


def _not_installed(name):
    raise metadata.PackageNotFoundError(name)
