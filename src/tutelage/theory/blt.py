"""BLT: when it decides, and what that costs if clients are balanced (docs/floors.md)."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.policies.base import Policy
from tutelage.policies.epsilon_greedy import EpsilonGreedy
from tutelage.policies.ucb1 import UCB1
from tutelage.teachers.base import Problem
from tutelage.teachers.blt.teacher import BLT
from tutelage.theory import arguments
from tutelage.theory.guarantees import Bound, Guarantee
from tutelage.theory.setting import TheorySetting
from tutelage.theory.ucb1 import total_pulls_of_ucb1

_LEAST_SHARE = 0.05  # of the risk, divided evenly among the rivals
_LARGEST_BET = 0.5  # up to which log(1 + x) >= x - x^2 holds on both sides

CONDITION = (
    "every client pulls the active arms evenly (kappa = 1, beta = 0), the best arm leads whenever an arm is ruled out, "
    "and from the decision on the target's revealed mean is at least half of the client's own mean of it"
)


def deciding_pulls_of_blt(setting: TheorySetting, teacher: BLT) -> NDArray[np.float64]:
    """n* [K]: pulls of arm k, and rho n* + h of the best arm, by every client, after which k is ruled out.

    With V = (1 + 1/rho) sum w^2, M lambda a stake and L the log of its threshold and of the number of stakes,
    n* is the larger of 8 V log(KT) / Delta^2, from which on the estimated gap is at least 3 Delta / 4 with
    probability 1 - 1/(KT), and the least over the stakes of L / (3/4 Delta M lambda - V (M lambda)^2).
    0 for the best arm.  Grid steps come on top: :func:`pulls_of_blt`.

    Raises ``InputError`` for a tolerance, and if no stake is small enough for the smallest gap.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    arguments.instance_of(BLT, "teacher", teacher)
    if teacher.tolerance > 0.0:
        raise InputError(f"The theorem on blt is for a tolerance of 0, not {teacher.tolerance:g}.")
    rounds = setting.horizon
    weights, found = np.array(setting.weights), np.zeros(setting.num_arms)
    problem = Problem(setting.num_clients, setting.num_arms, rounds, setting.weights)
    count, shared = teacher.count_stakes(problem), teacher.first_pulls_of(problem) > 0
    units = 2.0 ** (-np.arange(count) / 2.0) / max(1.0, setting.num_clients * float(weights.max()))
    stakes = setting.num_clients * units[units * setting.num_clients * float(weights.max()) <= _LARGEST_BET]
    spread = (1.0 + 1.0 / teacher.rho) * float(weights @ weights)
    needed = math.log(rounds) + math.log((setting.num_arms - 1) / (_LEAST_SHARE if shared else 1.0)) + math.log(count)
    for arm, gap in zip(setting.others, setting.other_gaps, strict=True):
        growth = float((0.75 * gap * stakes - spread * stakes**2).max(initial=0.0))
        if growth <= 0.0:
            raise InputError(
                f"The stakes of blt are too large for a gap of {gap:g}: use more of them, as in stakes=40."
            )
        found[arm] = max(needed / growth, 8.0 * spread * math.log(setting.num_arms * rounds) / gap**2)
    return found


def pulls_of_blt(setting: TheorySetting, teacher: BLT, kappa: float = 1.0, beta: float = 0.0) -> NDArray[np.float64]:
    """Pulls [K] of arm k by any one client until k is ruled out, for (kappa, beta)-balanced clients.

    kappa t + beta + 1 with t the larger of h and (1 + growth) n* + 1, if the best arm leads in the round in which
    k is ruled out; the best arm has h + rho (kappa t + beta) + 1 for the largest t.  Failure probability 2/T.

    Raises ``InputError`` where :func:`deciding_pulls_of_blt` does, for kappa below 1 and beta below 0.
    """
    kappa = arguments.real("kappa", kappa, 1.0, most=1e9)
    beta = arguments.real("beta", beta, most=1e9)
    each = deciding_pulls_of_blt(setting, teacher)
    problem = Problem(setting.num_clients, setting.num_arms, setting.horizon, setting.weights)
    first = teacher.first_pulls_of(problem)
    pulls: NDArray[np.float64] = kappa * np.maximum((1.0 + teacher.growth) * each + 1.0, first) + beta
    pulls[setting.best_arm] = first + teacher.rho * pulls.max()
    return pulls + 1.0


def cost_of_levelling(mean: float, level: float, pulls: float, offset: float, band: float, rho: float = 1.0) -> float:
    """Expected cost of pulls of an arm, at a constant level and unpressed, of rewards 0 and 1.

    a r (1 - mu) / (1 - L) + b / 2 + n (|mu - L| + E(X - L)^2 / (2 b)), with r = ``rho`` for the leading arm.
    Rewards inside [0, 1] with the same mean have a smaller variance and cost less.

    Raises ``InputError`` for numbers out of range: the level in [0, 1), the band above 0.
    """
    mean, level = arguments.real("mean", mean), arguments.real("level", level, most=1.0 - 1e-9)
    pulls = arguments.real("number of pulls", pulls, most=1e18)
    offset, rho = arguments.real("offset", offset, most=1e9), arguments.real("rho", rho, most=1e9)
    band = arguments.real("band", band, 1e-9, most=1e9)
    square = mean * (1.0 - level) ** 2 + (1.0 - mean) * level**2
    return (
        offset * rho * (1.0 - mean) / (1.0 - level) + band / 2.0 + pulls * (abs(mean - level) + square / (2.0 * band))
    )


def performance_of_blt(setting: TheorySetting, teacher: BLT, policies: Sequence[Policy]) -> Guarantee:
    """Regret and cost of BLT with balanced UCB1 and epsilon-greedy clients, under ``CONDITION``.

    A pull costs at most 1; an arm that is ruled out has been revealed as at most 1 a pull.  ``decides_by`` is the
    number of pulls of active arms of one client until the decision.  Not proved: that clients are balanced, and
    what the target's revealed mean is.

    Raises ``InputError`` where :func:`deciding_pulls_of_blt` does, for other policies, epsilon-greedy with other
    parameters than 1, and clients whose own mean of the best arm is 0.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    policies = arguments.one_each("policies", policies, setting.num_clients)
    pulls = pulls_of_blt(setting, teacher)
    later = np.zeros_like(setting.local_means)
    for client, (policy, mean) in enumerate(zip(policies, setting.best_means, strict=True)):
        for arm in setting.others:
            later[client, arm] = _pulls_after(policy, mean / 2.0, float(pulls[arm]), setting.horizon)
    clients, decided = setting.num_clients, math.ceil(pulls.sum())
    failed = 2.0 * clients
    losses = clients * float(pulls @ setting.gaps), float((later @ setting.gaps).sum())
    return Guarantee(
        theorem="blt",
        regret=Bound(*losses, failed * max(setting.other_gaps)),
        cost=Bound(clients * float(pulls.sum()), float((later * setting.local_means).sum()), failed),
        horizon=setting.horizon,
        last_epoch=None,
        learning_time=decided,
        decides_by=decided,
        needed_horizon=None,
        most_regret=setting.most_regret,
        most_cost=setting.num_clients * float(setting.horizon),
        condition=CONDITION,
    )


def _pulls_after(policy: Policy, lead: float, history: float, horizon: int) -> float:
    """The further pulls of an arm that was revealed as 1 so far, the target's revealed mean being ``lead`` or more."""
    if lead <= 0.0:
        raise InputError("A client whose mean of the best arm is 0 cannot be led there: the theorem on blt needs more.")
    if isinstance(policy, UCB1):
        return total_pulls_of_ucb1(history, 1.0, lead, horizon) - history + 1.0
    if isinstance(policy, EpsilonGreedy) and policy.c == policy.d == 1.0:
        return history / lead - history + 2.0 + math.log(horizon)
    raise InputError("The theorem on blt is for ucb1 and eps-greedy clients with their default parameters.")
