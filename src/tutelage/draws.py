"""Random draws, as policies and reward distributions write them.

Each function says in numpy what it draws, so a kernel that calls it runs in plain Python with a
``numpy.random.Generator`` as its stream.  Compiled, the same kernel draws from a row of SFC64 words through
the twins in ``compiled_draws.py``: the same numbers, bit for bit.
"""

from typing import Any


def random(stream: Any) -> float:
    """A uniform number in [0, 1)."""
    return stream.random()  # type: ignore[no-any-return]


def index(stream: Any, size: int) -> int:
    """A uniform whole number in 0 .. size - 1, from one uniform number (off by at most size / 2^53)."""
    return int(stream.random() * size)


def beta(stream: Any, a: float, b: float) -> float:
    """A Beta(a, b) number in [0, 1]."""
    return stream.beta(a, b)  # type: ignore[no-any-return]


def normal(stream: Any) -> float:
    """A standard normal number."""
    return stream.standard_normal()  # type: ignore[no-any-return]


def exponential(stream: Any) -> float:
    """A standard exponential number."""
    return stream.standard_exponential()  # type: ignore[no-any-return]


def gamma(stream: Any, shape: float) -> float:
    """A Gamma(shape, 1) number."""
    return stream.standard_gamma(shape)  # type: ignore[no-any-return]
