"""``tutelage reproduce``, end to end with short horizons."""

import json

import pytest

from tutelage.cli import app

SHORT = ["--runs", "2", "--horizon", "60", "--workers", "1"]


@pytest.fixture
def no_data(monkeypatch):
    """No data set is at hand."""
    monkeypatch.delenv("TUTELAGE_DATA", raising=False)


def test_one_figure(tmp_path, capsys):
    """Cells, pictures and page; the claims on standard output; a second time nothing is played or drawn."""
    arguments = ["reproduce", "fig2a", *SHORT, "--out", str(tmp_path / "out" / "paper")]
    assert app.execute(arguments) == 0
    first = capsys.readouterr().out
    assert "fig2a" in first
    assert "14 cells" not in first
    folder = tmp_path / "out" / "paper"
    assert {path.name for path in folder.iterdir()} == {"cells", "fig2a.pdf", "fig2a.png", "report.html"}
    assert len(list((folder / "cells").iterdir())) == 7
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert app.execute(arguments) == 0
    assert "Everything is up to date (7 cells, 2 pictures); nothing was run." in capsys.readouterr().out
    assert stamps == {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_without_movielens(tmp_path, capsys, no_data):
    """The rest is made, and the page and the document say how to get it."""
    assert app.execute(["reproduce", "fig3", "fig2b", *SHORT, "--out", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [panel["panel"] for panel in document["panels"]] == ["fig2b"]
    assert [each["panel"] for each in document["missing"]] == ["fig3a", "fig3b"]
    assert list(document["pictures"]) == ["fig2b"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert document["report"] == str(tmp_path / "report.html")
    assert "<strong>fig3a, fig3b</strong> could not be made" in page
    assert "https://files.grouplens.org/datasets/movielens/ml-latest-small.zip" in page


def test_movielens(tmp_path, capsys, data):
    """With the real data set, named as a folder."""
    place = str(data / "ml-latest-small")
    arguments = ["reproduce", "fig3b", *SHORT, "--out", str(tmp_path), "--movielens", place, "--json"]
    assert app.execute(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["missing"] == []
    assert document["panels"][0]["teachers"][-1]["cost"]["mean"] == 0


def test_options_reach_the_experiments(tmp_path, capsys):
    """Runs on each instance, seed and horizon."""
    given = ["--runs-per-instance", "2", "--horizon", "9", "--seed", "5", "--out", str(tmp_path), "--json"]
    assert app.execute(["reproduce", "fig2k", *given]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["experiments"][0]["seed"] == 5
    assert [(panel["samples"], panel["runs"], panel["horizon"]) for panel in document["panels"]] == [(100, 200, 9)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fig2m"], "Unknown figure 'fig2m'"),
        (["--movielens", "."], "'.' does not contain ml-latest-small"),
        (["--movielens", "nowhere"], "'nowhere'"),
        (["--runs", "0"], "0"),
        (["--out", "file"], "'file'"),
    ],
)
def test_errors_before_anything_is_simulated(tmp_path, capsys, monkeypatch, arguments, sentence):
    """One sentence and status 2, before anything is played."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert app.execute(["reproduce", *arguments]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
