"""From plain Python functions to compiled kernels.

Policies, rules and reward distributions are written as plain functions over numbers and array rows and import no
numba.  :func:`compiled` copies such a function, exchanges every plain function that it names for a compiled
one (``draws.py`` for its twins), and hands it to numba.  So every formula stands once, runs interpreted
in a debugger, and a kernel can be made for a policy that an installed package brings.

The code of a policy that is not ours is compiled with the bounds of its arrays checked.

Kernels are cached on disk by a digest of all the code and constants they are made of: an edit in any file
that a kernel reaches makes a new kernel, which numba's own check (the one file's date) would miss.
"""

import functools
import hashlib
import pickle
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from tutelage.engine.compiled_draws import TWINS

Plain = Callable[..., Any]

# Kernels only read and write arrays that Python made.  Without numba's reference counting (`_nrt`) a row of
# an array costs nothing, and inlined into one function its fields live in registers: together 7 times
# faster.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_INNER_OPTIONS: dict[str, Any] = {**_OPTIONS, "forceinline": True}


@functools.cache
def compiled(function: Plain) -> Any:
    """The numba dispatcher of a plain function, linked to compiled versions of all that it calls."""
    source = TWINS.get(function, function)
    ours = str(source.__module__).partition(".")[0] in ("tutelage", "numba")
    return numba.njit(boundscheck=not ours, **_INNER_OPTIONS)(_relinked(source, {}))


def compiled_main(function: Plain, name: str, **bindings: Plain) -> Any:
    """A kernel that Python calls, cached on disk, with some of its global names bound to other functions.

    ``advance.advance`` is compiled once a policy this way: its ``choose`` and ``learn`` are bound to the
    policy's, so that they are inlined.
    """
    linked = _relinked(function, bindings)
    linked.__qualname__ = linked.__name__ = f"{name}_{_digest(function, bindings)}"
    try:
        return _Kernel(linked, numba.njit(cache=True, **_OPTIONS)(linked))
    except RuntimeError:  # no folder to cache in can be written
        return _Kernel(linked, numba.njit(**_OPTIONS)(linked))


class _Kernel:
    """A kernel that does without its cache where that cannot be read or written (damaged, a full disk)."""

    def __init__(self, linked: Plain, dispatcher: Any) -> None:
        self.linked, self.dispatcher = linked, dispatcher

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.dispatcher(*arguments)
        except (pickle.UnpicklingError, EOFError, OSError):  # before the kernel has run
            self.dispatcher = numba.njit(**_OPTIONS)(self.linked)
            return self.dispatcher(*arguments)


def _relinked(function: Plain, bindings: dict[str, Plain]) -> Plain:
    names: dict[str, Any] = dict(function.__globals__)
    for name, value in _reached(function, bindings).items():
        names[name] = compiled(value) if isinstance(value, FunctionType) else value
    copy = FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__module__ = function.__module__
    return copy


def _reached(function: Plain, bindings: dict[str, Plain]) -> dict[str, Any]:
    """The global names that a function's code mentions, with their values."""
    names = function.__code__.co_names
    values = {name: function.__globals__[name] for name in names if name in function.__globals__}
    return values | {name: value for name, value in bindings.items() if name in names}


def _digest(function: Plain, bindings: dict[str, Plain]) -> str:
    """A short hash of the code and constants that a kernel is made of; the same in every process."""
    told = hashlib.sha256(f"{numba.__version__} {np.__version__} {_INNER_OPTIONS}".encode())
    seen: set[Plain] = set()

    def tell(current: Plain, bound: dict[str, Plain]) -> None:
        current = TWINS.get(current, current)
        if current in seen:
            return
        seen.add(current)
        tell_code(current.__code__)
        tell_value(current.__defaults__)
        for cell in current.__closure__ or ():
            tell_value(cell.cell_contents)
        for name, value in sorted(_reached(current, bound).items()):
            told.update(name.encode())
            tell_value(value)

    def tell_code(code: CodeType) -> None:
        told.update(code.co_code + repr((code.co_names, code.co_varnames)).encode())
        for constant in code.co_consts:
            tell_value(constant)

    def tell_value(value: Any) -> None:
        value = getattr(value, "py_func", value)  # what somebody has compiled already
        if isinstance(value, FunctionType):
            tell(value, {})
        elif isinstance(value, CodeType):
            tell_code(value)
        elif isinstance(value, np.ndarray):
            told.update(value.tobytes())
        elif isinstance(value, type) and hasattr(value, "_fields"):
            told.update(repr(value._fields).encode())
        elif not isinstance(value, ModuleType):
            told.update(repr(value).encode())

    tell(function, bindings)
    return told.hexdigest()[:12]
