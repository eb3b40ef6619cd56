"""The files of a report: written completely or not at all, and only where something has changed."""

import shutil
from pathlib import Path

import pytest

import tutelage
from tests.report.small_report import NAMES, SMALL, empty_file, flip_byte, parse_small, read_files, truncate_file
from tutelage import atomic_files
from tutelage.errors import InputError
from tutelage.report import build_report, record, report_files, write_report


def test_a_report_has_page_and_pictures(result, report):
    """There are a PDF and a PNG of each panel, and the page has a few MB at most."""
    assert [path.name for paths in report.pictures.values() for path in paths] == [
        f"{name}{ending}" for name in NAMES for ending in (".pdf", ".png")
    ]
    assert all(path.stat().st_size > 5000 for paths in report.pictures.values() for path in paths)
    assert report.page == result.folder / "report.html"
    assert 1e6 < report.page.stat().st_size < 4e6


def test_an_unchanged_report_is_not_written_again(result, report):
    """The page records what it was made from."""
    stamps = {path: path.stat().st_mtime_ns for path in result.folder.rglob("*")}
    again = write_report(result)
    assert (again.is_new, report.is_new) == (False, True)
    assert again.page == report.page
    assert stamps == {path: path.stat().st_mtime_ns for path in result.folder.rglob("*")}


def test_a_report_drawn_again_has_the_same_bytes(finished_folder, tmp_path):
    """This is so also later in the same process."""
    shutil.copytree(finished_folder / "cells", tmp_path / "cells")
    assert build_report(parse_small(), tmp_path).files.is_new
    assert read_files(tmp_path) == read_files(finished_folder)


@pytest.mark.parametrize(
    ("name", "harm"),
    [("report.html", Path.unlink), ("report.html", truncate_file), ("a.pdf", empty_file), ("b.png", flip_byte)],
)
def test_a_lost_or_damaged_file_is_made_again(sketched_folder, tmp_path, name, harm):
    """It gets the same bytes as before, and intact files are not touched."""
    folder = shutil.copytree(sketched_folder, tmp_path / "it")
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("*.*")}
    harm(folder / name)
    assert build_report(parse_small(), folder).files.is_new
    assert read_files(folder) == read_files(sketched_folder)
    new = {path.name for path in stamps if path.stat().st_mtime_ns != stamps[path]}
    assert new == {name, "report.html"}


class Killed(BaseException):
    """Simulates a kill: nothing catches it."""


@pytest.mark.parametrize("at", [1, 3, 5])
def test_killed_while_pictures_are_replaced(sketched_folder, tmp_path, monkeypatch, at):
    """No page is left next to pictures of another experiment, and both reports can be made again."""
    folder = shutil.copytree(sketched_folder, tmp_path / "it")
    other = parse_small(SMALL.replace("OLD", "NEW"))
    writes = []

    def write(path, content):
        writes.append(path)
        if len(writes) == at:
            raise Killed
        atomic_files.write_atomically(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(report_files, "write_atomically", write)
        with pytest.raises(Killed):
            build_report(other, folder)
    assert not (folder / "report.html").exists()
    again = build_report(parse_small(), folder)
    assert again.files.is_new
    assert read_files(folder) == read_files(sketched_folder)
    assert build_report(parse_small(), folder).result is None


def test_killed_while_drawing(sketched_folder, tmp_path, monkeypatch):
    """Everything is drawn before anything is replaced, so the earlier report is intact."""
    folder = shutil.copytree(sketched_folder, tmp_path / "it")

    def drawing(what):
        if what == "b":
            raise Killed

    with pytest.raises(Killed):
        build_report(parse_small(SMALL.replace("OLD", "NEW")), folder, drawing=drawing)
    assert {path: content for path, content in read_files(folder).items() if path.suffix != ".nc"} == {
        path: content for path, content in read_files(sketched_folder).items() if path.suffix != ".nc"
    }


@pytest.mark.parametrize("name", ["experiments/verdicts.py", "plots/drawing.py", "report/page.html"])
def test_changed_code_makes_another_report(tmp_path, monkeypatch, name):
    """A page is not finished once the code that judges claims, draws or lays out the page has changed."""
    before = record.compute_page_fingerprint("it")
    package = shutil.copytree(Path(tutelage.__file__).parent, tmp_path / "tutelage")
    monkeypatch.setattr(record.resources, "files", lambda _: package)
    assert record.compute_page_fingerprint("it") == before
    with (package / name).open("a") as file:
        file.write("\n")
    assert record.compute_page_fingerprint("it") != before


def test_write_report_refuses_a_drawing_that_is_not_a_function(result, tmp_path):
    """It does so on its own, without build_report."""
    with pytest.raises(InputError, match="Invalid drawing 3: give a function"):
        write_report(result, tmp_path / "new", drawing=3)


def test_a_folder_that_cannot_be_written(result, tmp_path):
    """A file in place of the folder is named."""
    (tmp_path / "file").touch()
    with pytest.raises((InputError, OSError), match="file"):
        write_report(result, tmp_path / "file")
