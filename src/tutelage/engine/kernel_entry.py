"""The function of a kernel that can be called without numba (machine_code.py)."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock

from tutelage.engine.machine_code import RETURNS_FLOAT, RETURNS_INT, RETURNS_NONE

_WORD = ir.IntType(64)
_RETURNS = {types.none: RETURNS_NONE, types.int64: RETURNS_INT, types.float64: RETURNS_FLOAT}


def compile_entry(dispatcher: Any, arguments: Sequence[Any], name: str) -> bytes | None:
    """Compile a function for arguments of these types and return an object with its ``entry`` called ``name``.

    ``dispatcher`` is one whose functions only compiled code calls.  None if the function returns something else than
    nothing, a whole number or a float.
    """
    signature = tuple(dispatcher.typeof_pyval(each) for each in arguments)
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    if compiled.signature.return_type not in _RETURNS:
        return None
    context = compiled.target_context
    with global_compiler_lock:
        library = context.codegen().create_library(name)
        library.enable_object_caching()
        library.add_ir_module(_make_entry(context, compiled, name))
        library.add_linking_library(compiled.library)
        library.finalize()
    content: bytes = library.serialize_using_object_code()[2][0]
    return content


def _make_entry(context: Any, compiled: Any, name: str) -> Any:
    """Return a module with ``int32 entry(int64 *arguments, int64 *result)``.

    ``result`` [3] gets what the function returns, the address of numba's record of an exception, and how to read the
    first.
    """
    returned = compiled.signature.return_type
    module = context.create_module(name)
    entry = ir.Function(module, ir.FunctionType(ir.IntType(32), [_WORD.as_pointer()] * 2), name)
    builder = ir.IRBuilder(entry.append_basic_block())
    packer = context.get_arg_packer(compiled.fndesc.argtypes)
    words = [_load(builder, entry.args[0], place, kind) for place, kind in enumerate(packer.argument_types)]
    convention = context.call_conv
    callee = ir.Function(
        module,
        convention.get_function_type(compiled.fndesc.restype, compiled.fndesc.argtypes),
        compiled.fndesc.llvm_func_name,
    )
    status, value = convention.call_function(
        builder, callee, returned, compiled.fndesc.argtypes, packer.from_arguments(builder, words)
    )
    if returned is types.float64:
        value = builder.bitcast(value, _WORD)
    results = [
        ir.Constant(_WORD, 0) if returned is types.none else value,
        builder.ptrtoint(status.excinfoptr, _WORD),
        ir.Constant(_WORD, _RETURNS[returned]),
    ]
    for place, word in enumerate(results):
        builder.store(word, builder.gep(entry.args[1], [ir.Constant(_WORD, place)]))
    builder.ret(builder.select(status.is_error, status.code, ir.Constant(ir.IntType(32), 0)))
    return module


def _load(builder: Any, words: Any, place: int, kind: Any) -> Any:
    """Return one of the words as a value of an LLVM type."""
    word = builder.load(builder.gep(words, [ir.Constant(_WORD, place)]))
    if isinstance(kind, ir.PointerType):
        return builder.inttoptr(word, kind)
    if isinstance(kind, ir.IntType):
        return word if kind.width == _WORD.width else builder.trunc(word, kind)
    return builder.bitcast(word, kind)
