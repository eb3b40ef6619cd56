"""Read tables of local means that people write: CSV, JSON or TOML."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tutelage.errors import InputError
from tutelage.instances.readers.delimited import (
    commented_header,
    cut_short,
    fewer_decimals,
    lacks_decimals,
    split_line,
    split_lines,
    split_preamble,
)
from tutelage.instances.readers.files import parse_json, read_text
from tutelage.instances.readers.numbers import check_json_numbers, parse_number

_CORNERS = (
    "", "client", "clients", "clientid", "clientids", "clientname", "clientnames", "id", "ids", "index", "name",
    "names", "user", "users", "userid", "userids", "username",
)  # fmt: skip
_WEIGHT = ("weight", "weights")
_DIGITS = re.compile(r"[0-9]{1,18}")
_KEYS = {"means": "means", "local_means": "means", "clients": "clients", "arms": "arms", "weights": "weights"}


@dataclass(frozen=True)
class MeansRows:
    """Local means as a file holds them: a row for each client, and names and weights where it has them."""

    rows: list[list[float]]
    clients: tuple[str, ...] | None
    arms: tuple[str, ...] | None
    weights: list[float] | None


def read_means(path: str) -> MeansRows:
    """Read a file of local means.  Raises ``InputError`` with the line or key that cannot be used."""
    text = read_text(path, "local means")
    if not text.strip():
        raise InputError(f"{path!r} is empty; write one row of means for each client.")
    ending = path.lower().removesuffix(".gz").rpartition(".")[2]
    if ending == "toml":
        table = _from_object(_toml(text, path), path)
    elif ending == "json" or (ending != "csv" and text.lstrip()[0] in "[{"):
        table = _from_object(parse_json(text, path), path)
    else:
        table = _from_csv(text, path)
    rows, widths = table.rows, [len(row) for row in table.rows]
    if not rows or not widths[0]:
        raise InputError(f"{path!r} has no means; write one row of means for each client.")
    for client, width in enumerate(widths):
        if width != widths[0]:
            raise InputError(
                f"In {path!r} client {client} has {width} means, client 0 has {widths[0]}; rows must be equally long."
            )
    return table


def _from_csv(text: str, path: str) -> MeansRows:
    header, rows, comma = _csv_rows(text, path)
    width = len(header or rows[0].cells)
    named = _has_client_names(header, rows, path)
    weigh = [at for at, name in enumerate(header or []) if is_weight(name)]
    if len(weigh) > 1:
        raise InputError(f"{path!r} has two columns of weights; remove one.")
    kept = [at for at in range(int(named), width) if at not in weigh]
    if comma and _mixes_decimals(row.cells[at] for row in rows for at in kept):
        raise InputError(f"{path!r} mixes decimal points and decimal commas; write all numbers in one way.")
    means = [
        [_mean(row.cells[at], f"row {row.line}, column {at + 1} of {path!r}", row.cells, comma) for at in kept]
        for row in rows
    ]
    where = f"the weights of {path!r}"
    weights = [parse_number(row.cells[weigh[0]], where, comma=comma) for row in rows] if weigh else None
    clients = tuple(row.cells[0] for row in rows) if named else None
    return MeansRows(means, clients, tuple(header[at] for at in kept) if header else None, weights)


@dataclass(frozen=True)
class _Row:
    """A line of the file, counted from 1, and its cells."""

    line: int
    cells: list[str]


def _csv_rows(text: str, path: str) -> tuple[list[str] | None, list[_Row], bool]:
    """The names in the first row, if it has any, the rows of means, and whether a comma may be a decimal comma."""
    numbered = [(at, line) for at, line in enumerate(split_lines(text), 1) if line.strip()]
    lines = [line for _, line in numbered]
    given, before = split_preamble(lines)
    comments = lines[int(given is not None) : before]
    if before == len(lines):
        raise InputError(f"{path!r} has comments but no means; write one row of means for each client.")
    separator = given or next((mark for mark in ";\t" if mark in lines[before]), ",")
    if separator == "," and any(map(_is_spaced, lines[before : before + 2])):
        separator = " "
        numbered = [(at, " ".join(line.split())) for at, line in numbered]
    where = f"row {{}} of {path!r}"
    rows = [_Row(at, split_line(line, separator, where.format(at))) for at, line in numbered[before:]]
    width = max((len(_without_empty_end(row.cells)) for row in rows if not row.cells[0].startswith("#")), default=0)
    width = width or len(rows[0].cells) * (rows[0].cells[0] > "#")
    if not width:
        raise InputError(f"{path!r} has separators but no means; write one row of means for each client.")
    rows = [
        row for row in rows if not row.cells[0].startswith("#") or (len(row.cells) == width and row.cells[0] != "#")
    ]
    rows = [_Row(row.line, row.cells[:width]) for row in rows]
    header = None
    if comments:
        header = commented_header(comments[-1], numbered[before][1], separator, where.format(numbered[before - 1][0]))
    if header is not None:
        header = header[:width]
    elif _is_header([row.cells for row in rows], path):
        header = rows.pop(0).cells
    if not rows:
        raise InputError(f"{path!r} has a line of names but no means; write one row of means for each client.")
    _check_widths(header, rows, separator, path)
    last = rows[-1]
    if text.endswith(lines[-1]) and numbered[-1][0] == last.line and last.cells[-1] != "1":
        others = [cell for row in rows for at, cell in enumerate(row.cells) if at or _numeric(cell)][:-1]
        if lacks_decimals(last.cells[-1], others):
            raise cut_short(f"row {last.line}", path, fewer_decimals(last.cells[-1]))
    return header, rows, separator != ","


def _without_empty_end(cells: list[str]) -> list[str]:
    """The cells without empty ones at the end, which a spreadsheet writes for cleared columns."""
    filled = [at for at, cell in enumerate(cells) if cell]
    return cells[: filled[-1] + 1] if filled else []


def _is_spaced(line: str) -> bool:
    """Whether a line holds numbers with spaces between them, as ``numpy.savetxt`` writes."""
    parts = line.split()
    return len(parts) > 1 and all(map(_numeric, parts)) and "," not in line and "%" not in line


def _check_widths(header: list[str] | None, rows: list[_Row], separator: str, path: str) -> None:
    width = len(header or rows[0].cells)
    for row in rows:
        if len(row.cells) != width:
            hint = " (a decimal comma? write a point)" if separator == "," and len(row.cells) > width else ""
            raise InputError(
                f"Row {row.line} of {path!r} has {len(row.cells)} cells, the first row {width}{hint}; "
                "rows must be equally long."
            )


def _is_header(rows: list[list[str]], path: str) -> bool:
    """Whether the first row names the arms.  One that mixes names and numbers may be a slip: an error."""
    row, below = rows[0], rows[1:]
    if is_corner(row[0]) or any(map(is_weight, row)):
        return True
    labels = row if _numeric(row[0]) else row[1:]
    if len(labels) > 1 and below and _whole(labels) and not _whole([cell for each in below for cell in each]):
        values = [int(cell) for cell in labels]
        if max(values) > 1 and len(set(values)) == len(values):
            return True  # years, or the numbers of arms: means end at 1
        if values == [0, 1]:
            raise InputError(
                f"Row 1 of {path!r} may be names or means ({', '.join(labels)}); write 'client' above the clients' "
                "names or words for the arms, or 0.0 and 1.0 if they are means."
            )
    names = [cell for cell in row[1:] or row if not _numeric(cell)]
    if "" in row[1:] and any(_numeric(cell) for cell in row):
        raise InputError(f"A number is missing in row 1, column {row.index('', 1) + 1} of {path!r}.")
    if "" in names:
        raise InputError(f"A name is missing in row 1 of {path!r}; name every arm.")
    if names and any(_numeric(cell) for cell in row):
        raise InputError(
            f"Row 1 of {path!r} mixes numbers and words ({names[0]!r}); correct it, "
            "or write 'client' above the clients' names."
        )
    return bool(names)


def _has_client_names(header: list[str] | None, rows: list[_Row], path: str) -> bool:
    """Whether the first column names the clients.  Different whole numbers may be names or means: an error."""
    if header and (is_corner(header[0]) or is_weight(header[0])):
        return is_corner(header[0])
    first, others = [row.cells[0] for row in rows], [cell for row in rows for cell in row.cells[1:]]
    words = [cell for cell in first if not _numeric(cell)]
    if words and len(words) < len(first):
        raise InputError(
            f"The first column of {path!r} mixes numbers and words ({words[0]!r}); correct it, "
            "or write 'client' above it if it holds names."
        )
    is_numbered = bool(others) and _whole(first) and len(set(first)) == len(first)
    if (
        is_numbered
        and (header or len(first) > 1)
        and (len(first) > 1 if _whole(others) and header else not _whole(others))
    ):
        called = f"column {header[0]!r}" if header else "first column"
        raise InputError(
            f"The {called} of {path!r} may be names or means ({', '.join(first[:3])}); "
            "write 'client' above it if it names the clients, or 0.0 and 1.0 if it holds means."
        )
    return bool(words)


def is_corner(cell: str) -> bool:
    """Whether the cell above the first column says that it names the clients: ``client``, ``client_id``, empty."""
    return re.sub(r"[\s_.-]", "", cell.lower()) in _CORNERS


def is_weight(cell: str) -> bool:
    """Whether the name of a column says that it holds the clients' weights."""
    return cell.strip().lower() in _WEIGHT


def _whole(cells: Iterable[str]) -> bool:
    return all(_DIGITS.fullmatch(cell) for cell in cells)


def _mixes_decimals(cells: Iterable[str]) -> bool:
    marks = {mark for cell in cells for mark in ",." if mark in cell}
    return len(marks) == 2


def _numeric(cell: str) -> bool:
    """Whether a cell is meant as a number (also ``nan`` and ``0,5``, which need not be numbers here)."""
    try:
        float(cell.removesuffix("%").replace(",", "."))
    except ValueError:
        return False
    return True


def _mean(cell: str, where: str, row: list[str], comma: bool) -> float:
    value = parse_number(cell, where, comma=comma)
    if not 0.0 <= value <= 1.0:
        whole = all(part.lstrip("+-").isdigit() for part in row)
        remedy = "write a decimal point, not a comma, or scale" if whole and len(row) > 1 else "scale"
        raise InputError(f"The mean {cell} in {where} lies outside [0, 1]; {remedy} the rewards to [0, 1] first.")
    return value


def _toml(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path!r} is not TOML: {error}.") from None
    except ValueError:  # Python turns no text of more than 4300 digits into a whole number
        raise InputError(f"{path!r} has a whole number with too many digits; shorten it.") from None
    except RecursionError:
        raise InputError(f"{path!r} is nested too deeply; give a list of rows of means.") from None


def _from_object(content: Any, path: str) -> MeansRows:
    given = _keys({"means": content} if isinstance(content, list) else content, path)
    means, clients, arms = given.get("means"), _names(given, "clients", path), _names(given, "arms", path)
    if isinstance(means, dict):
        clients, means = _named_once(tuple(means), clients, "clients", path), list(means.values())
    if not isinstance(means, list):
        raise InputError(f"{path!r} has no 'means'; write a list of rows of means.")
    if means and all(isinstance(row, dict) for row in means):
        arms, means = _named_once(tuple(means[0]), arms, "arms", path), _rows_by_arm(means, path)
    rows = [check_json_numbers(row, f"the means of client {at} in {path!r}") for at, row in enumerate(means)]
    weights = given.get("weights")
    if isinstance(weights, dict):
        if clients is None or set(weights) != set(clients):
            raise InputError(f"The weights in {path!r} are not those of its clients; name each client once.")
        weights = [weights[client] for client in clients]
    listed = None if weights is None else check_json_numbers(weights, f"the weights in {path!r}")
    return MeansRows(rows, clients, arms, listed)


def _keys(content: Any, path: str) -> dict[str, Any]:
    """The values of the object, with ``means`` for ``local_means``."""
    if not isinstance(content, dict):
        raise InputError(f"{path!r} has no table; write a list of rows of means.")
    if "instances" in content and "teachers" in content:
        raise InputError(f"{path!r} is an experiment, not an instance: simulate it with tutelage run.")
    given: dict[str, Any] = {}
    for key, value in content.items():
        if key not in _KEYS:
            raise InputError(f"Unknown key {key!r} in {path!r}: use means, clients, arms and weights.")
        if _KEYS[key] in given:
            raise InputError(f"{path!r} has the means twice, as 'means' and 'local_means'; remove one.")
        given[_KEYS[key]] = value
    return given


def _named_once(found: tuple[str, ...], listed: tuple[str, ...] | None, what: str, path: str) -> tuple[str, ...]:
    if listed is not None:
        raise InputError(f"{path!r} names the {what} twice, in 'means' and in {what!r}; remove one.")
    return found


def _rows_by_arm(means: list[dict[str, Any]], path: str) -> list[list[Any]]:
    for client, row in enumerate(means):
        if set(row) != set(means[0]):
            raise InputError(f"In {path!r} client {client} has other arms than client 0; give all clients the same.")
    return [[row[arm] for arm in means[0]] for row in means]


def _names(given: dict[str, Any], key: str, path: str) -> tuple[str, ...] | None:
    names = given.get(key)
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str | int) for name in names):
        raise InputError(f"{key!r} in {path!r} is not a list of names.")
    try:
        return tuple(str(name) for name in names)
    except ValueError:  # a hexadecimal number of TOML may have more digits than Python writes
        raise InputError(f"{key!r} in {path!r} has a number of too many digits; shorten it.") from None
