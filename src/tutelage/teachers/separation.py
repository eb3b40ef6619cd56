"""How likely the confidence intervals of an epoch of TAL and TWL separate the other arms from the best one."""

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.epoch_schedule import epoch_pulls, log_term, squared_weights
from tutelage.teachers.dependence import group_weights, groups_of

Array = NDArray[np.float64]
_NUM_NODES = 64
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


@dataclass(frozen=True, eq=False)
class Separation:
    """The other arms of an instance, and the pulls of the epochs within its horizon and after it.

    ``gaps`` [K - 1] are those of the other arms, above 0; ``variances`` [K - 1] and ``best_variance`` are
    sum_m w_m^2 Var(X_km), the variance of an estimate from one pull by each client.  Estimates are regarded as
    Gaussian, and clients as independent; ``dependence`` and ``risk`` are the teacher's, which change its epochs.
    """

    gaps: Array
    variances: Array
    best_variance: float
    horizon: int
    weights: tuple[float, ...]
    dependence: str | None = None
    risk: float | None = None

    @property
    def num_arms(self) -> int:
        return len(self.gaps) + 1

    def pulls(self, epoch: int) -> int:
        """Return f(psi), the pulls of each client and active arm that the epoch uses."""
        return epoch_pulls(epoch, self._log_term(epoch), self._squared())

    def chances(self, epoch: int) -> Array:
        """Return Phi((Delta_k - 2 CB + Z sigma_dagger) / sigma_k), [Z, K - 1]: a step where sigma_k is 0.

        The probability that LCB of the best arm is above UCB of arm k, given that the best arm's estimate is Z
        standard deviations above its mean.  Given Z the arms are independent; :func:`average` is over Z.
        """
        pulls = self.pulls(epoch)
        diameter = 2.0 * math.sqrt(self._log_term(epoch) * self._squared() / (2 * pulls))
        best = math.sqrt(self.best_variance / pulls)
        ahead = self.gaps - diameter + np.multiply.outer(_nodes_and_shares()[0], np.full(len(self.gaps), best))
        spread = np.broadcast_to(np.sqrt(self.variances / pulls), ahead.shape)
        steps = np.where(ahead >= 0.0, np.inf, -np.inf)
        scores = np.divide(ahead, spread, out=steps, where=spread > 0.0)
        return _erfc(-scores / math.sqrt(2.0)) / 2.0  # type: ignore[no-any-return]

    def _squared(self) -> float:
        return squared_weights(group_weights(self.weights, groups_of(self.dependence, len(self.weights))))

    def _log_term(self, epoch: int) -> float:
        return log_term(self.num_arms, self.horizon, self.risk, epoch)


def average(values: Array) -> Array:
    """Return the mean over a standard normal Z of values [Z, ...], by Gauss-Hermite quadrature."""
    return np.asarray(np.tensordot(_nodes_and_shares()[1], values, axes=1))


@functools.cache  # importing numpy.polynomial takes time, and few commands need it
def _nodes_and_shares() -> tuple[Array, Array]:
    """The values of Z [Z] and their weights, which sum to 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NUM_NODES)
    return nodes, weights / weights.sum()
