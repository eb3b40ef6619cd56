"""Random draws for policies and reward distributions.

In plain Python the stream is a ``numpy.random.Generator``.  In a compiled kernel it is a row of SFC64 words,
and these functions are replaced by their twins in ``engine/compiled_draws.py``, which draw the same numbers
bit for bit.
"""

from typing import Any


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
