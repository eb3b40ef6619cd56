"""Errors in the code of other packages: what was raised, in which file, line and function."""

import re
import sys
import traceback
from pathlib import Path
from typing import Any

_OURS = Path(__file__).parent
# numba quotes the code that it cannot compile, the innermost function first.
_NUMBA_PLACE = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+):\n(?:.*\n)*?def (?P<function>\w+)')


def is_foreign(thing: Any) -> bool:
    """Whether an entry, or a function of one, comes from another package."""
    return _root(_module_of(thing)) != "tutelage"


def describe_code_error(error: BaseException, thing: Any) -> str:
    """Describe what the code of an entry raised: ``KeyError: 3 (/home/me/teachers.py, line 31, in advance)``."""
    text = " ".join(str(error).split()).rstrip(".")
    return f"{type(error).__name__}{': ' * bool(text)}{text}{locate_error(error, thing)}"


def locate_error(error: BaseException, thing: Any) -> str:
    """Return the innermost place in the package of an entry, `` (FILE, line N, in FUNCTION)``; empty if unknown."""
    module = _module_of(thing)
    file = getattr(sys.modules.get(module), "__file__", None)
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if found and code.co_filename == "<string>":  # generated, as the functions of a dataclass are
            continue
        if code.co_filename == file or _root(str(frame.f_globals.get("__name__"))) == _root(module):
            found = _place(code.co_filename, line, code.co_name)
    return found or _locate_in_text(str(error))


def locate_function(function: Any) -> str:
    """Return where a function of another package begins, `` (FILE, line N, in FUNCTION)``; empty for ours."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None or not is_foreign(function):
        return ""
    return _place(code.co_filename, code.co_firstlineno, code.co_name)


def _locate_in_text(text: str) -> str:
    """Return the first place outside Tutelage and numba that numba names in its message."""
    for place in _NUMBA_PLACE.finditer(text):
        path = Path(place["file"]).resolve()
        if not path.is_relative_to(_OURS) and "numba" not in path.parts and path.exists():
            return _place(str(path), int(place["line"]), place["function"])
    return ""


def _place(file: str, line: int, function: str) -> str:
    where = "" if function == "<module>" else f", in {function}"
    return f" ({file}, line {line}{where})"


def _module_of(thing: Any) -> str:
    """Return the module of a function, a class or an object; a text is the name of one."""
    return thing if isinstance(thing, str) else str(getattr(thing, "__module__", None) or type(thing).__module__)


def _root(module: str) -> str:
    return module.partition(".")[0]
