"""The epochs of appendix A, computed from the paper's formulas without the package.

M clients of weight 1/M, K arms, horizon T.  The defaults are the paper's instance, M = K = 5, and T = 50,000.
"""

import math


def last_round(epoch, horizon=50_000, *, num_arms=5, num_clients=5):
    """Return F(psi) = sum over 1 .. psi of ceil(2^(2 psi + 3) log(2 K T^2) / M): section V, f in whole pulls."""
    log = math.log(2 * num_arms * horizon**2)
    return sum(math.ceil(2 ** (2 * each + 3) * log / num_clients) for each in range(1, epoch + 1))


def epoch_for(gap):
    """Return psi_max = ceil(log2(1 / Delta_min)), section VI."""
    return math.ceil(math.log2(1 / gap))


def learning_time(horizon=50_000, gap=0.1, *, num_arms=5, num_clients=5):
    """Return T_1 = K F(psi_max) of UCB1 clients, eq. (tal_ucb_T1); Delta_min = .1 on the paper's instance."""
    return num_arms * last_round(epoch_for(gap), horizon, num_arms=num_arms, num_clients=num_clients)
