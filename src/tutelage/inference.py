"""Inference from independent runs: intervals of means and shares, paired differences, bands around curves.

Shapes: N teachers, R runs, C checkpoints.  Runs of different teachers share their random numbers, so teachers
are compared run by run.  Everything here has a risk of ``RISK`` of being wrong: an interval misses the truth, or
a family of comparisons shows any difference that is none.
"""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.beta_distribution import probability_above, upper_quantile

RISK = 0.05
_DRAWS, _SEED = 4000, 0  # behind a simultaneous band
_FEWEST_IN_BAND = 11  # with fewer samples, the ends of a band lie beyond the second-lowest and second-highest

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """How much more of a quantity ``teacher`` has than ``than``, run by run.

    All intervals ``low`` to ``high`` of a family hold together (Bonferroni); ``p`` is the p-value of the paired
    t-test, corrected for the family (Holm).
    """

    quantity: str
    teacher: str
    than: str
    mean: float
    low: float
    high: float
    p: float


def interval_of_mean(values: Array, risk: float = RISK) -> tuple[float, float] | None:
    """Return Student's t-interval for the mean of values [R]; None for a single run.

    It is exact for normal values, and for many runs of any other kind.
    """
    if values.size < 2:
        return None
    mean = math.fsum(values.tolist()) / values.size
    width = student_quantile(values.size - 1, risk) * float(values.std(ddof=1)) / math.sqrt(values.size)
    return mean - width, mean + width


def interval_of_share(hits: int, count: int) -> tuple[float, float]:
    """Return the Clopper-Pearson limits of a probability, from ``hits`` in ``count`` independent runs.

    Each limit on its own is wrong with probability at most ``RISK``: of "wrong" the upper one matters, of "decided"
    the lower one.  0 of 20 allows up to 14 %.
    """
    return 1.0 - _upper_limit(count - hits, count), _upper_limit(hits, count)


def _upper_limit(hits: int, count: int) -> float:
    """The probability with which ``hits`` or fewer occur with probability ``RISK``."""
    if hits == count:
        return 1.0
    a, b = hits + 1.0, float(count - hits)
    return upper_quantile(a, b, -math.log(RISK), a / (a + b))


def compute_p_value(differences: Array) -> float:
    """Return the two-sided p-value of the t-test that the mean of differences [R], R at least 2, is 0.

    It is 1 if all are 0, and 0 if all have the same other value.
    """
    error = float(differences.std(ddof=1)) / math.sqrt(differences.size)
    if error == 0.0:
        return 0.0 if differences.any() else 1.0
    return student_tail(differences.size - 1, float(differences.mean()) / error)


def student_tail(freedom: int, t: float) -> float:
    """P(|T| > |t|), T of Student's distribution with at least 1 degree of freedom: T^2 / (T^2 + freedom) is Beta."""
    square = t * t
    total = square + freedom
    return probability_above(0.5, 0.5 * freedom, square / total, freedom / total) if square > 0.0 else 1.0


@functools.cache
def student_quantile(freedom: int, risk: float) -> float:
    """The t with P(|T| > t) = risk, by halving an interval to neighbouring numbers."""
    low, high = 0.0, 1.0
    while student_tail(freedom, high) > risk:
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if student_tail(freedom, middle) > risk else (low, middle)
    return high


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number: those below ``RISK`` contain any false one with at most this probability.

    Holm 1979: the i-th smallest of n is multiplied by n - i + 1, and none is less than a smaller one's result.
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(order.size, 0, -1)
    corrected = np.empty(order.size)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return [float(p) for p in corrected]


def compare_pairs(values: Mapping[str, Array], teachers: Sequence[str]) -> list[Difference]:
    """Compare every two teachers in every quantity, as one family; ``values`` [N, R] by quantity.

    Empty for a single run.
    """
    cases = [
        (quantity, first, second, array[first] - array[second])
        for quantity, array in values.items()
        for first, second in itertools.combinations(range(len(teachers)), 2)
        if array.shape[1] > 1
    ]
    corrected = correct_by_holm([compute_p_value(differences) for *_, differences in cases])
    found = []
    for (quantity, first, second, differences), p in zip(cases, corrected, strict=True):
        low, high = interval_of_mean(differences, RISK / len(cases)) or (math.nan, math.nan)
        mean = math.fsum(differences.tolist()) / differences.size
        found.append(Difference(quantity, teachers[first], teachers[second], mean, low, high, p))
    return found


def select_differences(differences: Sequence[Difference], than: str) -> list[Difference]:
    """Return the differences that involve this teacher, each turned so that it is the one compared with."""
    turned = [
        each
        if each.than == than
        else Difference(each.quantity, each.than, each.teacher, -each.mean, -each.high, -each.low, each.p)
        for each in differences
        if than in (each.teacher, each.than)
    ]
    return sorted(turned, key=lambda each: each.quantity, reverse=True)  # regret before cost, teachers as they were


def half_width_of_band(curves: Array, risk: float = RISK) -> Array:
    """Return half the width [C] of a band around the mean of curves [R, C] that holds at all C together.

    It is q standard errors wide, q being the quantile of the largest of C correlated t statistics (a sup-t band,
    Montiel Olea and Plagborg-Moller 2019), which is simulated from the correlation of the curves with fixed random
    numbers.  It is 0 for a single run.
    """
    runs = len(curves)
    if runs < 2:
        return np.zeros(curves.shape[1])
    deviations: Array = curves.std(axis=0, ddof=1)
    scale = deviations * math.sqrt(runs - 1)
    centred = curves - curves.mean(axis=0)
    standard = np.divide(centred, scale, out=np.zeros_like(centred), where=scale > 0.0)
    generator = np.random.default_rng(_SEED)
    normal = generator.standard_normal((_DRAWS, runs)) @ standard
    spread = np.sqrt(generator.chisquare(runs - 1, _DRAWS) / (runs - 1))
    quantile = np.quantile(np.abs(normal).max(axis=1) / spread, 1.0 - risk)
    width: Array = quantile * deviations / math.sqrt(runs)
    return width


def warn_of_few(count: int, word: str = "runs") -> list[str]:
    """Return a sentence where a range of 80 % is of so few samples that its ends lie next to the extremes."""
    if not 1 < count < _FEWEST_IN_BAND:
        return []
    return [f"A band of 80 % of {count} {word} says little: it nearly covers the range of all {count}."]
