"""The epochs of TAL and TWL: how many pulls a decision uses, and how wide its confidence intervals are.

Shi et al., section V, before eq. (1), with the choices of docs/decisions/0001: f(psi) is rounded up to
whole pulls, F sums the rounded values, and 1/M becomes the sum of the squared weights.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """The epochs that fit into a horizon.

    ``log_terms[psi - 1]`` is log(2 K T^2), natural, or with a risk that of :func:`log_term`.  ``squared_weights`` is
    sum_m w_m^2, 1/M with equal weights, or sum_g W_g^2 where clients of a group depend on each other, times
    (2 sigma)^2 for rewards beyond [0, 1].
    ``ends[psi - 1]`` is F(psi); an epoch with F(psi) > T can never be reached and is not listed.
    """

    log_terms: tuple[float, ...]
    squared_weights: float
    ends: tuple[int, ...]

    def pulls(self, epoch: int) -> int:
        """Return f(psi), the number of pulls of each client and arm that epoch psi >= 1 uses.

        They are the pulls F(psi - 1) + 1 .. F(psi).
        """
        return self.ends[epoch - 1] - (self.ends[epoch - 2] if epoch > 1 else 0)


def make_schedule(
    num_arms: int,
    horizon: int,
    weights: tuple[float, ...],
    sub_gaussian: float | None = None,
    risk: float | None = None,
) -> Schedule:
    """Return the schedule of a problem: f(psi) = ceil(2^(2 psi + 3) log(2 K T^2) sum w^2), F its running sum.

    ``sub_gaussian`` is the constant of rewards beyond [0, 1]: f is then longer by (2 sigma)^2.  ``risk`` is
    that of an unknown horizon, which then only ends the list.
    """
    squared = squared_weights(weights) * spread_factor(sub_gaussian)
    ends: list[int] = []
    log_terms: list[float] = []
    total, epoch = 0, 1
    while True:
        log_terms.append(log_term(num_arms, horizon, risk, epoch))
        total += epoch_pulls(epoch, log_terms[-1], squared)
        if total > horizon:
            return Schedule(tuple(log_terms[:-1]), squared, tuple(ends))
        ends.append(total)
        epoch += 1


def log_term(num_arms: int, horizon: int, risk: float | None, epoch: int) -> float:
    """Return log(2 K T^2), or for an unknown horizon log(2 K psi (psi + 1) / risk).

    The shares 1 / (psi (psi + 1)) of the risk sum to 1 over all epochs (docs/theory.md, "Unknown horizon").
    """
    return math.log(2 * num_arms * (horizon**2 if risk is None else epoch * (epoch + 1) / risk))


def epoch_pulls(epoch: int, logarithm: float, squared: float) -> int:
    """Return f(psi) = ceil(2^(2 psi + 3) log(2 K T^2) sum w^2), also for an epoch that does not fit."""
    return math.ceil(2.0 ** (2 * epoch + 3) * logarithm * squared)


def spread_factor(sub_gaussian: float | None) -> float:
    """Return (2 sigma)^2, by which f and CB^2 are multiplied: 1 for rewards in [0, 1], which have sigma = 1/2."""
    return 1.0 if sub_gaussian is None else (2.0 * sub_gaussian) ** 2


def squared_weights(weights: tuple[float, ...]) -> float:
    """Return sum_m w_m^2, which is exactly 1/M if all weights are equal."""
    if weights.count(weights[0]) == len(weights):
        return 1.0 / len(weights)
    return math.fsum(weight * weight for weight in weights)


def confidence_radius(schedule: Schedule, epoch: int, squared: float | None = None, more_log: float = 0.0) -> float:
    """Return the half-width of the epoch's confidence intervals, CB(psi) = sqrt(log(2KT^2) sum w^2 / (2 f(psi))).

    Shi et al., below eq. (1).  With the real-valued f it is exactly 2^-(psi + 2); f is rounded up to whole
    pulls, so this is never wider (test_radius_never_exceeds_paper).  ``squared`` replaces the schedule's
    sum of squared weights once a client is excluded, and ``more_log`` is then added to its logarithm.
    """
    spread = schedule.squared_weights if squared is None else squared
    return math.sqrt((schedule.log_terms[epoch - 1] + more_log) * spread / (2 * schedule.pulls(epoch)))
