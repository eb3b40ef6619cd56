"""Drawing an arm with probability proportional to exp(score), for Boltzmann and Exp3."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import random


def to_weights(scores: NDArray[np.float64]) -> float:
    """Replace the scores [K] by weights exp(score - largest score) and give their sum, at least 1."""
    largest = -math.inf
    for arm in range(scores.size):
        largest = max(largest, scores[arm])
    total = 0.0
    for arm in range(scores.size):
        scores[arm] = math.exp(scores[arm] - largest)
        total += scores[arm]
    return total


def draw_weighted(weights: NDArray[np.float64], total: float, stream: Any) -> int:
    """An arm with probability weight / total, from one uniform number."""
    share = random(stream) * total
    upto, heaviest = 0.0, 0
    for arm in range(weights.size):
        upto += weights[arm]
        if share < upto:
            return arm
        if weights[arm] > weights[heaviest]:
            heaviest = arm
    return heaviest  # the product was rounded up to the total
