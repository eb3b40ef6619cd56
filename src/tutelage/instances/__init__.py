"""Instances: the table of their sources, and the INSTANCE that people write.

An INSTANCE is ``name``, ``name:key=value,...`` or, for a source with a path, ``name:PATH,key=value,...``.
The path of a table of means (``means.csv``, or ``means.csv,rewards=constant``) is an INSTANCE too.  A PATH
with a comma, colon or equals sign needs quotes: ``movielens:"C:/a,b/ratings.csv",clients=3``.
"""

import importlib.util
import re
import shlex
from pathlib import PurePath

from tutelage.code_errors import describe_code_error, is_foreign, locate_function
from tutelage.errors import InputError
from tutelage.instances.base import Instance, InstanceSource
from tutelage.instances.readers.workbook import WORKBOOKS
from tutelage.paths import exists, is_file, is_folder
from tutelage.registry import Table, parameters_of, split_top, unquote
from tutelage.text import format_value

__all__ = ["INSTANCES", "Instance", "InstanceSource", "load", "parse"]

INSTANCES = Table[InstanceSource](
    kind="instance",
    plural="instances",
    entries={
        "paper": "tutelage.instances.paper:Paper",
        "uniform": "tutelage.instances.uniform:Uniform",
        "planted": "tutelage.instances.planted:Planted",
        "table": "tutelage.instances.table:MeansTable",
        "movielens": "tutelage.instances.movielens:MovieLens",
        "radio": "tutelage.instances.radio:Radio",
        "grenoble": "tutelage.instances.grenoble:Grenoble",
        "shift": "tutelage.instances.shift:ShiftingMeans",
    },
)

_INSTALLED = re.compile(r"([A-Za-z_]\w*)(\.\w+)*:[A-Za-z_]\w*(\(.*\))?")
_KEY = re.compile(r"[A-Za-z_]\w*\s*=")
_DIGITS = re.compile(r"[-+0-9.;,]+")
_SLASH = re.compile(r"[/\\]")
_TABLE_ENDINGS = (".csv", ".tsv", ".json", ".toml", *WORKBOOKS)


def load(spec: str | PurePath) -> Instance:
    """Load the instance that an INSTANCE names, or the table of means at a ``pathlib.Path``.

    Raises ``InputError`` with the offending part and the remedy.
    """
    source = parse(spec)
    try:
        loaded = source.load()
    except InputError:
        raise
    except Exception as error:
        if not is_foreign(source):
            raise
        raise InputError(
            f"The instance {str(spec)!r} failed in load(): {describe_code_error(error, source)}."
        ) from error
    if not isinstance(loaded, Instance):
        raise InputError(
            f"The instance {str(spec)!r} returned {format_value(loaded)} from load(): it must be an Instance"
            f"{locate_function(source.load)}."
        )
    return loaded


def parse(spec: str | PurePath) -> InstanceSource:
    """Return the source that an INSTANCE names: its parameters are checked, nothing is read or drawn yet."""
    if isinstance(spec, PurePath):
        return INSTANCES.make("table", [("path", str(spec))], str(spec))
    if not isinstance(spec, str):
        raise InputError(
            f"Invalid instance {format_value(spec)}: use a text such as 'paper', the path of a table of "
            "means, or an Instance; tutelage.instance(means) makes one from an array or a DataFrame."
        )
    try:
        return _parse(spec)
    except InputError as error:
        better = _explain_path(spec.strip())
        raise (error if better is None else InputError(better)) from None


def _parse(spec: str) -> InstanceSource:
    text = spec.strip()
    if not text:
        raise InputError("The instance is empty: name one, as in paper or uniform:clients=5,arms=5,seed=3.")
    name, colon, rest = text.partition(":")
    if name in INSTANCES.entries:
        parts = split_top(rest, ",") if rest.strip() else []
        return INSTANCES.make(name, _arguments(name, parts, spec), spec)
    head, *options = split_top(text, ",")
    if _is_table(head):
        return INSTANCES.make("table", _arguments("table", [head, *options], spec), spec)
    if head.strip() in INSTANCES.entries:
        raise InputError(f"Write the parameters of {head.strip()!r} after a colon: {head.strip()}:{','.join(options)}.")
    call = text.partition("(")
    if call[0].strip() in INSTANCES.entries:
        inside = call[2].rstrip().removesuffix(")")
        raise InputError(f"Write the parameters of an instance after a colon: {call[0].strip()}:{inside}.")
    installed = _INSTALLED.fullmatch(text)
    if installed and importlib.util.find_spec(installed[1]) is not None:
        return INSTANCES.parse(text)
    INSTANCES.cls(name.strip() if colon else head.strip())  # raises: the name is unknown
    raise AssertionError(spec)


def _is_table(head: str) -> bool:
    """Whether an INSTANCE begins with a path to a table of means."""
    path = unquote(head.strip())
    return path.lower().endswith(_TABLE_ENDINGS) or path != head.strip() or is_file(path)


def _explain_path(text: str) -> str | None:
    """What to do about an INSTANCE that is not understood and holds a path; None where the path is not to blame."""
    name, _, rest = text.partition(":")
    source = f"{name}:" if name in INSTANCES.entries else ""
    given = rest if source else text
    for end in (len(given), *(found.start() for found in reversed(list(re.finditer(",", given))))):
        path = given[:end]
        if not path or not exists(path):
            continue
        if _needs_quotes(path):
            quote = "'" if '"' in path else '"'
            spec = shlex.quote(f"{source}{quote}{path}{quote}{given[end:]}")
            return f"The name of the file {path!r} needs quotes here, as in {spec}; in a shell write both pairs."
        if source:
            return None
        if is_folder(path):
            return (
                f"{path!r} is a folder, not an instance: name a file of means in it, or write movielens:{path} or "
                f"radio:{path} if it holds such data."
            )
        if not is_file(path):
            return f"{path!r} is not an ordinary file (a pipe?): write the data to a file and give its path."
    if not source and (_SLASH.search(given) or given.lower().endswith(_TABLE_ENDINGS)):
        return f"There is no file {given!r}: check the path, and put a path with a comma in quotes."
    return None


def _needs_quotes(path: str) -> bool:
    try:
        return len(split_top(path, ",")) > 1 or _KEY.match(path) is not None
    except InputError:  # a quote or a parenthesis
        return True


def _arguments(name: str, parts: list[str], spec: str) -> list[tuple[str, str]]:
    """The parts after ``name:`` as (key, text); a first part that is not key=value is the path."""
    takes_path = any(item.name == "path" for item in parameters_of(INSTANCES.cls(name)))
    arguments = []
    for position, part in enumerate(text.strip() for text in parts):
        if position == 0 and takes_path and part and not _KEY.match(part):
            arguments.append(("path", unquote(part)))
            continue
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise InputError(
                f"Invalid argument {part!r} in {spec!r}: write key=value{_hint(part, takes_path, position)}."
            )
        arguments.append((key.strip(), unquote(value.strip())))
    return arguments


def _hint(part: str, takes_path: bool, position: int) -> str:
    if position and _DIGITS.fullmatch(part):
        return " (a decimal comma? write a point, as in 0.5)"
    return " (put a path with a comma in quotes)" if takes_path and position else ""
