"""``tutelage run`` as people and scripts meet it."""

import json
import re

import pytest

from tests.cli.commands import run_on_terminal
from tutelage import experiments
from tutelage.cli.app import execute

TEXT = """
name = "mine"
runs = 20
horizons = [200]
teachers = ["twl", "known"]

[[instances]]
label = "fixed"
spec = "paper"

[[instances]]
label = "movies"
spec = "movielens:clients=5,arms=3"
data = "ml-latest-small"

[[clients]]
label = "all"
spec = "ucb1"

[[panels]]
name = "one"
quantity = "regret"
instance = "fixed"
clients = "all"

[[panels.claims]]
kind = "below"
text = "Knowing is better than learning."
section = "I"
teachers = ["known"]
than = ["twl"]

[[panels]]
name = "films"
quantity = "cost"
instance = "movies"
clients = "all"
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """An experiment's file in a folder of its own; no real data is at hand."""
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)
    path = tmp_path / "mine.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def words(text):
    """The text with its lines joined."""
    return " ".join(text.split())


def test_the_first_time_everything_is_simulated(file, tmp_path, capsys):
    """Table, claim with its verdict, what is missing, cells and report, all in the folder named."""
    out = tmp_path / "out"
    assert execute(["run", str(file), "--out", str(out)]) == 0
    printed = capsys.readouterr()
    text = words(printed.out)
    assert re.match(r"2 cells to simulate, 40 runs: about \d+ (s|min)\.\n", printed.err)
    assert "panels one instance fixed clients all simulated 20 runs of 200 rounds with each teacher" in text
    assert "one, I: Knowing is better than learning. SUPPORTED: regret: known " in text
    assert "Left out: films. The data set ml-latest-small was not found" in text
    assert "2 cells simulated and 0 cells reused" in text
    assert (out / "report.html").is_file()
    assert (out / "one.pdf").is_file()
    assert (out / "one.png").is_file()
    assert len(list((out / "cells").glob("*.nc"))) == 2
    assert max(map(len, printed.out.splitlines())) <= max(80, len(str(out)) + 30)


def test_the_second_time_nothing_is_simulated(file, tmp_path, capsys):
    """A finished one touches no file and says so."""
    out = tmp_path / "out"
    assert execute(["run", str(file), "--out", str(out)]) == 0
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    capsys.readouterr()
    assert execute(["run", str(file), "--out", str(out)]) == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    line, left_out = capsys.readouterr().out.splitlines()
    assert line == (
        f"Everything is up to date (2 cells, 2 pictures); nothing was run. The report is {out / 'report.html'}."
    )
    assert left_out.startswith("Left out: films. The data set ml-latest-small was not found")


def test_json_is_the_only_thing_on_standard_output(file, tmp_path, capsys):
    """One document with panels, counts of finished runs, claims and what is missing."""
    out = tmp_path / "out"
    assert execute(["run", str(file), "--out", str(out), "--json", "--workers", "1"]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("2 cells to simulate, 40 runs")
    document = json.loads(printed.out)
    assert document["report"] == str(out / "report.html")
    (panel,) = document["panels"]
    assert [row["teacher"] for row in panel["teachers"]] == ["twl", "known"]
    assert [row["decided"] for row in panel["teachers"]] == [0, 20]
    assert panel["claims"][0]["holds"] is True
    assert [missing["panel"] for missing in document["missing"]] == ["films"]
    assert [cell["new"] for cell in document["cells"]] == [True, True]


def test_the_library_gives_the_same(file, tmp_path, capsys):
    """What the command keeps is what experiments.play keeps, byte for byte."""
    assert execute(["run", str(file), "--out", str(tmp_path / "a"), "--executor", "threads"]) == 0
    experiments.run_experiment(experiments.read_experiment(file), tmp_path / "b")
    cells = [{path.name: path.read_bytes() for path in (tmp_path / x / "cells").iterdir()} for x in "ab"]
    assert cells[0] == cells[1]


def test_the_folder_is_named_after_the_experiment(file, tmp_path, monkeypatch, capsys):
    """Without --out it is out/NAME where the command runs."""
    monkeypatch.chdir(tmp_path)
    assert execute(["run", "mine.toml"]) == 0
    assert (tmp_path / "out" / "mine" / "report.html").is_file()


@pytest.mark.parametrize(
    ("written", "instead", "sentence"),
    [
        ("runs = 2", "rums = 2", "top level: unknown key 'rums' (did you mean 'runs'?)"),
        ("horizons = [200]", "horizons = [0]", "top level: invalid horizons [0]: use a list of at least 1"),
        ('spec = "ucb1"', 'spec = "ucb2"', "[[clients]] number 1 ('all'): invalid spec 'ucb2': "),
    ],
)
def test_a_bad_file_is_one_sentence(file, tmp_path, capsys, written, instead, sentence):
    """Exit status 2, no traceback, nothing on standard output."""
    file.write_text(TEXT.replace(written, instead), encoding="utf-8")
    assert execute(["run", str(file), "--out", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--data", "/no/such"], "There is no file or folder '/no/such'"),
        (["--workers", "0"], "Invalid number of workers 0"),
        (["--executor", "clouds"], "Invalid executor 'clouds'"),
        (["--out", "mine.toml"], "cannot be created"),
    ],
)
def test_a_bad_option_is_one_sentence(file, tmp_path, monkeypatch, capsys, options, sentence):
    """The same for what is typed."""
    monkeypatch.chdir(tmp_path)
    assert execute(["run", "mine.toml", *options]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_the_progress_bar_names_the_current_cell(file, tmp_path, executor):
    """On a terminal it is drawn as runs are played, also where processes share them."""
    file.write_text(TEXT.replace("[200]", "[100_000]"), encoding="utf-8")
    options = ["--out", str(tmp_path / "out"), "--executor", executor, "--workers", "2"]
    shown, _ = run_on_terminal("run", str(file), *options)
    assert "fixed-all-twl" in shown
    assert re.search(r"[1-9][0-9]?/40", shown)


def test_a_file_that_is_not_there(capsys):
    """Its path is named."""
    assert execute(["run", "nowhere.toml"]) == 2
    assert "'nowhere.toml'" in capsys.readouterr().err


def test_tables_and_claims_are_brief(file, tmp_path, capsys):
    """Of BLT's many parameters only what differs is printed; the document spells all of them out."""
    text = TEXT.replace('teachers = ["twl", "known"]', 'teachers = ["twl", "known", "blt(rho=2)"]')
    text = text.replace('than = ["twl"]', 'than = ["blt(rho=2)"]')
    file.write_text(text, encoding="utf-8")
    assert execute(["run", str(file), "--out", str(tmp_path / "a")]) == 0
    text = words(capsys.readouterr().out)
    assert "blt(rho=2) " in text
    assert "compared with blt(rho=2) " in text
    assert "growth=" not in text
    assert execute(["run", str(file), "--out", str(tmp_path / "b"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["panels"][0]["teachers"]
    assert rows[2]["teacher"] == "blt(rho=2)"
    assert "rho=2,growth=" in rows[2]["spec"]
