"""Open sets: tables of named things with parameters, and the SPECs that people write for them.

A folder such as ``policies/`` is an open set.  Its ``__init__`` holds one :class:`Table` with one line an
entry; the table drives the command line's choices, the validation, ``--list``, the docs' test and the
contract tests.  Nothing is imported before it is asked for.

A SPEC is a name with keyword arguments, ``twl(gamma1=1,gamma2=0)``; ``package.module:Name(...)`` names
what an installed package brings.
"""

import dataclasses
import difflib
import importlib
import re
import typing
from collections.abc import Iterator
from typing import Any, cast

from tutelage.errors import InputError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_INTEGER = re.compile(r"[+-]?[0-9]+")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One keyword argument of an entry: what ``--list`` shows of it."""

    name: str
    type: type
    default: Any  # dataclasses.MISSING where the argument must be given
    help: str

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING


def parameter(default: Any = dataclasses.MISSING, *, help: str) -> Any:
    """A dataclass field that is a documented SPEC parameter."""
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata={"help": help})
    return dataclasses.field(default=default, metadata={"help": help})


def parameters_of(cls: type) -> tuple[Parameter, ...]:
    """The parameters of an entry's class: its dataclass fields that :func:`parameter` made."""
    if not dataclasses.is_dataclass(cls):
        return ()
    hints = typing.get_type_hints(cls)
    return tuple(
        Parameter(field.name, _plain_type(hints[field.name]), field.default, field.metadata["help"])
        for field in dataclasses.fields(cls)
        if "help" in field.metadata
    )


def _plain_type(hint: Any) -> type:
    """``float`` for ``float`` and for ``float | None``."""
    plain = [part for part in typing.get_args(hint) if part is not type(None)]
    chosen = plain[0] if plain else hint
    return chosen if isinstance(chosen, type) else str


@dataclasses.dataclass(frozen=True)
class Table:
    """An open set: ``entries`` maps a name to where its class lives, ``package.module:Class``.

    ``kind`` is the word for one of them in messages ("policy"); ``needs`` are the names that every class of
    the set has, which is asked of those that a package brings.
    """

    kind: str
    plural: str
    entries: dict[str, str]
    needs: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def cls(self, name: str) -> type:
        """The class behind a name, of the table or ``package.module:Name``; else :class:`InputError`."""
        if name in self.entries:
            return cast(type, _load(self.entries[name]))
        if ":" in name:
            return self._installed(name)
        raise InputError(
            f"There is no {self.kind} {name!r}{_nearest(name, self.entries)}; "
            f"the {self.plural} are {', '.join(self.entries)}."
        )

    def _installed(self, name: str) -> type:
        try:
            found = _load(name)
        except (Exception, SystemExit) as error:  # the module's own code runs, which may raise anything
            told = f"{type(error).__name__}: {error}".rstrip(".")
            raise InputError(f"The {self.kind} {name!r} cannot be imported: {told}.") from error
        if not isinstance(found, type):
            raise InputError(f"The {self.kind} {name!r} is not a class: name a class of the package.")
        lacking = [need for need in self.needs if not hasattr(found, need)]
        if lacking:
            raise InputError(
                f"The class {name!r} is not a {self.kind}: it has no {' and no '.join(lacking)}."
            )
        return found

    def parameters(self, name: str) -> tuple[Parameter, ...]:
        """The parameters of an entry, in order."""
        return parameters_of(self.cls(name))

    def summary(self, name: str) -> str:
        """The first line of an entry's docstring."""
        return (self.cls(name).__doc__ or "").strip().splitlines()[0]

    def parse(self, spec: str) -> Any:
        """The object that a SPEC names.  Raises :class:`InputError` with the offending part."""
        name, arguments = split_call(spec, self.kind)
        return self.make(name, arguments, spec)

    def make(self, name: str, arguments: list[tuple[str, str]], spec: str) -> Any:
        """The object of an entry from texts ``(key, value)``, in the order they were written."""
        cls = self.cls(name)
        try:
            known = {item.name: item for item in parameters_of(cls)}
        except (NameError, TypeError) as error:  # annotations that name nothing
            raise InputError(
                f"The parameters of the {self.kind} {name!r} cannot be read: {error}."
            ) from error
        values: dict[str, Any] = {}
        for key, text in arguments:
            if key not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                raise InputError(
                    f"The {self.kind} {name!r} has no parameter {key!r}{_nearest(key, known)}; {takes}."
                )
            if key in values:
                raise InputError(f"The parameter {key!r} is given twice in {spec!r}: leave one.")
            values[key] = _convert(text, known[key], spec)
        for item in known.values():
            if item.required and item.name not in values:
                raise InputError(f"The {self.kind} {name!r} needs {item.name}=...: {item.help}.")
        try:
            return cls(**values)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            expected = isinstance(error, TypeError | ValueError)
            if name in self.entries and not expected:
                raise
            told = (str(error) if expected else f"{type(error).__name__}: {error}").rstrip(".")
            raise InputError(f"The {self.kind} {spec!r} cannot be made: {told}.") from error

    def spec(self, thing: Any) -> str:
        """The canonical SPEC of an object, every parameter spelled out: ``tal(gamma1=1,gamma2=0)``."""
        return self._written(thing, parameters_of(type(thing)))

    def brief(self, thing: Any, most: int = 3) -> str:
        """The SPEC for people: of more than ``most`` parameters only those that are not as by default."""
        items = parameters_of(type(thing))
        if len(items) > most:
            items = tuple(item for item in items if getattr(thing, item.name) != item.default)
        return self._written(thing, items)

    def _written(self, thing: Any, items: tuple[Parameter, ...]) -> str:
        path = f"{type(thing).__module__}:{type(thing).__qualname__}"
        name = next((name for name, where in self.entries.items() if where == path), path)
        pairs = [(item.name, getattr(thing, item.name)) for item in items]
        shown = [f"{key}={write_value(value)}" for key, value in pairs if value is not None]
        return f"{name}({','.join(shown)})" if shown else name


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _nearest(word: str, words: Any) -> str:
    near = difflib.get_close_matches(word.lower(), [str(item) for item in words], n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def split_top(text: str, separator: str) -> list[str]:
    """Split at separators that stand outside quotes and parentheses."""
    parts, depth, quote, start = [], 0, "", 0
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
        elif letter == separator and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    if quote or depth:
        missing = f"a closing {quote}" if quote else "a parenthesis"
        raise InputError(f"{text!r} lacks {missing}.")
    return [*parts, text[start:]]


def split_call(spec: str, kind: str) -> tuple[str, list[tuple[str, str]]]:
    """``"twl(gamma1=1)"`` -> ``("twl", [("gamma1", "1")])``."""
    text = spec.strip()
    name, parenthesis, rest = text.partition("(")
    name = name.strip()
    if not _NAME.fullmatch(name) or (parenthesis and not rest.rstrip().endswith(")")):
        raise InputError(
            f"{spec!r} is not a {kind}: write a name, or a name with arguments as in name(key=value)."
        )
    inside = rest.rstrip()[:-1].strip() if parenthesis else ""
    return name, split_arguments(inside, spec) if inside else []


def split_arguments(text: str, spec: str) -> list[tuple[str, str]]:
    """``"a=1,b=2"`` -> ``[("a", "1"), ("b", "2")]``."""
    pairs: list[tuple[str, str]] = []
    for part in split_top(text, ","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            comma = bool(pairs) and _INTEGER.fullmatch(part.strip())
            hint = " (a decimal comma? write a point, as in 0.5)" if comma else ""
            raise InputError(f"{part.strip()!r} in {spec!r} is not key=value{hint}.")
        pairs.append((key.strip(), unquote(value.strip())))
    return pairs


def unquote(text: str) -> str:
    """The text without the quotes around it, if it has any."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _convert(text: str, item: Parameter, spec: str) -> Any:
    try:
        return read_value(text, item.type)
    except ValueError:
        wanted = {int: "a whole number", float: "a number", bool: "true or false"}.get(item.type, "a word")
        comma = " with a decimal point, not a comma" if "," in text or ";" in text else ""
        raise InputError(f"{item.name}={text} in {spec!r} is not {wanted}{comma}.") from None


def read_value(text: str, wanted: type) -> Any:
    """One argument's text as the type its parameter declares; ``ValueError`` where it is not one."""
    if wanted is bool:
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    if wanted is int:
        if not _INTEGER.fullmatch(text):
            raise ValueError(text)
        return int(text)
    return float(text) if wanted is float else text


def write_value(value: Any) -> str:
    """A parameter's value as a SPEC writes it; the shortest text that reads back equal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)
    text = str(value)
    if text and text == text.strip() and not any(letter in text for letter in ",:()=\"'"):
        return text
    quote = "'" if '"' in text else '"'
    return f"{quote}{text}{quote}"
