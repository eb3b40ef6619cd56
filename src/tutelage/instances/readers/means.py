"""Read tables of local means that people write: CSV, JSON or TOML."""

import csv
import io
import tomllib
from dataclasses import dataclass
from typing import Any

from tutelage.errors import InputError
from tutelage.instances.readers.files import parse_json, read_text
from tutelage.instances.readers.numbers import check_json_numbers, parse_number

_CORNERS = ("", "client", "clients", "name", "names")
_WEIGHT = ("weight", "weights")
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
    header, rows = _csv_rows(text, path)
    first = 1 if header is None else 2  # the row that the first client stands in
    width = len(header or rows[0])
    named = _has_client_names(header, rows, path)
    weigh = [at for at, name in enumerate(header or []) if name.lower() in _WEIGHT]
    if len(weigh) > 1:
        raise InputError(f"{path!r} has two columns of weights; remove one.")
    kept = [at for at in range(int(named), width) if at not in weigh]
    means = [
        [_mean(row[at], f"row {line}, column {at + 1} of {path!r}", row) for at in kept]
        for line, row in enumerate(rows, first)
    ]
    weights = [parse_number(row[weigh[0]], f"the weights of {path!r}") for row in rows] if weigh else None
    arms = tuple(header[at] for at in kept) if header else None
    return MeansRows(means, tuple(row[0] for row in rows) if named else None, arms, weights)


def _csv_rows(text: str, path: str) -> tuple[list[str] | None, list[list[str]]]:
    """The line of names, if there is one, and the lines of means, all of one length."""
    first = text.lstrip().partition("\n")[0]
    separator = next((letter for letter in ";\t" if letter in first), ",")
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise InputError(f"{path!r} is not a CSV file: {error}; check its quotes.") from None
    rows = [[cell.strip() for cell in row] for row in lines if any(cell.strip() for cell in row)]
    if not rows:
        raise InputError(f"{path!r} has separators but no means; write one row of means for each client.")
    header = rows.pop(0) if _is_header(rows[0], path) else None
    if not rows:
        raise InputError(f"{path!r} has a line of names but no means; write one row of means for each client.")
    width = len(header or rows[0])
    for line, row in enumerate(rows, start=1 if header is None else 2):
        if len(row) != width:
            hint = " (a decimal comma? write a point)" if separator == "," and len(row) > width else ""
            raise InputError(
                f"Row {line} of {path!r} has {len(row)} cells, the first row {width}{hint}; rows must be equally long."
            )
    return header, rows


def _is_header(row: list[str], path: str) -> bool:
    """Whether the first line names the arms.  One that mixes names and numbers may be a slip: an error."""
    lowered = [cell.lower() for cell in row]
    if lowered[0] in _CORNERS or any(cell in _WEIGHT for cell in lowered):
        return True
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


def _has_client_names(header: list[str] | None, rows: list[list[str]], path: str) -> bool:
    """Whether the first column names the clients."""
    if header and header[0].lower() in _CORNERS:
        return True
    words = [row[0] for row in rows if not _numeric(row[0])]
    if words and len(words) < len(rows):
        raise InputError(
            f"The first column of {path!r} mixes numbers and words ({words[0]!r}); correct it, "
            "or write 'client' above it if it holds names."
        )
    return bool(words)


def _numeric(cell: str) -> bool:
    """Whether a cell is meant as a number (also ``nan`` and ``0,5``, which are not numbers here)."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _mean(cell: str, where: str, row: list[str]) -> float:
    value = parse_number(cell, where)
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
