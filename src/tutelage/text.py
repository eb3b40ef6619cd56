"""Numbers, counts, durations and names as people read them.

Everything that is printed, drawn or sent to a person passes one of these functions; what a program reads
again (a SPEC, JSON, a CSV file) does not.
"""

import functools
import math
import re
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

UNKNOWN = "\N{EN DASH}"  # where a figure is not known
_TIME_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_TABLE_UNITS = {2: "M", 3: "G", 4: "T"}  # by how many thousands
_AXIS_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

# ------------------------------------------------------------------------------------------- numbers


def format_exact(number: float) -> str:
    """A number in the fewest digits that read back equal: 2, 0.05, 1e-07."""
    return repr(number).removesuffix(".0")


def format_number(value: float) -> str:
    """A number in three digits, or its whole part: 12,345, 123, 12.3, 0.0123."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def format_table_number(value: float) -> str:
    """A number for a table, with at least three digits: 0.0123, 1.23, 12.3, 123, 123,456.

    From a million on it has four digits and M (million), G (thousand M) or T (thousand G): 1.000M, 35.65G.
    """
    if value == 0:
        return "0"
    size = abs(value)
    if round(size) >= 1_000_000:
        digits, power = f"{value:.3e}".split("e")
        unit, shift = divmod(int(power), 3)
        if unit not in _TABLE_UNITS:
            return f"{value:.3e}"
        return f"{float(digits) * 10**shift:.{3 - shift}f}{_TABLE_UNITS[unit]}"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def format_p(p: float) -> str:
    """A p-value: ``p = 0.012``, ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def format_axis_number(value: float) -> str:
    """A number for an axis: 0.01, 5, 200, 1.5k, 50k, 2.5M."""
    for unit, letter in _AXIS_UNITS:
        if abs(value) >= unit:
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}"


def format_percent(share: float) -> str:
    """A share as a percentage, rounded down so that only a whole is ``100 %``: ``94 %``."""
    return f"{math.floor(100 * share + 1e-9)} %"


def round_percents(shares: Sequence[float]) -> list[int]:
    """Shares of one whole as whole percentages that sum to 100 (all 0 where the shares sum to 0).

    Each is rounded down; those that lose most by it get one more.
    """
    total = sum(shares)
    if not total > 0:
        return [0] * len(shares)
    exact = [100 * share / total for share in shares]
    percents = [math.floor(each + 1e-9) for each in exact]
    order = sorted(range(len(exact)), key=lambda place: percents[place] - exact[place])
    for place in order[: 100 - sum(percents)]:
        percents[place] += 1
    return percents


# --------------------------------------------------------------------------------- counts and durations


def format_count(number: int, noun: str) -> str:
    """A number with its noun: ``1 run``, ``2,000 runs``."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def format_bytes(number: int) -> str:
    """A size in decimal units: ``512 bytes``, ``4.1 kB``, ``1.5 GB``."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if number >= 999.5 * 1000 ** (power - 1):
            return f"{number / 1000**power:.3g} {unit}"
    return format_count(number, "byte")


def format_runs(some: int, runs: int) -> str:
    """How many of the runs: ``3 of 20 runs``, ``all 20 runs``, ``none of the 20 runs``, ``its only run``."""
    if not some:
        return f"none of the {runs} runs" if runs > 1 else "no run"
    if some == runs:
        return "its only run" if runs == 1 else f"all {runs} runs"
    return f"{some} of {runs} runs"


def format_duration(seconds: float) -> str:
    """A duration in its two largest units: ``0.4 s``, ``5 min 46 s``, ``2 d``; a dash where not finite."""
    if not seconds < math.inf:
        return UNKNOWN
    if seconds < 9.95:
        return f"{seconds:.2g} s" if seconds >= 0.0995 else f"{seconds * 1000:.2g} ms"
    left = round(seconds)
    parts: list[tuple[int, str]] = []
    for size, unit in _TIME_UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)


def format_rough_duration(seconds: float) -> str:
    """A duration, in whole minutes from two minutes on."""
    return format_duration(60 * round(seconds / 60) if seconds >= 120 else seconds)


def format_second(microseconds: int) -> str:
    """A time, in microseconds since 1970, to the second in UTC: ``2026-01-31T12:00:00Z``."""
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


# --------------------------------------------------------------------------------------- words and values


def join_words(words: Iterable[str], conjunction: str = "or") -> str:
    """Words as a list in a sentence: ``a``, ``a or b``, ``a, b or c``."""
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def shorten(text: str, longest: int = 60) -> str:
    """The text in one line of at most ``longest`` characters; ``...`` stands where its end was cut."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def format_value(value: Any, longest: int = 60) -> str:
    """Any value of Python in a message: its ``repr``, in one line and shortened."""
    if isinstance(value, int) and value.bit_length() > 200:  # Python prints at most 4300 digits
        return f"of {value.bit_length()} bits"
    return shorten(repr(value), longest)


def quote(name: str, longest: int = 130) -> str:
    """A name as it was sent, in quotes; a very long one is cut."""
    return repr(name) if len(name) <= longest else f"{name[:longest]!r}…"


# --------------------------------------------------------------------- names that may hold any character

_NUMBERED_ARM = re.compile(r"\barm ([0-9]{1,9})\b")
_ISOLATE, _END = "\u2068", "\u2069"
# Control characters, direction marks and joiners, halves of surrogate pairs, what no font has.
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")


def format_name(name: str) -> str:
    """A name with its invisible characters written out, and that keeps its direction to itself."""
    if name.isascii() and name.isprintable():
        return name
    text = "".join(_spell_out(character) for character in name)
    if any(unicodedata.bidirectional(character) in {"R", "AL", "AN"} for character in text):
        return f"{_ISOLATE}{text}{_END}"
    return text


def format_controls(text: str) -> str:
    """Text for a terminal, its control characters written out except for tabs and line ends."""
    return _CONTROL.sub(lambda found: _spell_out(found[0]), text)


def shorten_name(name: str, columns: int) -> str:
    """A name in at most ``columns`` columns, without its middle if need be: names differ at their ends."""
    text = format_name(name)
    if _count_columns(text) <= columns:
        return text
    inner = text.removeprefix(_ISOLATE).removesuffix(_END)
    head = _cut(inner, (columns - 1) // 2)
    tail = _cut(inner[::-1], columns - 1 - _count_columns(head))[::-1]
    while tail and unicodedata.combining(tail[0]):  # its letter has been left out
        tail = tail[1:]
    cut = f"{head}…{tail}"
    return f"{_ISOLATE}{cut}{_END}" if inner != text else cut


@functools.lru_cache(128)  # asked for the same names each second
def shorten_names(names: tuple[str, ...], columns: int) -> Mapping[str, str]:
    """Names by their text in at most ``columns`` (8 or more) columns: different names have different texts.

    Names that look alike without their middles are cut where they differ instead: ``…frontend-006…``.  Those
    that differ in too many places end with their number among ``names``: ``eu-west-1…#12``.
    """
    texts = {name: shorten_name(name, columns) for name in names}
    head = columns // 4
    if _count_common(texts) >= head:  # all names begin with it
        head = 0
    for group in _find_equal(texts, names):
        _cut_at_differences(group, texts, columns, head)
    alike = {name for group in _find_equal(texts, names) for name in group}
    for number, name in enumerate(names, 1):
        if name in alike:
            texts[name] = f"{shorten_name(name, 2 * columns)[: columns - 2 - len(str(number))]}…#{number}"
    return texts


def _count_common(texts: Collection[str]) -> int:
    """The number of characters with which all texts begin: those of the first and the last in order."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(last)))


def _find_equal(texts: Mapping[str, str], names: Iterable[str]) -> list[list[str]]:
    """The groups of different names that have one text."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(texts[name], []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _cut_at_differences(group: list[str], texts: dict[str, str], columns: int, head: int) -> None:
    """Give names the piece at which they first differ from each other, after their first ``head`` columns."""
    whole = {name: format_name(name).removeprefix(_ISOLATE).removesuffix(_END) for name in group}
    start = _count_common(whole.values())
    common_end = _count_common([text[::-1] for text in whole.values()])
    for name, text in whole.items():
        end = max(len(text) - common_end, start)
        before = f"{_cut(text, head)}…"
        after = "…" if end < len(text) else ""
        room = columns - _count_columns(before) - len(after)
        piece = _cut(text[:end][::-1], room)[::-1]
        if len(piece) < end - start:
            room, after = columns - _count_columns(before) - 1, "…"
            piece = _cut(text[start:], room)
        isolate, close = (_ISOLATE, _END) if text != format_name(name) else ("", "")
        texts[name] = f"{isolate}{before}{piece}{after}{close}"
    for smaller in _find_equal(texts, group):
        if len(smaller) < len(group):
            _cut_at_differences(smaller, texts, columns, head)


def _cut(characters: str, columns: int) -> str:
    """The longest beginning that fits."""
    width = 0
    for place, character in enumerate(characters):
        width += _columns_of(character)
        if width > columns:
            return characters[:place]
    return characters


def name_arms(sentence: str, arms: Sequence[str]) -> str:
    """Replace the numbers of arms in a teacher's sentence by their names: ``decided on arm red``.

    A name that begins with "arm" replaces that word too: ``decided on Arm B``.
    """

    def replace(found: re.Match[str]) -> str:
        number = int(found[1])
        if number >= len(arms):
            return found[0]
        name = format_name(arms[number])
        return name if name.casefold().startswith("arm") else f"arm {name}"

    return _NUMBERED_ARM.sub(replace, sentence)


def name_place(text: str, groups: str, option: str, place: str) -> str:
    """Give the commands of ``groups``, as in ``key|db``, an option with the place that they act on.

    A command begins the text or follows a backtick.  It loses the option if ``place`` is empty, the default.
    """
    given = f" {option} {quote_for_shell(place)}" if place else ""
    command = rf"(^|`)(tutelage (?:{groups}) [a-z]+)(?: {option} [^\s`]+)?"
    return re.sub(command, lambda found: f"{found[1]}{found[2]}{given}", text)


def quote_for_shell(name: str) -> str:
    """A name as bash and zsh read it; invisible characters are written out."""
    text = "".join(_spell_out(character) for character in name)
    if text == name:
        return shlex.quote(name)
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(_spell_out(character) for character in escaped) + "'"


def _spell_out(character: str) -> str:
    kind = unicodedata.category(character)
    if kind not in _INVISIBLE and not (kind == "Zs" and character != " "):
        return character
    return f"\\u{ord(character):04x}" if character <= "\uffff" else f"\\U{ord(character):08x}"


def _count_columns(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if character in {_ISOLATE, _END} or unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
