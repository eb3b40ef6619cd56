"""Calls of machine code without numba: arguments as words of 64 bits, and objects that LLVM loads.

Importing numba and preparing it to load a kernel takes 0.5 s.  A kernel that has been compiled once is an object in
the ELF format with one function, ``int32 entry(int64 *arguments, int64 *result)``, which ``kernel_entry.py`` adds to
it.  LLVM alone, which numba brings, loads it in 0.1 s.
"""

import ctypes
import functools
import os
import pickle
import struct
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tutelage.versions import package_version

# Elsewhere objects have another format, and numba calls kernels.
IS_SUPPORTED = sys.platform == "linux" and sys.maxsize > 1 << 32 and sys.byteorder == "little"

# What `entry` writes in its third word: how to read the first one.
RETURNS_NONE, RETURNS_INT, RETURNS_FLOAT = range(3)

_INT, _FLOAT = struct.Struct("=q"), struct.Struct("=d")
_SCALARS: dict[type, tuple[str, struct.Struct]] = {
    bool: ("bool", _INT),
    np.bool_: ("bool", _INT),
    int: ("int64", _INT),
    np.int64: ("int64", _INT),
    float: ("float64", _FLOAT),
    np.float64: ("float64", _FLOAT),
}
_CHOICES = "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE"
_SETTINGS = [f"NUMBA_{name}" for name in _CHOICES]  # variables that change what numba compiles
_SAME_IN_C = {"numba_frexp": "frexp", "numba_ldexp": "ldexp"}  # for infinities and NaN, too, in the GNU library
_Result = ctypes.c_int64 * 3
_Entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)
_EXCEPTION = struct.Struct("@Pi")  # the beginning of numba's record of an exception: a pickle's address and size
_SECTION, _SYMBOL, _SYMBOL_TABLE = struct.Struct("=IIQQQQIIQQ"), struct.Struct("=IBBHQQ"), 2


def pack_argument(argument: Any) -> tuple[tuple[Any, ...], bytes]:
    """Return the types of an argument, as a key, and its values as words of 64 bits, in numba's order.

    An array [...] of n dimensions is 5 + 2 n words: two that are empty, the number of entries, the size of one, the
    address, the shape, and the strides.  A tuple is what it consists of.  Raises ``TypeError`` for other types than
    arrays of numbers, whole numbers of 64 bits, floats, bools and tuples of these.
    """
    types: list[Any] = []
    words: list[bytes] = []
    _pack((argument,), types, words)
    return tuple(types), b"".join(words)


@functools.cache
def known_arrays() -> dict[int, tuple[weakref.ref[Any], str, bytes]]:
    """Return the types and words of arrays that were arguments and still exist, by id.

    A kernel gets the same ones again and again, and asking numpy for an address takes microseconds.  This is no
    global dictionary because what is in it would be hashed with the code of the engine (code_digest.py).
    """
    return {}


def _pack(values: Iterable[Any], types: list[Any], words: list[bytes]) -> None:
    arrays = known_arrays()
    for value in values:
        known = arrays.get(id(value))
        if known is not None and known[0]() is value:
            types.append(known[1])
            words.append(known[2])
        elif isinstance(value, np.ndarray):
            _, type_name, packed = arrays[id(value)] = _describe_array(value)
            types.append(type_name)
            words.append(packed)
        elif isinstance(value, tuple):
            types.extend((type(value), len(value)))
            _pack(value, types, words)
        else:
            try:
                type_name, layout = _SCALARS[type(value)]
                words.append(layout.pack(value))
            except (KeyError, struct.error):
                raise TypeError(f"{type(value)} has no words") from None
            types.append(type_name)


def _describe_array(array: Any) -> tuple[weakref.ref[Any], str, bytes]:
    dtype, flags = array.dtype, array.flags
    if not (dtype.isbuiltin and flags.aligned) or dtype.hasobject:
        raise TypeError(f"an array of {dtype} has no words")
    layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
    access = "writable" if flags.writeable else "readonly"
    numbers = (0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides)
    reference = weakref.ref(array, functools.partial(_forget, id(array)))
    return reference, f"{dtype.str}[{array.ndim}] {layout} {access}", struct.pack(f"={len(numbers)}q", *numbers)


def _forget(key: int, _reference: Any) -> None:
    known_arrays().pop(key, None)


@functools.cache
def describe_machine() -> str:
    """Return for what machine code is made: processor, LLVM and numba; it may differ between two machines."""
    from llvmlite import binding

    settings = [(name, os.environ[name]) for name in _SETTINGS if name in os.environ]
    versions = [package_version(name) for name in ("numba", "llvmlite")]
    processor = binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    return repr((versions, processor, settings))


def load_entry(content: bytes, name: str) -> Callable[[bytes], Any] | None:
    """Return the function ``entry`` of an object, which takes packed arguments and returns or raises what it does.

    None if the object needs a function that only numba has: LLVM would end the process.
    """
    from llvmlite import binding

    process: Any = ctypes.CDLL(None)
    for symbol in find_undefined_symbols(content):
        if not hasattr(process, _SAME_IN_C.get(symbol, symbol)):
            return None
        if symbol in _SAME_IN_C:
            address = ctypes.cast(getattr(process, _SAME_IN_C[symbol]), ctypes.c_void_p).value
            binding.add_symbol(symbol, address)
    engine = _make_engine(binding)
    engine.add_object_file(binding.ObjectFileRef.from_data(content))
    engine.finalize_object()
    function = _Entry(engine.get_function_address(name))
    return functools.partial(_call, function, engine)


def find_undefined_symbols(content: bytes) -> list[str]:
    """Return what an object in the ELF format of 64 bits uses and does not define."""
    return [name for name in _iterate_undefined(content) if name]


def _iterate_undefined(content: bytes) -> Iterator[str]:
    (start,), (size, count) = struct.unpack_from("=Q", content, 40), struct.unpack_from("=HH", content, 58)
    sections = [_SECTION.unpack_from(content, start + number * size) for number in range(count)]
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind == _SYMBOL_TABLE:
            names = sections[link][4]
            for place, _, _, section, _, _ in _SYMBOL.iter_unpack(content[offset : offset + length]):
                if section == 0:
                    yield content[names + place : content.index(b"\0", names + place)].decode()


def _make_engine(binding: Any) -> Any:
    """Return an LLVM engine of its own for an object, so that no two objects' names can collide."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple())
    machine = target.create_target_machine(codemodel="jitdefault", jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def _call(function: Any, _engine: Any, words: bytes) -> Any:
    """Call an entry, without the GIL; the engine stays alive with it."""
    result = _Result()
    status = function(words, result)
    if status:
        address, size = _EXCEPTION.unpack(ctypes.string_at(result[1], _EXCEPTION.size))
        error, arguments, _place = pickle.loads(ctypes.string_at(address, size))  # noqa: S301 - code made it
        raise error(*arguments)
    if result[2] == RETURNS_INT:
        return result[0]
    return _FLOAT.unpack(_INT.pack(result[0]))[0] if result[2] == RETURNS_FLOAT else None
