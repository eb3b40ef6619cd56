"""The weights of the global model once clients are excluded."""

import functools
import math

import numpy as np
from numpy.typing import NDArray


@functools.lru_cache(maxsize=64)
def remaining_weights(weights: tuple[float, ...], excluded: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the weights [M] of the global model without excluded clients, whose weight is 0."""
    if not excluded:
        return np.array(weights)
    remaining = [0.0 if client in excluded else weight for client, weight in enumerate(weights)]
    return np.array(remaining) / math.fsum(remaining)


@functools.lru_cache(maxsize=64)
def listed_weights(weights: tuple[float, ...], excluded: tuple[int, ...]) -> list[float]:
    """Return the same as a list."""
    return remaining_weights(weights, excluded).tolist()  # type: ignore[no-any-return]
