"""From an experiment to its report: locked while it runs, and nothing done where everything is up to date."""

import shutil

import h5py  # type: ignore[import-untyped]
import pytest
from msgspec import structs

from tests.report.small_report import SMALL, empty_file, parse_small, read_files
from tutelage import experiments
from tutelage.errors import InputError
from tutelage.experiments.preparation import prepare
from tutelage.report import build, build_report, write_report


def test_the_folder_is_locked_while_drawing(sketched_folder, tmp_path):
    """The lock covers simulating and drawing, in build_report and in write_report."""
    folder = shutil.copytree(sketched_folder, tmp_path / "it")
    other, tried = parse_small(SMALL.replace("OLD", "NEW")), []

    def drawing(what):
        with pytest.raises(InputError, match="Another tutelage process is writing"):
            experiments.run_experiment(parse_small(), folder)
        tried.append(what)

    made = build_report(other, folder, drawing=drawing)
    assert tried == ["a", "b", "report.html"]
    (folder / "report.html").unlink()
    write_report(made.result, drawing=drawing)
    assert len(tried) == 6


@pytest.mark.parametrize(
    ("lines", "engine"),
    [
        ("horizons = [60]", "step"),
        ("horizons = [1_000_000, 1_000_001]", "leap"),
        ("horizons = [60, 1_000_000]", "auto"),
        ('engine = "leap"\nhorizons = [60]', "leap"),
    ],
)
def test_the_engine_that_a_report_names(lines, engine, tmp_path):
    """The one that all cells have, also where ``auto`` chose it; what the file says where cells differ."""
    text = SMALL.partition("[[panels]]")[0].replace("horizons = [60]", lines)
    assert prepare(parse_small(text), tmp_path).engines == [engine]


def test_a_finished_report_is_recognised_without_loading_anything(finished_folder, python):
    """Nothing is drawn or written, and neither xarray nor matplotlib nor bokeh is imported."""
    code = f"""
import sys
from tutelage.experiments.parsing import parse_experiment
from tutelage.report import build_report
made = build_report(parse_experiment({SMALL!r}, "own.toml"), {str(finished_folder)!r})
assert made.result is None and not made.files.is_new
document = made.document()
loaded = {{name.partition(".")[0] for name in sys.modules}}
print(sorted(loaded & {{"xarray", "matplotlib", "bokeh", "h5py"}}))
print(len(document.panels), document.report)
"""
    stamps = {path: path.stat().st_mtime_ns for path in finished_folder.rglob("*")}
    content = python("-c", code).stdout.splitlines()
    assert content == ["[]", f"2 {finished_folder / 'report.html'}"]
    assert {path: path.stat().st_mtime_ns for path in finished_folder.rglob("*")} == stamps


def test_a_finished_report_gives_the_same_document(sketched_folder, tmp_path):
    """Only ``new`` differs from the document of the first run."""
    first = build_report(parse_small(), tmp_path).document()
    again = build_report(parse_small(), tmp_path).document()
    assert [cell.new for cell in first.cells] == [True, True]
    assert [cell.new for cell in again.cells] == [False, False]
    cells = [structs.replace(cell, new=False) for cell in first.cells]
    assert structs.replace(first, cells=cells) == again


def change_value(path):
    """Change numbers in a file and leave its structure as it is."""
    with h5py.File(path, "r+") as file:
        file["noticed_in"][...] += 1


@pytest.mark.parametrize("harm", [empty_file, change_value])
def test_a_damaged_cell_is_simulated_again(sketched_folder, tmp_path, harm):
    """This is so also where the report is intact; a note says so, and the page is the same as before."""
    folder = shutil.copytree(sketched_folder, tmp_path / "it")
    harm(next(path for path in (folder / "cells").iterdir() if "twl" in path.name))
    made = build_report(parse_small(), folder)
    assert [cell.is_new for cell in made.result.cells] == [True, False]
    assert "is simulated again" in made.document().notes[0]
    assert read_files(folder) == read_files(sketched_folder)
    assert build_report(parse_small(), folder).result is None


def test_a_finished_folder_may_be_read_only(finished_folder, monkeypatch):
    """A finished report needs neither a lock nor write access."""
    monkeypatch.setattr(build, "lock_folder", None)
    monkeypatch.setattr(build, "make_cells_folder", None)
    monkeypatch.setattr("os.access", lambda *_: False)
    assert build_report(parse_small(), finished_folder).result is None


def test_an_unfinished_read_only_folder_is_refused(finished_folder, tmp_path, monkeypatch):
    """Where a cell or the page is missing, one sentence comes before the first simulation."""
    folder = shutil.copytree(finished_folder, tmp_path / "it")
    monkeypatch.setattr("os.access", lambda *_: False)
    (folder / "report.html").unlink()
    with pytest.raises(InputError, match="is not writable"):
        build_report(parse_small(), folder)
    next((folder / "cells").iterdir()).unlink()
    monkeypatch.setattr("tutelage.simulator.simulate_request", None)
    with pytest.raises(InputError, match="is not writable"):
        build_report(parse_small(), folder)


@pytest.mark.parametrize("name", ["progress", "drawing"])
def test_a_callback_that_is_not_a_function_is_refused_first(tmp_path, name):
    """The sentence comes before anything is simulated or written."""
    with pytest.raises(InputError, match=f"Invalid {name} 3: give a function"):
        build_report(parse_small(), tmp_path / "new", **{name: 3})
    assert not (tmp_path / "new").exists()
