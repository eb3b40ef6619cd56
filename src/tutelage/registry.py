"""Open sets: tables of named things with parameters, and the SPECs that people write for them.

A folder such as ``policies/`` is an open set.  Its ``__init__`` holds one :class:`Table` with one line for
each entry.  The command line's choices, validation, ``--list``, the tables in the docs and the contract tests
all read that table.  The module of an entry is imported when the entry is first used.

A SPEC is a name with keyword arguments, ``twl(gamma1=1,gamma2=0)``; ``package.module:Name(...)`` names an
entry of an installed package.
"""

import dataclasses
import difflib
import functools
import importlib
import re
import typing
from collections.abc import Iterator
from typing import Any, Generic, TypeVar, cast

from tutelage.code_errors import describe_code_error, locate_error
from tutelage.errors import InputError
from tutelage.text import format_exact, format_value, join_words, shorten
from tutelage.validation import Bounds, describe_error, is_number, is_whole, read_whole

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_NOUNS = {int: "a whole number", float: "a number", bool: "true or false"}
Entry = TypeVar("Entry")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One keyword argument of an entry; ``help`` includes the range or the choices."""

    name: str
    type: type
    default: Any  # dataclasses.MISSING where the argument must be given
    help: str
    bounds: Bounds = Bounds()
    choices: tuple[str, ...] = ()
    is_optional: bool = False  # None is allowed
    names_arm: bool = False  # a text is allowed too: the name of an arm

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING

    @property
    def allowed(self) -> str:
        """What is allowed, in words: ``a whole number of at least 1``, ``bernoulli or fractional``."""
        if self.choices:
            return join_words(self.choices)
        allowed = self.bounds.describe_allowed(_NOUNS.get(self.type, "text"))
        return f"{allowed}, or the name of an arm" if self.names_arm else allowed

    def allowed_instead(self, value: Any) -> str:
        """What is allowed instead of a value, with the largest number where the value is beyond all bounds."""
        return f"{self.allowed}, and below 2^63" if self.type is int and not _fits(value) else self.allowed

    def check(self, value: Any, where: str) -> None:
        """Raise ``InputError`` unless the value is of the parameter's type and within its bounds."""
        if not (self.allows(value) or (value is None and self.is_optional)):
            raise InputError(f"Invalid {self.name}={_format(value)} in {where}: use {self.allowed_instead(value)}.")

    def allows(self, value: Any) -> bool:
        """Whether the value is of the parameter's type and within its bounds or among its choices."""
        if self.names_arm and isinstance(value, str):
            return bool(value)
        if self.type is int:
            return is_whole(value) and self.bounds.contains(value) and _fits(value)
        if self.type is float:
            return is_number(value) and self.bounds.contains(value)
        if self.type is bool:
            return isinstance(value, bool)
        return isinstance(value, self.type) and (not self.choices or value in self.choices)


def _fits(value: Any) -> bool:
    """Whether a whole number fits in 64 bits, as compiled code needs it; true of what is not a whole number."""
    return not is_whole(value) or -(2**63) <= value < 2**63


def _format(value: Any) -> str:
    return format_exact(float(value)) if isinstance(value, float) else format_value(value)


def parameter(
    default: Any = dataclasses.MISSING,
    *,
    help: str,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    below: float | None = None,
    names_arm: bool = False,
) -> Any:
    """Return a dataclass field that is a documented SPEC parameter.

    ``minimum`` and ``maximum`` are themselves allowed, ``above`` and ``below`` are not; a number must be
    finite unless ``maximum`` is ``math.inf``.  A field of a ``Literal`` type allows its texts.  A whole number that
    ``names_arm`` may also be the name of an arm, for which :func:`tutelage.teachers.base.number_arms` puts its
    number.  ``help`` is a phrase without the range and the choices, which are added to it.  A table checks a value
    that a SPEC gives; for values given in Python, the class calls :func:`check_parameters` in its
    ``__post_init__``.
    """
    described = {"help": help, "bounds": Bounds(minimum, maximum, above, below), "names_arm": names_arm}
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=described)
    return dataclasses.field(default=default, metadata=described)


def parameters_of(cls: type) -> tuple[Parameter, ...]:
    """The parameters of an entry's class: its dataclass fields that :func:`parameter` made."""
    return _read_parameters(cls)


@functools.cache
def _read_parameters(cls: type) -> tuple[Parameter, ...]:
    if not dataclasses.is_dataclass(cls):
        return ()
    hints, fields = typing.get_type_hints(cls), dataclasses.fields(cls)
    return tuple(read_parameter(field, hints[field.name]) for field in fields if "help" in field.metadata)


def read_parameter(field: dataclasses.Field[Any], hint: Any) -> Parameter:
    """Read what :func:`parameter` noted of a field; ``hint`` is its type."""
    bounds, choices = field.metadata["bounds"], typing.get_args(hint)
    choices = choices if typing.get_origin(hint) is typing.Literal else ()
    added = f": {join_words(choices)}" if choices else f", {bounds.describe()}".removesuffix(", ")
    return Parameter(
        name=field.name,
        type=_plain_type(hint),
        default=field.default,
        help=field.metadata["help"] + added,
        bounds=bounds,
        choices=choices,
        is_optional=type(None) in typing.get_args(hint),
        names_arm=field.metadata["names_arm"],
    )


def check_parameters(thing: Any) -> None:
    """Raise ``InputError`` unless every parameter of an entry is allowed; call it in ``__post_init__``."""
    cls: type = type(thing)
    for item in parameters_of(cls):
        item.check(getattr(thing, item.name), cls.__name__)


def _plain_type(hint: Any) -> type:
    """``float`` for ``float`` and for ``float | None``."""
    plain = [part for part in typing.get_args(hint) if part is not type(None)]
    chosen = plain[0] if plain else hint
    return chosen if isinstance(chosen, type) else str


@dataclasses.dataclass(frozen=True)
class Table(Generic[Entry]):
    """An open set: ``entries`` maps a name to where its class lives, ``package.module:Class``.

    ``kind`` and ``plural`` are the words for the entries in messages ("policy", "policies"); ``needs`` are
    the attributes that a class of an installed package must have.  ``unlisted`` are entries that stand for things
    which are not entries, and that iteration, and with it every list and table, leaves out.
    """

    kind: str
    plural: str
    entries: dict[str, str]
    needs: tuple[str, ...] = ()
    unlisted: dict[str, str] = dataclasses.field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def cls(self, name: str) -> type:
        """The class of an entry, by its name or as ``package.module:Name``; else :class:`InputError`."""
        if name in self.entries or name in self.unlisted:
            return cast(type, _load((self.entries | self.unlisted)[name]))
        if ":" in name:
            return self._load_installed(name)
        raise InputError(
            f"Unknown {self.kind} {name!r}{_suggest(name, self.entries)}: use one of {', '.join(self.entries)}."
        )

    def _load_installed(self, name: str) -> type:
        try:
            found = _load(name)
        except (Exception, SystemExit) as error:  # the module's own code runs, which may raise anything
            module = name.partition(":")[0]
            advice = f"{describe_code_error(error, module)}."
            if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
                advice += " Install its package where tutelage runs, or add its folder to PYTHONPATH."
            raise InputError(f"The {self.kind} {name!r} cannot be imported: {advice}") from error
        if not isinstance(found, type):
            raise InputError(f"The {self.kind} {name!r} is not a class: name a class of the package.")
        lacking = [need for need in self.needs if not hasattr(found, need)]
        if lacking:
            raise InputError(f"The class {name!r} is not a {self.kind}: it lacks {join_words(lacking, 'and')}.")
        return found

    def parameters(self, name: str) -> tuple[Parameter, ...]:
        """The parameters of an entry, in order."""
        return parameters_of(self.cls(name))

    def summary(self, name: str) -> str:
        """The first line of an entry's docstring."""
        return (self.cls(name).__doc__ or "").strip().splitlines()[0]

    def parse(self, spec: str) -> Entry:
        """The object that a SPEC names.  Raises :class:`InputError` with the offending part."""
        name, arguments = split_call(spec, self.kind)
        return self.make(name, arguments, spec)

    def make(self, name: str, arguments: list[tuple[str, str]], spec: str) -> Entry:
        """The object of an entry from texts ``(key, value)``, in the order they were written."""
        cls = self.cls(name)
        try:
            known = {item.name: item for item in parameters_of(cls)}
        except (NameError, TypeError) as error:  # annotations that name nothing
            raise InputError(f"The parameters of the {self.kind} {name!r} cannot be read: {error}.") from error
        values: dict[str, Any] = {}
        for key, text in arguments:
            if key not in known:
                allowed = f"use {', '.join(known)}" if known else "it has none"
                raise InputError(
                    f"Unknown parameter {key!r}{_suggest(key, known)} of the {self.kind} {name!r}: {allowed}."
                )
            if key in values:
                raise InputError(f"The parameter {key!r} appears twice in {spec!r}: remove one.")
            values[key] = _convert(text, known[key], spec)
        for item in known.values():
            if item.required and item.name not in values:
                raise InputError(f"The {self.kind} {name!r} needs {item.name}=...: {item.help}.")
        try:
            return cast(Entry, cls(**values))
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            if name in self.entries and not isinstance(error, TypeError | ValueError):
                raise
            place = "" if name in self.entries else locate_error(error, cls)
            raise InputError(f"Invalid {self.kind} {spec!r}: {describe_error(error)}{place}.") from error

    def resolve(self, given: str | Entry) -> Entry:
        """The object that a SPEC names, or the object itself if it has every attribute of an entry."""
        if isinstance(given, str):
            return self.parse(given)
        if isinstance(given, type):
            name = given.__name__
            raise InputError(f"{name} is a class, not a {self.kind}: call it, as in {name}(...).")
        if type(given).__module__ == "builtins":  # a number, None, a list
            example = next(iter(self.entries))
            raise InputError(f"Invalid {self.kind} {format_value(given)}: use a SPEC, as in {example!r}, or an object.")
        lacking = [need for need in self.needs if not hasattr(given, need)]
        if lacking:
            raise InputError(f"{format_value(given)} is not a {self.kind}: it lacks {join_words(lacking, 'and')}.")
        return given

    def spec(self, thing: Any) -> str:
        """The canonical SPEC of an object, with every parameter: ``tal(gamma1=1,gamma2=0)``."""
        return self._write(thing, parameters_of(type(thing)))

    def label(self, thing: Any) -> str:
        """The SPEC without the parameters that have their default: ``tal(gamma1=0)``.

        Tables, legends and files name an object so; objects with different SPECs have different labels.
        """
        items = parameters_of(type(thing))
        return self._write(thing, tuple(item for item in items if getattr(thing, item.name) != item.default))

    def _write(self, thing: Any, items: tuple[Parameter, ...]) -> str:
        path = f"{type(thing).__module__}:{type(thing).__qualname__}"
        name = next((name for name, where in (self.entries | self.unlisted).items() if where == path), path)
        pairs = [(item.name, getattr(thing, item.name)) for item in items]
        written = [f"{key}={write_value(value)}" for key, value in pairs if value is not None]
        return f"{name}({','.join(written)})" if written else name


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _suggest(word: str, words: Any) -> str:
    """Name the word that is most similar, and the first of several."""
    similarity = {item: difflib.SequenceMatcher(None, item, word.lower()).ratio() for item in map(str, words)}
    nearest = max(similarity, key=similarity.__getitem__, default="")
    return f" (did you mean {nearest!r}?)" if similarity.get(nearest, 0.0) >= 0.5 else ""


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
        raise InputError(f"{text!r} lacks {missing}: add it.")
    return [*parts, text[start:]]


def split_call(spec: str, kind: str) -> tuple[str, list[tuple[str, str]]]:
    """``"twl(gamma1=1)"`` -> ``("twl", [("gamma1", "1")])``."""
    text = spec.strip()
    name, parenthesis, rest = text.partition("(")
    name = name.strip()
    if not _NAME.fullmatch(name) or (parenthesis and not rest.rstrip().endswith(")")):
        several = "; name several one by one" if "," in name else ""
        raise InputError(
            f"Invalid {kind} {spec!r}: write a name, or a name with arguments as in name(key=value){several}."
        )
    inside = rest.rstrip()[:-1].strip() if parenthesis else ""
    return name, split_arguments(inside, spec) if inside else []


def split_arguments(text: str, spec: str) -> list[tuple[str, str]]:
    """``"a=1,b=2"`` -> ``[("a", "1"), ("b", "2")]``."""
    pairs: list[tuple[str, str]] = []
    for part in split_top(text, ","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            comma = bool(pairs) and part.strip().isdecimal()
            hint = " (a decimal comma? write a point, as in 0.5)" if comma else ""
            raise InputError(f"Invalid argument {part.strip()!r} in {spec!r}: write key=value{hint}.")
        pairs.append((key.strip(), unquote(value.strip())))
    return pairs


def unquote(text: str) -> str:
    """The text without the quotes around it, if there are any."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _convert(text: str, item: Parameter, spec: str) -> Any:
    try:
        value = read_value(text, item.type)
    except ValueError:
        if item.names_arm:
            return text
        comma = " with a decimal point, not a comma" if "," in text or ";" in text else ""
        raise InputError(
            f"Invalid {item.name}={shorten(text)} in {shorten(spec)!r}: use {item.allowed}{comma}."
        ) from None
    if not item.allows(value):
        raise InputError(
            f"Invalid {item.name}={shorten(text)} in {shorten(spec)!r}: use {item.allowed_instead(value)}."
        )
    return value


def read_value(text: str, wanted: type) -> Any:
    """One argument's text as a value of its parameter's type.  Raises ``ValueError`` where it cannot be."""
    if wanted is bool:
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    if wanted is int:
        whole = read_whole(text)
        if whole is None:
            raise ValueError(text)
        return whole
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
