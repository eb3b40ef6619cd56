"""Random draws for policies and reward distributions.

In plain Python the stream is a ``numpy.random.Generator``.  In a compiled kernel it is a row of SFC64 words,
and these functions are replaced by their twins in ``engine/compiled_draws.py``, which draw the same numbers
bit for bit.
"""

import math
from typing import Any


def hold(stream: Any) -> Any:
    """Return a stream to draw from in a loop, which compiled code keeps in registers; :func:`release` it afterwards."""
    return stream


def release(stream: Any, held: Any) -> None:
    """Let a stream continue where the held one ended."""


def random(stream: Any) -> float:
    """Draw a uniform number in [0, 1)."""
    return stream.random()  # type: ignore[no-any-return]


def index(stream: Any, size: int) -> int:
    """Draw a uniform whole number in 0 .. size - 1, from one uniform number (off by at most size / 2^53)."""
    return int(stream.random() * size)


def beta(stream: Any, a: float, b: float) -> float:
    """Draw a Beta(a, b) number in [0, 1]."""
    return stream.beta(a, b)  # type: ignore[no-any-return]


def normal(stream: Any) -> float:
    """Draw a standard normal number."""
    return stream.standard_normal()  # type: ignore[no-any-return]


def exponential(stream: Any) -> float:
    """Draw a standard exponential number."""
    return stream.standard_exponential()  # type: ignore[no-any-return]


def gamma(stream: Any, shape: float) -> float:
    """Draw a Gamma(shape, 1) number."""
    return stream.standard_gamma(shape)  # type: ignore[no-any-return]


def shock(key: Any, round: int, source: int) -> float:
    """Compute the standard normal number of a round and a source of shocks, both whole numbers from 0 on.

    ``key`` holds one word of 64 bits.  The number is a function of the three arguments and not drawn from a
    stream.  It is Box and Muller's function of two uniform numbers, which are outputs of SplitMix64 (Steele,
    Lea and Flood 2014) that is started at a hash of key and source.
    """
    start = _mix(int(key[0]) + _mix(source + 1))
    first = _mix(start + (2 * round) * _GOLDEN) >> 11
    second = _mix(start + (2 * round + 1) * _GOLDEN) >> 11
    return math.sqrt(-2.0 * math.log((first + 1) * 2.0**-53)) * math.cos(second * (math.tau * 2.0**-53))


def uniform_at(key: Any, place: int, source: int) -> float:
    """Compute the uniform number in [0, 1) of a place and a source, as :func:`shock` computes normal ones."""
    return (_mix(int(key[0]) + _mix(source + 1) + place * _GOLDEN) >> 11) * 2.0**-53


_GOLDEN, _WORD = 0x9E3779B97F4A7C15, 0xFFFFFFFFFFFFFFFF


def _mix(value: int) -> int:
    """Mix 64 bits, as SplitMix64 does with its state."""
    value &= _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)
