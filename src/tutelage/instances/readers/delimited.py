"""Large files of lines and fields, streamed: chosen columns as text, a part at a time."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from tutelage.errors import InputError
from tutelage.instances.readers.files import DataFile

if TYPE_CHECKING:
    import polars as pl

_PART = 1 << 25  # bytes parsed at a time
_COMPARED = 1000  # numbers whose decimals are counted
_BOM = b"\xef\xbb\xbf"
_UNIT = b"\x1f"  # ASCII's own separator
_COMMENT = "#"
_EXCEL = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # Excel writes and obeys such a first line
_LINE_END = re.compile(r"\r\n|\r|\n")
_WHOLE_FLOAT = re.compile(r"^(0|[1-9][0-9]*)\.0+$")
_SCIENTIFIC = re.compile(r"^[0-9](\.[0-9]+)?[eE]\+[0-9]{2,3}$")
_NAMED_ROW = re.compile(r"#[^\s#].*?([,;\t]|::)\s*[-+]?[0-9]*[.,]?[0-9]+\s*%?\s*([,;\t:]|$)")
_FRACTION = re.compile(r"[-+]?[0-9]*[.,]([0-9]+) *%?")


@dataclass(frozen=True)
class Layout:
    """How a file's lines are cut: ``skip`` lines before the data, ``width`` fields, ``separator`` between."""

    separator: str
    width: int
    skip: int


def first_lines(data: DataFile, count: int) -> list[str]:
    """The first lines that are not blank, without line ends; an empty or binary file is an ``InputError``."""
    lines: list[str] = []
    with data.open() as stream:
        while len(lines) < count and (line := stream.readline(1 << 20)):
            if b"\0" in line:
                raise not_text(data)
            try:
                text = line.removeprefix(_BOM).decode("utf-8").strip("\r\n")
            except UnicodeDecodeError:
                raise _not_utf8(data) from None
            if "\r" in text:
                raise InputError(
                    f"{data.label!r} has a carriage return within a line (the line ends of old Macs?); "
                    "save it with line feeds."
                )
            if text.strip():
                lines.append(text)
    if not lines:
        raise InputError(f"{data.label!r} is empty; give a file with data.")
    return lines


def split_preamble(lines: Sequence[str]) -> tuple[str | None, int]:
    """The separator in Excel's first line ``sep=;``, and how many lines stand before the first of the data.

    Those are that line and comments, which begin with ``#``; a row of numbers may begin with a name such as ``#1``.
    """
    given = _EXCEL.fullmatch(lines[0])
    count = int(given is not None)
    while count < len(lines) and lines[count].lstrip().startswith(_COMMENT) and not _NAMED_ROW.match(lines[count]):
        count += 1
    return (given[1] if given else None), count


def commented_header(comment: str, below: str, separator: str, where: str) -> list[str] | None:
    """The names in a comment above the data, as ``numpy.savetxt`` writes them; None for any other comment.

    A comment names the columns if it has as many fields as the line below and no decimal fraction.
    """
    text = comment.strip().removeprefix(_COMMENT).strip()
    names = split_line(" ".join(text.split()) if separator == " " else text, separator, where)
    is_header = len(names) == len(split_line(below, separator, where)) and comment.strip() != _COMMENT
    return names if is_header and not any(map(_FRACTION.fullmatch, names)) else None


def split_lines(text: str) -> list[str]:
    """The lines of a small file, whatever their ends."""
    return _LINE_END.split(text)


def split_line(line: str, separator: str, where: str) -> list[str]:
    """The fields of one line, unquoted and stripped.

    A field in quotes must end in its line.  A quote within a field, or one after which a field in quotes goes
    on, is a character like any other.  Raises ``InputError`` for a quote that is not closed.
    """
    if len(separator) == 1 and '"' in line:
        try:
            return [
                part.strip()
                for part in next(csv.reader([line], delimiter=separator, strict=True, skipinitialspace=True), [])
            ]
        except csv.Error as error:
            if "expected after" not in str(error):
                reason = "a quote is not closed in this line" if "end of data" in str(error) else str(error)
                raise InputError(
                    f"{where[0].upper()}{where[1:]} cannot be cut into fields ({reason}); write a quote in a field "
                    "twice, within quotes, and each row on one line."
                ) from None
    if len(line) > csv.field_size_limit():
        raise InputError(f"{where[0].upper()}{where[1:]} cannot be cut into fields (it is too long); check its ends.")
    return [part.strip() for part in line.split(separator)]


def lacks_decimals(last: str, others: Iterable[str]) -> bool:
    """Whether the last number of a file without a final line end looks cut.

    It ends with its point, or has no decimals where all others have some, or fewer than three or more others
    that all have as many.
    """
    counts = [len(_decimals(other)) for other in others]
    own, least = len(_decimals(last)), min(counts, default=0)
    is_fixed = len(counts) > 2 and least == max(counts)
    return last.endswith((".", ",")) or (own < least and (own == 0 or is_fixed))


def fewer_decimals(last: str) -> str:
    """What is wrong with a number that :func:`lacks_decimals`."""
    return f"{last!r} has fewer decimals than the other numbers"


def _decimals(number: str) -> str:
    found = _FRACTION.fullmatch(number)
    return found[1] if found else ""


def cut_short(where: str, label: str, fault: str) -> InputError:
    """The error for a file that was cut inside its last line."""
    return InputError(
        f"{label!r} seems to be cut in {where}, which has no line end ({fault}); get the whole file, or end the line "
        "if it is complete."
    )


def stream_columns(
    data: DataFile, layout: Layout, columns: dict[int, str], may_lack: Sequence[str] = ()
) -> Iterator["pl.DataFrame"]:
    """The columns ``{position: name}`` as text, stripped, with their ``line``; blank lines are left out.

    A missing or empty field is null in a column that ``may_lack`` it, else an ``InputError`` with its line.
    """
    needed = [name for name in columns.values() if name not in may_lack]
    ends_line = columns.get(layout.width - 1)
    earlier: list[str | None] = []
    for line, part in _parts(data, layout.skip):
        frame = _parse(part, line, data, layout, columns)
        if ends_line and frame.height:
            if not part.endswith(b"\n"):  # the file's last line, which is a part of its own
                last = frame[ends_line][-1]
                if last is not None and lacks_decimals(last, filter(None, earlier)):
                    raise cut_short(f"line {frame['line'][-1]}", data.label, fewer_decimals(last))
            earlier = frame[ends_line].head(_COMPARED).to_list()
        empty = frame.filter(_any_null(needed))
        if empty.height:
            row = empty.row(0, named=True)
            missing = next(name for name in needed if row[name] is None)
            raise InputError(f"Line {row['line']} of {data.label!r} has no {missing}; complete or delete the line.")
        yield frame


def whole_ids(ids: "pl.Series") -> "pl.Series":
    """Ids as text, each as :func:`whole_id` writes it."""
    ids = ids.str.replace(_WHOLE_FLOAT.pattern, "$1")
    scientific = ids.filter(ids.str.contains(_SCIENTIFIC.pattern)).unique().to_list()
    return ids.replace({name: whole_id(name) for name in scientific}) if scientific else ids


def whole_id(name: str) -> str:
    """One id, with ``1.0`` as ``1``, as pandas writes whole numbers where a column lacked some.

    So are ``1.000e+00`` and ``1e+05``, as numpy and R write them; ``1e5`` may be hexadecimal.
    """
    if _SCIENTIFIC.match(name) and (number := Decimal(name)) == number.to_integral_value():
        return str(int(number))
    return _WHOLE_FLOAT.sub(r"\1", name)


def _any_null(names: Sequence[str]) -> "pl.Expr":
    import polars as pl

    return pl.any_horizontal(pl.col(name).is_null() for name in names)


def _parts(data: DataFile, skip: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines, about 32 MB at a time, each with the number of its first line (counted from 1)."""
    line, rest, first = 1, b"", True
    with data.open() as stream:
        while True:
            block = stream.read(_PART)
            if first:
                block, first = block.removeprefix(_BOM), False
            if b"\0" in block:
                raise not_text(data)
            text = rest + block
            cut = text.rfind(b"\n") + 1 if block else len(text)
            part, rest = text[:cut], text[cut:]
            while skip and part:  # blank lines before the header count as lines, not as skipped ones
                head, _, part = part.partition(b"\n")
                skip -= bool(head.strip())
                line += 1
            if part.strip():
                yield line, part
            line += part.count(b"\n")
            if not block:
                return


def _parse(part: bytes, line: int, data: DataFile, layout: Layout, columns: dict[int, str]) -> "pl.DataFrame":
    import polars as pl

    mark = layout.separator.encode()
    if len(mark) > 1 or b'"' in part:
        part, mark = _replace_separators(part, line, data, layout), _UNIT
    number = line + part.count(b"\n")
    last = part[part.rfind(b"\n") + 1 :]
    if last.strip() and last.count(mark) + 1 < layout.width:
        raise cut_short(f"line {number}", data.label, f"{last.count(mark) + 1} of {layout.width} fields")
    try:
        frame = _read_csv(part, mark, line, layout, columns)
    except pl.exceptions.PolarsError as error:
        # A spreadsheet ends every line with separators where a column was cleared.
        trimmed = re.sub(rb"(%s)+(?=\r?(\n|\Z))" % re.escape(mark), b"", part)
        try:
            frame = _read_csv(trimmed, mark, line, layout, columns)
        except pl.exceptions.PolarsError:
            raise _unreadable(str(error), trimmed, mark, line, data, layout) from None
    named = frame.select("line", *(pl.col(f"{at}").alias(name) for at, name in columns.items()))
    stripped = named.with_columns(pl.exclude("line").str.strip_chars())
    filled = stripped.with_columns(
        pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in columns.values()
    )
    return filled.filter(~pl.all_horizontal(pl.exclude("line").is_null()))


def _read_csv(part: bytes, mark: bytes, line: int, layout: Layout, columns: dict[int, str]) -> "pl.DataFrame":
    import polars as pl

    return pl.read_csv(
        part,
        has_header=False,
        separator=mark.decode(),
        schema={f"{at}": pl.String for at in range(layout.width)},
        columns=sorted({*columns, layout.width - 1}),  # without the last one, further fields would be no error
        row_index_name="line",
        row_index_offset=line,
        missing_columns="insert",
        quote_char=None,
    )


def _replace_separators(part: bytes, line: int, data: DataFile, layout: Layout) -> bytes:
    """The lines, unquoted, with a character between the fields that no field holds."""
    if _UNIT in part:
        raise not_text(data)
    mark, lines = layout.separator.encode(), part.split(b"\n")
    for at, text in enumerate(lines):
        if len(mark) == 1 and b'"' in text:
            try:
                read = text.decode().rstrip("\r")
            except UnicodeDecodeError:
                raise _not_utf8(data) from None
            fields = split_line(read, layout.separator, f"line {line + at} of {data.label!r}")
            lines[at] = _UNIT.join(field.encode() for field in fields)
        else:
            lines[at] = text.replace(mark, _UNIT)
    return b"\n".join(lines)


def _unreadable(reason: str, part: bytes, mark: bytes, line: int, data: DataFile, layout: Layout) -> InputError:
    if "utf-8" in reason.lower():
        return _not_utf8(data)
    for number, text in enumerate(part.split(b"\n"), start=line):
        if text.count(mark) >= layout.width:
            hint = " (a decimal comma? write a point)" if layout.separator == "," else ""
            return InputError(
                f"Line {number} of {data.label!r} has {text.count(mark) + 1} fields, the first line {layout.width}"
                f"{hint}; make the lines alike."
            )
    return InputError(f"{data.label!r} cannot be read from line {line} on ({reason.splitlines()[0]}); check it.")


def not_text(data: DataFile) -> InputError:
    """The error for a file of other content than text."""
    return InputError(
        f"{data.label!r} is not a text file; give a text file, a .zip or .gz of one, or an .xlsx workbook."
    )


def _not_utf8(data: DataFile) -> InputError:
    return InputError(f"{data.label!r} is not UTF-8 text; save it as UTF-8.")
