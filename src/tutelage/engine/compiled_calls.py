"""Calls of functions by their address, as compiled code makes them: the twins of ``agents/agent_policy.py``."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD, _REAL = ir.IntType(64), ir.DoubleType()


@intrinsic
def call_select(_context: Any, address: Any, client: Any) -> Any:
    """Call ``int64 f(int64 client)`` at an address."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place, number = (builder.fptoui(each, _WORD) for each in arguments)
        return builder.call(builder.inttoptr(place, ir.FunctionType(_WORD, [_WORD]).as_pointer()), [number])

    return types.int64(types.float64, types.float64), generate


@intrinsic
def call_update(_context: Any, address: Any, client: Any, arm: Any, reward: Any) -> Any:
    """Call ``void f(int64 client, int64 arm, double reward)`` at an address."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place, number = (builder.fptoui(each, _WORD) for each in arguments[:2])
        kind = ir.FunctionType(ir.VoidType(), [_WORD, _WORD, _REAL])
        builder.call(builder.inttoptr(place, kind.as_pointer()), [number, *arguments[2:]])
        return context.get_dummy_value()

    return types.none(types.float64, types.float64, types.int64, types.float64), generate
