"""Names as people are shown them: nothing in a name moves or hides the text around it."""

import re
import shlex
import unicodedata
from collections.abc import Sequence

_NUMBERED = re.compile(r"\barm ([0-9]{1,9})\b")
_ISOLATE, _END = "\u2068", "\u2069"
_UNSEEN = frozenset({"Cf", "Cn", "Co", "Zl", "Zp"})  # direction marks, joiners, what no font has


def shown(name: str) -> str:
    """A name in which invisible characters are written out, and that keeps its direction to itself."""
    if name.isascii():
        return name
    told = "".join(_visible(character) for character in name)
    if any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in told):
        return f"{_ISOLATE}{told}{_END}"
    return told


def short(name: str, most: int) -> str:
    """The same in at most so many columns, if need be without its middle: names differ at their ends."""
    told = shown(name)
    if sum(map(_width, told)) <= most:
        return told
    inner = told.removeprefix(_ISOLATE).removesuffix(_END)
    head = _fitting(inner, (most - 1) // 2)
    tail = _fitting(inner[::-1], most - 1 - sum(map(_width, head)))[::-1]
    while tail and unicodedata.combining(tail[0]):  # its letter has been left out
        tail = tail[1:]
    cut = f"{head}…{tail}"
    return f"{_ISOLATE}{cut}{_END}" if inner != told else cut


def _fitting(characters: str, most: int) -> str:
    """As many of them, from the first on, as so many columns hold."""
    width = 0
    for place, character in enumerate(characters):
        width += _width(character)
        if width > most:
            return characters[:place]
    return characters


def with_names(sentence: str, arms: Sequence[str]) -> str:
    """A teacher's sentence, in which arms are numbers, with their names: ``decided for arm red``.

    A name that calls itself an arm takes the word's place: ``decided for Arm B``.
    """

    def named(found: re.Match[str]) -> str:
        number = int(found[1])
        if number >= len(arms):
            return found[0]
        name = shown(arms[number])
        return name if name.casefold().startswith("arm") else f"arm {name}"

    return _NUMBERED.sub(named, sentence)


def quoted(name: str) -> str:
    """A name for a command line; what cannot be seen is written out, as bash and zsh read it."""
    told = "".join(_visible(character) for character in name)
    if told == name:
        return shlex.quote(name)
    written = name.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(_visible(character) for character in written) + "'"


def _visible(character: str) -> str:
    kind = unicodedata.category(character)
    if kind not in _UNSEEN and not (kind == "Zs" and character != " "):
        return character
    return f"\\u{ord(character):04x}" if character <= "\uffff" else f"\\U{ord(character):08x}"


def _width(character: str) -> int:
    if character in {_ISOLATE, _END} or unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
