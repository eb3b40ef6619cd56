"""Workbooks of Excel: their one sheet with cells, as the text of a CSV file."""

import csv
import io
import zipfile
from pathlib import Path

from tutelage.errors import InputError
from tutelage.validation import describe_error

WORKBOOKS = (".xlsx", ".xlsm")


def read_workbook(path: Path) -> str:
    """The sheet that has cells, as CSV with commas; a formula is the value that Excel saved for it.

    Raises ``InputError`` where openpyxl is missing, for a damaged workbook, and for several sheets with cells.
    """
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise InputError(
            f"Reading {str(path)!r} needs openpyxl: install it with `pip install 'tutelage[excel]'`, or save the "
            "sheet as CSV."
        ) from None
    try:
        with path.open("rb") as stream:  # the names of files that openpyxl accepts are other ones
            book = load_workbook(stream, read_only=True, data_only=True)
            sheets = {
                sheet.title: [list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book.worksheets
            }
    except (zipfile.BadZipFile, InvalidFileException, KeyError, ValueError) as error:
        raise InputError(f"{str(path)!r} is not a workbook ({describe_error(error)}); save it as CSV.") from error
    filled = [title for title, rows in sheets.items() if any(cell is not None for row in rows for cell in row)]
    if len(filled) != 1:
        found = f"has several sheets with cells ({', '.join(filled)})" if filled else "is empty"
        raise InputError(f"{str(path)!r} {found}; give a workbook with one sheet, or save the sheet as CSV.")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([map(_write_cell, row) for row in sheets[filled[0]]])
    return text.getvalue()


def _write_cell(value: object) -> str:
    """A cell in one line; an empty one is empty."""
    return "" if value is None else " ".join(str(value).split())
