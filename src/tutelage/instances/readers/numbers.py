"""Numbers that people write, and weights of clients: as text, in JSON or in a file."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.instances.base import check_weights
from tutelage.instances.readers.delimited import split_preamble
from tutelage.instances.readers.files import parse_json, read_text
from tutelage.paths import is_file

_PERCENT = re.compile(r"\s*%$")


def read_weights(text: str, num_clients: int) -> NDArray[np.float64]:
    """``"0.2;0.3;0.5"``, or a file of weights, as float64 [M].

    A file has one number in each line, one line of numbers separated by commas, or JSON: a list, or an object
    whose ``weights`` is one.
    """
    if ";" in text and not is_file(text):
        weights = [parse_number(part, f"weights={text}", comma=True) for part in text.split(";")]
    elif _is_number(text) and not is_file(text):
        weights = [float(text)]
    else:
        weights = list(_weights_in(text))
    array = np.array(weights, dtype=np.float64)
    check_weights(array, num_clients)
    return array


def _weights_in(path: str) -> Iterator[float]:
    content = read_text(path, "weights").strip()
    if not content:
        raise InputError(f"The file of weights {path!r} is empty; write one number in each line.")
    if content[0] in "[{":
        listed = parse_json(content, path)
        yield from check_json_numbers(
            listed.get("weights") if isinstance(listed, dict) else listed, f"the weights in {path!r}"
        )
        return
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    _, before = split_preamble(lines)
    lines = lines[before:]
    separator = ";"
    if len(lines) == 1:
        separator = ";" if ";" in lines[0] else ","
        lines = lines[0].removesuffix(separator).split(separator)
    elif lines and lines[0].strip("\"'").lower() in ("weight", "weights"):
        del lines[0]
    for line in lines:
        yield parse_number(line, f"the file of weights {path!r}", comma=separator == ";")


def check_json_numbers(listed: Any, where: str) -> list[float]:
    """A JSON or TOML list of numbers; a word, ``true`` or a missing list is an ``InputError``."""
    if not isinstance(listed, list):
        raise InputError(f"There is no list of numbers for {where}: write one, as in [0.2, 0.8].")
    return [_json_number(value, where) for value in listed]


def _json_number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"Invalid {json.dumps(value, default=str)} among {where}: use a number.")
    try:
        return float(value)
    except OverflowError:
        raise InputError(
            f"A whole number of {int(value).bit_length()} bits among {where} is too large; correct it."
        ) from None


def parse_number(text: str, where: str, *, comma: bool = False) -> float:
    """A finite number as people write it, also as a percentage, and with a decimal ``comma`` where that is allowed.

    Raises ``InputError``, with a hint where a comma stands for a point.
    """
    stripped = text.strip()
    plain = _PERCENT.sub("e-2", stripped)
    if comma and "." not in plain:
        plain = plain.replace(",", ".", 1)
    if not _is_number(plain):
        hint = "; write a decimal point, not a comma" if _is_number(plain.replace(",", ".")) else ""
        fault = f"{stripped!r} in {where} is not a number" if stripped else f"A number is missing in {where}"
        raise InputError(f"{fault}{hint}.")
    return float(plain)


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False
