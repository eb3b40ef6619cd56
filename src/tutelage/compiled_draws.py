"""The compiled twins of ``draws.py``: numpy's numbers from SFC64 words held in an array row.

The distributions are numba's own ports of numpy's C code; only their source of bits is exchanged.  A row
continues exactly like the ``numpy.random.Generator`` it was taken from (tests/test_draws.py).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.np.random import distributions

from tutelage import draws

_TO_UNIT = 1.0 / 9007199254740992.0  # 2**-53


def next_uint64(stream: Any) -> Any:
    """The next 64 bits of a row of SFC64 words (Doty-Humphrey's small fast chaotic generator)."""
    a, b, c, count = stream[0], stream[1], stream[2], stream[3]
    bits = a + b + count
    stream[0] = b ^ (b >> np.uint64(11))
    stream[1] = c + (c << np.uint64(3))
    stream[2] = ((c << np.uint64(24)) | (c >> np.uint64(40))) + bits
    stream[3] = count + np.uint64(1)
    return bits


def next_double(stream: Any) -> Any:
    """A uniform double in [0, 1) from the upper 53 bits, as numpy takes it."""
    return (next_uint64(stream) >> np.uint64(11)) * _TO_UNIT


def index(stream: Any, size: int) -> int:
    """A uniform whole number in 0 .. size - 1."""
    return int(next_double(stream) * size)


TWINS: dict[Callable[..., Any], Callable[..., Any]] = {
    draws.random: next_double,
    draws.index: index,
    draws.beta: distributions.random_beta,
    draws.normal: distributions.random_standard_normal,
    draws.exponential: distributions.random_standard_exponential,
    draws.gamma: distributions.random_standard_gamma,
    distributions.next_double: next_double,
    distributions.next_uint64: next_uint64,
}
