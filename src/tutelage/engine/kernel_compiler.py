"""Kernels: plain Python functions, compiled.

Policies, rules and reward distributions are plain functions of numbers and array rows and do not import
numba.  :func:`compiled` copies such a function, replaces every plain function that it names by a compiled one
(those of ``draws.py`` by the twins in ``compiled_draws.py``), and passes the copy to numba.  So every formula
is written once, can be stepped through in a debugger, and a kernel can be made for a policy from another
package.  The code of such a policy is compiled with array bounds checked.

``kernels.py`` stores kernels on disk, so that this module and numba are imported only to compile one, or to call one
that numba alone can call.
"""

import functools
import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numba

from tutelage.engine.compiled_draws import TWINS
from tutelage.engine.kernel_entry import compile_entry
from tutelage.engine.part_compiler import PartCompiler, add_part
from tutelage.paths import has_writable_home, make_private_folder

Plain = Callable[..., Any]

# Kernels only read and write arrays that Python made.  Without numba's reference counting (`_nrt`) a row of
# an array costs nothing, and once all is inlined into one function its fields are in registers: 7 times as
# fast together.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_INNER_OPTIONS: dict[str, Any] = {**_OPTIONS, "forceinline": True}


@functools.cache
def compiled(function: Plain) -> Any:
    """Return the numba dispatcher of a plain function, linked to compiled versions of all that it calls."""
    return _make_dispatcher(function, {})


@functools.cache
def _compiled_part(function: Plain) -> Any:
    """Return a dispatcher like :func:`compiled` that only compiled code can call, which takes less time to compile."""
    dispatcher = _make_dispatcher(function, {"pipeline_class": PartCompiler, **_NO_WRAPPERS})
    if hasattr(dispatcher, "add_overload"):  # not an intrinsic of numba
        dispatcher.add_overload = functools.partial(add_part, dispatcher)
    return dispatcher


def _make_dispatcher(function: Plain, options: dict[str, Any]) -> Any:
    source = TWINS.get(function, function)
    if not isinstance(source, FunctionType):  # an intrinsic of numba
        return source
    ours = str(source.__module__).partition(".")[0] in ("tutelage", "numba")
    return numba.njit(boundscheck=not ours, **_INNER_OPTIONS, **options)(_relinked(source, {}))


def compile_main(function: Plain, bindings: dict[str, Any], arguments: Sequence[Any], name: str) -> bytes | None:
    """Compile a kernel for arguments of these types and return its machine code, None if only numba can call it."""
    options: dict[str, Any] = {"pipeline_class": PartCompiler, **_INNER_OPTIONS, **_NO_WRAPPERS}
    dispatcher = numba.njit(**options)(_relinked(function, bindings))
    dispatcher.add_overload = functools.partial(add_part, dispatcher)
    return compile_entry(dispatcher, arguments, name)


class NumbaKernel:
    """A kernel that numba calls and caches, without its cache if that cannot be read or written."""

    def __init__(self, function: Plain, name: str, bindings: dict[str, Any]) -> None:
        self.linked = _relinked(function, bindings)
        self.linked.__qualname__ = self.linked.__name__ = name
        try:
            _choose_cache_folder()
            self.dispatcher = _load_quickly(numba.njit(cache=True, **_OPTIONS)(self.linked))
        except RuntimeError:  # no cache folder can be written
            self.dispatcher = numba.njit(**_OPTIONS)(self.linked)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self.dispatcher(*arguments)
        except (pickle.UnpicklingError, EOFError, OSError):  # before the kernel has run
            self.dispatcher = numba.njit(**_OPTIONS)(self.linked)
            return self.dispatcher(*arguments)

    @property
    def is_cached(self) -> bool:
        """Whether this process or the cache has it."""
        folder = self.dispatcher.stats.cache_path
        return bool(self.dispatcher.signatures) or (
            folder is not None and any(Path(folder).glob(f"*.{self.linked.__name__}-*.nbi"))
        )

    @property
    def has_cache(self) -> bool:
        """Whether another process can compile it for this one, into the cache."""
        return self.dispatcher.stats.cache_path is not None


def _load_quickly(dispatcher: Any) -> Any:
    """Let a dispatcher load its kernel from the cache without importing what numba needs only to compile.

    That takes half a second.  numba's ``load_overload`` imports it first, and then calls the function that it is
    replaced by; compiling imports it anyway.
    """
    cache: Any = getattr(dispatcher, "_cache", None)
    if hasattr(cache, "_load_overload"):
        cache.load_overload = cache._load_overload  # noqa: SLF001 - numba has no public name for it
    return dispatcher


@functools.cache
def _choose_cache_folder() -> None:
    """Give numba a cache folder where neither the package's folder nor the user's home can be written.

    Without a home numba would make a folder named ``~`` in the current one.
    """
    config: Any = numba.config
    if not (config.CACHE_DIR or os.access(Path(__file__).parent, os.W_OK) or has_writable_home()):
        config.CACHE_DIR = str(make_private_folder())


def _relinked(function: Plain, bindings: dict[str, Any]) -> Plain:
    names: dict[str, Any] = dict(function.__globals__)
    for name, value in _reached(function, bindings).items():
        names[name] = _compiled_part(value) if isinstance(value, FunctionType) else value
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__module__ = function.__module__
    return copy


def _reached(function: Plain, bindings: dict[str, Any]) -> dict[str, Any]:
    """Return the global names that a function's code mentions, with their values."""
    names = function.__code__.co_names
    values = {name: function.__globals__[name] for name in names if name in function.__globals__}
    return values | {name: value for name, value in bindings.items() if name in names}
