"""Kernels: compiled functions that Python calls, stored on disk.

A kernel is stored under a digest of all the code and constants that it contains, for the types of its arguments and
for this machine.  An edit in any of these files makes a new kernel.  A kernel of Tutelage's own code is stored as
machine code that is called without numba (machine_code.py).  One with code of another package, and any whose machine
code cannot be called that way, is numba's: it is stored in numba's cache, and calling it imports numba.
"""

import contextlib
import functools
import hashlib
import itertools
import operator
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tutelage.atomic_files import write_atomically
from tutelage.code_digest import CodeDigest, read_compilers
from tutelage.engine import machine_code
from tutelage.paths import has_writable_home, make_private_folder
from tutelage.versions import package_version

Plain = Callable[..., Any]

_WITHOUT_NUMBA = "machine_code", "stream_words"  # modules that compile, or hold what is compiled, without importing it
_LOCK = threading.RLock()


def compiled_main(function: Plain, name: str, **bindings: Any) -> "Kernel":
    """Return a kernel that Python calls, cached on disk, with some global names bound to other values.

    ``advance.advance`` is compiled once per policy and reward distribution this way: its ``choose``,
    ``learn`` and ``draw`` are bound to theirs, so that they are inlined.
    """
    return Kernel(function, f"{name}_{_digest(function, bindings)}", bindings)


class Kernel:
    """A function that is compiled, or loaded from the cache, when it is first called with arguments of some types."""

    def __init__(self, function: Plain, name: str, bindings: dict[str, Any]) -> None:
        self.function, self.name, self.bindings = function, name, bindings
        functions = [each for each in (function, *bindings.values()) if isinstance(each, FunctionType)]
        is_ours = all(each.__module__.partition(".")[0] == "tutelage" for each in functions)
        self.is_native = is_ours and machine_code.IS_SUPPORTED
        self.entries: dict[tuple[Any, ...], Callable[[bytes], Any] | None] = {}

    def __call__(self, *arguments: Any) -> Any:
        return RepeatedCalls(self)(*arguments)

    def find_entry(self, types: tuple[Any, ...], arguments: tuple[Any, ...]) -> Callable[[bytes], Any] | None:
        """Return machine code for arguments of these types, None if it is for numba to call."""
        if types not in self.entries:
            with _LOCK:
                if types not in self.entries:
                    self.entries[types] = self._open_entry(types, arguments)
        return self.entries[types]

    @functools.cached_property
    def numba_kernel(self) -> Any:
        """The same as numba calls and stores it."""
        from tutelage.engine.kernel_compiler import NumbaKernel

        return NumbaKernel(self.function, self.name, self.bindings)

    @property
    def is_cached(self) -> bool:
        """Whether this process or the cache has it."""
        if not self.is_native:
            return bool(self.numba_kernel.is_cached)
        return bool(self.entries) or any(
            any(folder.glob(f"{self.name}-{_machine_digest()}-*.o")) for folder in find_cache_folders()
        )

    @property
    def has_cache(self) -> bool:
        """Whether another process can compile it for this one, into the cache."""
        if not self.is_native:
            return bool(self.numba_kernel.has_cache)
        return any(os.access(folder, os.W_OK) for folder in find_cache_folders())

    def _open_entry(self, types: tuple[Any, ...], arguments: tuple[Any, ...]) -> Callable[[bytes], Any] | None:
        """Load machine code from the cache, or compile and store it; None if it is for numba to call."""
        symbol = f"{self.name}_{_shorten(repr(types))}"
        file = f"{self.name}-{_machine_digest()}-{_shorten(repr(types))}.o"
        for folder in find_cache_folders():
            content = _read(folder / file)
            if content is not None:
                return machine_code.load_entry(content, symbol) if content else None
        from tutelage.engine.kernel_compiler import compile_main

        content = compile_main(self.function, self.bindings, arguments, symbol)
        entry = None if content is None else machine_code.load_entry(content, symbol)
        _write(content if content and entry else b"", file)  # empty: numba calls it, which has a cache of its own
        return entry


class _Packed(NamedTuple):
    """Arguments of a call, what :func:`machine_code.pack_argument` returns for each, and the machine code for them."""

    arguments: tuple[Any, ...] = ()
    types: tuple[Any, ...] = ()
    words: tuple[bytes, ...] = ()
    all_words: bytes = b""
    entry: Callable[[bytes], Any] | None = None


class RepeatedCalls:
    """Calls of a kernel of which most arguments are the objects of the call before: only others are packed again.

    Threads may share it.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.latest = kernel, _Packed()

    def __call__(self, *arguments: Any) -> Any:
        if not self.kernel.is_native:
            return self.kernel.numba_kernel(*arguments)
        latest = self.latest
        if len(latest.arguments) != len(arguments):
            latest = _Packed((object(),) * len(arguments), ((),) * len(arguments), (b"",) * len(arguments))
        elif latest.entry is not None and all(map(operator.is_, arguments, latest.arguments)):
            return latest.entry(latest.all_words)
        try:
            packed = [
                (types, words) if argument is before else machine_code.pack_argument(argument)
                for argument, before, types, words in zip(arguments, *latest[:3], strict=True)
            ]
        except TypeError:
            return self.kernel.numba_kernel(*arguments)
        types, words = zip(*packed, strict=True)
        entry = latest.entry
        if entry is None or types != latest.types:
            entry = self.kernel.find_entry(tuple(itertools.chain.from_iterable(types)), arguments)
        self.latest = latest = _Packed(arguments, types, words, b"".join(words), entry)
        return self.kernel.numba_kernel(*arguments) if entry is None else entry(latest.all_words)


def _read(path: Path) -> bytes | None:
    """Return the object in a file of the cache; None if there is none or it is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, content = content[:32], content[32:]
    return content if hashlib.sha256(content).digest() == digest else None


def _write(content: bytes, file: str) -> None:
    for folder in find_cache_folders():
        if os.access(folder, os.W_OK):
            with contextlib.suppress(OSError):  # a full disk
                write_atomically(folder / file, hashlib.sha256(content).digest() + content)
                return


def find_cache_folders() -> tuple[Path, ...]:
    """Return the folders where kernels are stored; one is written to the first that it can be written to.

    That is the one in NUMBA_CACHE_DIR, or else the package's, that of the user, or a private one among the temporary
    files.
    """
    return _find_cache_folders(os.environ.get("NUMBA_CACHE_DIR"))


@functools.cache
def _find_cache_folders(asked: str | None) -> tuple[Path, ...]:
    if asked:
        folders = [Path(asked)]
    else:
        folders = [Path(__file__).parent / "__pycache__"]
        if has_writable_home():
            folders.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tutelage"))
        elif not os.access(Path(__file__).parent, os.W_OK):
            folders.append(make_private_folder())
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                break
    return tuple(folders)


@functools.cache
def _machine_digest() -> str:
    return _shorten(machine_code.describe_machine())


def _shorten(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _digest(function: Plain, bindings: dict[str, Any]) -> str:
    """Return a short hash of the code and constants of a kernel; the same in every process."""
    digest = CodeDigest(str(getattr(each, "__module__", "")) for each in (function, *bindings.values()))
    digest.add((package_version("numba"), np.__version__, _read_compilers()))
    digest.add_function(function, bindings)
    return digest.hexdigest()[:12]


@functools.cache
def _read_compilers() -> tuple[bytes, ...]:
    """Return the code of the modules that compile; most import numba, and need not be imported for a digest."""
    others = (Path(__file__).with_name(f"{name}.py").read_bytes() for name in _WITHOUT_NUMBA)
    return (*read_compilers(f"{__package__}.kernel_compiler"), *others)
