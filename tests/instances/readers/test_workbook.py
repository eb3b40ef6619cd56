"""Excel's workbooks, as every source reads them."""

import sys

import pytest

from tutelage.instances import load
from tutelage.instances.readers.ratings import read_ratings

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def workbook(tmp_path):
    """Writes sheets of rows as a workbook and gives its path."""

    def writer(name, **sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        path = tmp_path / name
        book.save(path)
        return str(path)

    return writer


def test_a_table(workbook):
    """A sheet is read as the CSV file with its cells; empty sheets do not count."""
    rows = [["client", "shoes", "hats, caps", None], ["x", 0.2, 0.9], ["two\nlines", "40 %", 0.1]]
    instance = load(workbook("m.xlsx", Sheet1=[], means=rows))
    assert instance.local_means.tolist() == [[0.2, 0.9], [0.4, 0.1]]
    assert (instance.client_names, instance.arm_names) == (("x", "two lines"), ("shoes", "hats, caps"))
    assert load(instance.name).name == instance.name


def test_ratings_and_weights(workbook):
    """So are ratings and weights."""
    ratings = read_ratings(workbook("r.XLSX", r=[["user", "item", "rating"], [1, 10, 4.5], [2.0, 10, 3]]))
    assert (ratings.user_ids, ratings.item_ids, ratings.values.tolist()) == (["1", "2"], ["10"], [4.5, 3.0])
    weights = workbook("w.xlsx", w=[["weight"], [0.25], [0.75]])
    assert load(f"uniform:clients=2,weights={weights}").weights.tolist() == [0.25, 0.75]


def test_several_sheets_are_refused(workbook, refuses):
    """A workbook with several sheets, or none with cells, is refused."""
    refuses(workbook("m.xlsx", May=[[0.5]], June=[[0.6]]), "several sheets with cells (May, June)")
    refuses(workbook("m.xlsx", May=[]), "is empty")


def test_other_files_are_refused(write, refuses, tmp_path):
    """A file that only ends in .xlsx, and a workbook that is called otherwise, are refused."""
    refuses(write("m.xlsx", "0.2,0.9\n"), "is not a workbook")
    refuses(write("m.xlsx", b"PK\x03\x04junk"), "is not a workbook")
    refuses(write("m.csv", b"PK\x03\x04\x00junk"), "not a text file", ".xlsx")
    (tmp_path / "d.xlsx").mkdir()
    refuses(f"table:{tmp_path / 'd.xlsx'}", "is a folder")


def test_missing_library(workbook, refuses, monkeypatch):
    """Without openpyxl the command that installs it is named."""
    path = workbook("m.xlsx", means=[[0.2, 0.9]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    refuses(path, "pip install 'tutelage[excel]'", "save the sheet as CSV")
