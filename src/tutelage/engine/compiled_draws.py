"""The compiled twins of ``draws.py`` and of ``read_only_arrays.py``: numpy's numbers from SFC64 words in an array row.

All distributions except beta are numba's own ports of numpy's C code with another source of bits.  A row
continues exactly like the ``numpy.random.Generator`` it was copied from (tests/test_draws.py).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic
from numba.np.random import distributions

from tutelage import draws, read_only_arrays
from tutelage.agents import agent_policy
from tutelage.engine import compiled_calls
from tutelage.engine.stream_words import next_uint64

_TO_UNIT = 1.0 / 9007199254740992.0  # 2**-53
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TINY_SHAPE = 3e-103  # numpy's bound: below it a Beta number is 0 or 1 to double precision

cgutils: Any = untyped_cgutils
random_standard_gamma: Any = distributions.random_standard_gamma


_WORDS = 4  # of a stream


@intrinsic
def hold(_context: Any, stream: Any) -> Any:
    """Copy a row of words to the stack: as no other array can be there, its words stay in registers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = context.make_array(signature.return_type)
        row, held = make(context, builder, arguments[0]), make(context, builder, arguments[0])
        held.data = cgutils.alloca_once(builder, ir.IntType(64), _WORDS)
        for place in range(_WORDS):
            word = builder.load(cgutils.gep(builder, row.data, place))
            builder.store(word, cgutils.gep(builder, held.data, place))
        return held._getvalue()  # noqa: SLF001 - numba has no other way

    return stream(stream), generate


def release(stream: Any, held: Any) -> None:
    """Copy the words back."""
    for place in range(_WORDS):
        stream[place] = held[place]


def next_double(stream: Any) -> Any:
    """Draw a uniform double in [0, 1) from the upper 53 bits, as numpy does."""
    return (next_uint64(stream) >> np.uint64(11)) * _TO_UNIT


def index(stream: Any, size: int) -> int:
    """Draw a uniform whole number in 0 .. size - 1."""
    return int(next_double(stream) * size)


def beta(stream: Any, a: float, b: float) -> float:
    """Draw a Beta(a, b) number by numpy's algorithm.

    It is Joehnk's for two shapes up to 1, and uses two gamma numbers otherwise.  Where a power underflows it
    continues with logarithms.  numba's port draws again there instead, which gives other numbers for small
    shapes and never ends for tiny ones.
    """
    if a > 1.0 or b > 1.0:
        first, second = random_standard_gamma(stream, a), random_standard_gamma(stream, b)
        return first / (first + second)  # type: ignore[no-any-return]
    if a < _TINY_SHAPE and b < _TINY_SHAPE:
        return 1.0 if (a + b) * next_double(stream) < a else 0.0
    while True:
        u, v = next_double(stream), next_double(stream)
        x, y = u ** (1.0 / a), v ** (1.0 / b)
        if x + y > 1.0 or u + v == 0.0:
            continue
        if x > 0.0 and y > 0.0:
            return x / (x + y)  # type: ignore[no-any-return]
        lead = math.log(u) / a - math.log(v) / b
        if lead > 0.0:
            return math.exp(-math.log1p(math.exp(-lead)))
        return math.exp(lead - math.log1p(math.exp(lead)))


def shock(key: Any, round: int, source: int) -> float:
    """Compute the same number as ``draws.shock``, with words that wrap around."""
    start = mix(key[0] + mix(np.uint64(source) + np.uint64(1)))
    place = np.uint64(round) << np.uint64(1)
    first = mix(start + place * _GOLDEN) >> np.uint64(11)
    second = mix(start + (place + np.uint64(1)) * _GOLDEN) >> np.uint64(11)
    radius = math.sqrt(-2.0 * math.log(float(first + np.uint64(1)) * _TO_UNIT))
    return radius * math.cos(float(second) * (math.tau * _TO_UNIT))


def uniform_at(key: Any, place: int, source: int) -> float:
    """Compute the same number as ``draws.uniform_at``, with words that wrap around."""
    words = key[0] + mix(np.uint64(source) + np.uint64(1)) + np.uint64(place) * _GOLDEN
    return (mix(words) >> np.uint64(11)) * _TO_UNIT  # type: ignore[no-any-return]


def mix(value: Any) -> Any:
    """Mix 64 bits, as SplitMix64 does with its state."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@intrinsic
def read_only(_context: Any, array: Any) -> Any:
    """Give an array the type of one that cannot be written: code that writes it is then not compiled."""
    return array.copy(readonly=True)(array), lambda _context, _builder, _signature, arguments: arguments[0]


TWINS: dict[Callable[..., Any], Any] = {
    read_only_arrays.read_only: read_only,
    agent_policy.call_select: compiled_calls.call_select,
    agent_policy.call_update: compiled_calls.call_update,
    draws.hold: hold,
    draws.release: release,
    draws.random: next_double,
    draws.index: index,
    draws.beta: beta,
    draws.normal: distributions.random_standard_normal,
    draws.exponential: distributions.random_standard_exponential,
    draws.gamma: distributions.random_standard_gamma,
    draws.shock: shock,
    draws.uniform_at: uniform_at,
    distributions.next_double: next_double,
    distributions.next_uint64: next_uint64,
}
