"""Digests of code: of functions and classes, and of all code and constants that these reach.

Reached is what bytecode, annotations, defaults, closures and the attributes of a class name, module after
module.  Not reached are the entries of an open set, which are named by texts, and packages in site-packages, of
which only the version counts.  Comments, docstrings of functions and positions in a file do not count, except in the
modules of this package that import numba and that only functions import: their text is hashed, which saves half a
second, with the versions of numba and of llvmlite, on which numba depends.
"""

import dis
import functools
import hashlib
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tutelage.registry import Table
from tutelage.versions import package_version

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_COMPILER_PACKAGES = "numba", "llvmlite"
_IMPORTS_NUMBA = re.compile(rb"^(?:import|from) numba\b", re.MULTILINE)
_FOREIGN = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class CodeDigest:
    """The digest of everything that has been added.

    ``packages`` are packages whose code is followed although they are installed in site-packages.
    """

    def __init__(self, packages: Iterable[str] = ()) -> None:
        self.digest = hashlib.sha256()
        self.packages = {"tutelage", *(name.partition(".")[0] for name in packages)}
        self.seen: set[int] = set()
        self.living: list[Any] = []  # so that no id is used twice

    def hexdigest(self) -> str:
        return self.digest.hexdigest()

    def add(self, value: Any) -> None:
        """Add a value: an object with its class, a class, a function, or a constant."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self._update(value)
        elif isinstance(value, FunctionType):
            self.add_function(value)
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, CodeType):
            self._add_code(value, None)
        elif isinstance(value, dict):
            for key in sorted(value, key=_describe):
                self._update(_describe(key))
                self.add(value[key])
        elif isinstance(value, set | frozenset):
            self._update(*sorted(map(_describe, value)))
        elif isinstance(value, np.ndarray):
            self._update(value.dtype.str, value.shape, value.tobytes())
        elif (parts := _unwrap(value)) is not None:
            self._update(type(value).__name__, len(parts))
            for each in parts:
                self.add(each)
        elif not isinstance(value, ModuleType | Table):
            self._add_object(value)

    def add_function(self, function: Any, bindings: Mapping[str, Any] | None = None) -> None:
        """Add a function, with some of its global names bound to other values."""
        if not self._is_new(function):
            return
        self._add_code(function.__code__, function.__doc__)
        reached = self._find_names(function) | dict(bindings or {})
        for value in (function.__defaults__, function.__kwdefaults__, function.__annotations__, reached):
            self.add(value)
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:  # not set yet
                continue

    def _add_code(self, code: CodeType, docstring: str | None) -> None:
        self._update(code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        for constant in code.co_consts:
            if constant is None or constant != docstring:
                self.add(constant)

    def _find_names(self, function: Any) -> dict[str, Any]:
        """Return what a function's names mean: globals, and attributes of the modules among them."""
        codes, names = list(_list_codes(function.__code__)), function.__globals__
        mentioned = {name for code in codes for name in code.co_names}
        found = {name: names[name] for name in mentioned if name in names}
        imported = {name for code in codes for name in _list_imports(code, names.get("__package__") or "")}
        followed = [name for name in imported if self._is_followed(name)]
        texts = {name: text for name in followed if (text := read_compilers(name))}
        modules = [_import(name) for name in followed if name not in texts]
        for name, text in texts.items():
            found[f"texts with {name}"] = (*text, *map(_version, _COMPILER_PACKAGES))
        for module in [*found.values(), *modules]:
            if isinstance(module, ModuleType) and self._is_followed(module.__name__):
                attributes = vars(module)
                found |= {f"{module.__name__}.{name}": attributes[name] for name in mentioned if name in attributes}
        return found

    def _add_class(self, cls: type) -> None:
        if cls is CodeDigest or not self._is_new(cls):
            return
        attributes = dict(vars(cls))
        factories = [each.default_factory for each in attributes.get("__dataclass_fields__", {}).values()]
        self.add([*cls.__bases__, factories, attributes.get("__annotations__", {})])
        for name in sorted(attributes):
            value = attributes[name]
            if isinstance(value, FunctionType) or not name.startswith(("__", "_abc_")):
                self._update(name)
                self.add(value)

    def _add_object(self, value: Any) -> None:
        cls = type(value)
        if not self._is_followed(cls.__module__):
            self._update(_describe(value))
        elif self._is_new(value):
            self.add([cls, getattr(value, "__dict__", _describe(value))])

    def _is_new(self, thing: Any) -> bool:
        """Add the name of a function, class or object, and return whether its content is to be added, too."""
        module = str(getattr(thing, "__module__", ""))
        self._update(module, getattr(thing, "__qualname__", ""))
        if id(thing) in self.seen:
            return False
        self.seen.add(id(thing))
        self.living.append(thing)
        if not self._is_followed(module):
            self._update(_version(module.partition(".")[0]))
            return False
        return True

    def _is_followed(self, module: str) -> bool:
        return module.partition(".")[0] in self.packages or not _is_foreign(module.partition(".")[0])

    def _update(self, *values: Any) -> None:
        for value in values:
            self.digest.update(value if isinstance(value, bytes) else repr(value).encode("utf-8", "backslashreplace"))
            self.digest.update(b"\0")


def _list_codes(code: CodeType) -> Iterable[CodeType]:
    """Yield a function's code and that of its inner functions."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_codes(constant)


def _list_imports(code: CodeType, package: str) -> Iterable[str]:
    """Yield the modules that code imports itself."""
    if dis.opmap["IMPORT_NAME"] not in code.co_code:
        return
    level = names = None  # what the two instructions before an import load
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and isinstance(level, int):
            yield importlib.util.resolve_name("." * level + str(instruction.argval), package)
        level, names = names, instruction.argval


@functools.cache
def read_compilers(name: str) -> tuple[bytes, ...]:
    """Return, if a module is one of this package that imports numba, the texts of all such modules next to it."""
    try:
        spec = importlib.util.find_spec(name) if name.startswith("tutelage.") else None
    except ImportError:  # of the package that has the module
        return ()
    if spec is None or spec.origin is None:
        return ()
    place = Path(spec.origin)
    texts = {path: path.read_bytes() for path in sorted(place.parent.glob("*.py"))}
    compilers = {path: text for path, text in texts.items() if _IMPORTS_NUMBA.search(text)}
    return tuple(compilers.values()) if place in compilers else ()


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:  # it would fail in the function, too
        return None


@functools.cache
def _version(package: str) -> str:
    return "" if package in sys.stdlib_module_names else package_version(package)


@functools.cache
def _is_foreign(package: str) -> bool:
    """Whether a package is Python's own or installed in site-packages."""
    if package in sys.stdlib_module_names:
        return True
    module = sys.modules.get(package) or importlib.util.find_spec(package)
    place = getattr(module, "__file__", None) or getattr(module, "origin", None)
    return place is not None and place.startswith(_FOREIGN)


def _unwrap(value: Any) -> Sequence[Any] | None:
    """Return what a sequence, method, property, partial or compiled function consists of."""
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, property):
        return value.fget, value.fset
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, functools.cached_property):
        return (value.func,)
    for name in ("py_func", "_defn", "__wrapped__", "__func__"):  # of numba, functools and methods
        if hasattr(value, name):
            return (getattr(value, name),)
    return None


def _describe(value: Any) -> str:
    """Return what a value looks like, which for one with an address is only its type."""
    text = repr(value)
    return text if _ADDRESS.search(text) is None else getattr(value, "__qualname__", type(value).__qualname__)
