"""Names, formatted for people: no character of a name moves or hides the text around it."""

import re
import shlex
import unicodedata
from collections.abc import Sequence

_NUMBERED_ARM = re.compile(r"\barm ([0-9]{1,9})\b")
_ISOLATE, _END = "\u2068", "\u2069"
_INVISIBLE = frozenset({"Cf", "Cn", "Co", "Zl", "Zp"})  # direction marks, joiners, unassigned characters


def format_name(name: str) -> str:
    """Escape invisible characters of a name, and isolate its direction from the text around it."""
    if name.isascii():
        return name
    visible = "".join(_escape(character) for character in name)
    if any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in visible):
        return f"{_ISOLATE}{visible}{_END}"
    return visible


def shorten_name(name: str, columns: int) -> str:
    """Format a name in at most ``columns`` columns, without its middle, since similar names differ at the ends."""
    formatted = format_name(name)
    if sum(map(_width, formatted)) <= columns:
        return formatted
    inner = formatted.removeprefix(_ISOLATE).removesuffix(_END)
    head = _fit(inner, (columns - 1) // 2)
    tail = _fit(inner[::-1], columns - 1 - sum(map(_width, head)))[::-1]
    while tail and unicodedata.combining(tail[0]):  # its letter has been left out
        tail = tail[1:]
    short = f"{head}…{tail}"
    return f"{_ISOLATE}{short}{_END}" if inner != formatted else short


def _fit(characters: str, columns: int) -> str:
    """The first characters that fit."""
    width = 0
    for place, character in enumerate(characters):
        width += _width(character)
        if width > columns:
            return characters[:place]
    return characters


def insert_arm_names(sentence: str, arms: Sequence[str]) -> str:
    """Replace the arm numbers in a teacher's sentence by names: ``decided for arm red``.

    A name that starts with "arm" also replaces the word: ``decided for Arm B``.
    """

    def insert_name(found: re.Match[str]) -> str:
        number = int(found[1])
        if number >= len(arms):
            return found[0]
        name = format_name(arms[number])
        return name if name.casefold().startswith("arm") else f"arm {name}"

    return _NUMBERED_ARM.sub(insert_name, sentence)


def quote_for_shell(name: str) -> str:
    """Quote a name for a command line; invisible characters are escaped as bash and zsh read them."""
    if "".join(_escape(character) for character in name) == name:
        return shlex.quote(name)
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(_escape(character) for character in escaped) + "'"


def _escape(character: str) -> str:
    kind = unicodedata.category(character)
    if kind not in _INVISIBLE and not (kind == "Zs" and character != " "):
        return character
    return f"\\u{ord(character):04x}" if character <= "\uffff" else f"\\U{ord(character):08x}"


def _width(character: str) -> int:
    if character in {_ISOLATE, _END} or unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
