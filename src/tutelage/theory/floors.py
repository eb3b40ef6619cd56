"""What must be paid: lower bounds on regret and cost, each with its condition (proofs in docs/floors.md)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.bernoulli import Bernoulli
from tutelage.errors import InputError
from tutelage.instances.base import Instance
from tutelage.policies.base import Policy
from tutelage.policies.epsilon_greedy import EpsilonGreedy
from tutelage.policies.ucb1 import UCB1
from tutelage.teachers.base import Problem, Teacher
from tutelage.teachers.baselines import KnownTarget
from tutelage.teachers.blt.teacher import BLT
from tutelage.theory import arguments
from tutelage.theory.setting import TheorySetting, setting_of

Array = NDArray[np.float64]

_HALVINGS = 40
_CLOSE, _SMALL = 1e-14, 1e-300  # a step of Newton's method, relative to its place; instead of 0 where it divides
_MOST_ENTRIES = 10**5  # of an instance, M K: twice as many take 15 s

_DECIDES = (
    "the teacher decides on the best arm with probability at least 1 - 1/T here, and on a wrong arm with at most 1/T "
    "on every instance with Bernoulli rewards"
)
_EQUAL = "as for 'learning', and all clients pull an arm equally often"
_UCB1 = "the client pulls the target in round T, and the target's revealed mean is then the client's own mean of it"
_GREEDY = (
    "leading term, without random pulls: clients pull the arm with the highest revealed mean, and the pulls are at "
    "least those that learning needs with this rho"
)


@dataclass(frozen=True)
class Floor:
    """A lower bound on the expected regret or cost up to the horizon, summed over all clients.

    ``condition`` is what it assumes, as a phrase; ``is_possible`` is whether the pulls that it counts fit into
    T rounds: if not, no teacher meets the condition at this horizon.
    """

    name: str
    quantity: Literal["regret", "cost"]
    value: float
    condition: str
    is_possible: bool = True


def compute_floors(instance: Instance, teacher: Teacher, policies: Sequence[Policy], horizon: int) -> tuple[Floor, ...]:
    """Return every floor that is known for this teacher with these clients; ``policies`` are [M].

    Learning must be paid by teachers that bound the probability of a wrong target, teaching by UCB1 clients
    under them and under ``known``, levelling by epsilon-greedy clients under BLT.  Empty for other teachers, and
    for those that do not know the horizon.

    Raises ``InputError`` where :func:`tutelage.theory.setting.setting_of` does, and for instances with more
    than 100,000 pairs of client and arm.
    """
    arguments.instance_of(Instance, "instance", instance)
    policies = arguments.one_each("policies", policies, instance.num_clients)
    arguments.function("teacher's error bound", getattr(teacher, "error_bound", None))
    arguments.whole("number of clients times arms", instance.num_clients * instance.num_arms, 1, _MOST_ENTRIES)
    setting = setting_of(instance, horizon)
    problem = Problem(setting.num_clients, setting.num_arms, setting.horizon, setting.weights)
    is_optimistic = np.array([isinstance(policy, UCB1) for policy in policies])
    if isinstance(teacher, KnownTarget):
        is_right = teacher.target in {None, setting.best_arm}
        return _teaching_floors(setting, is_optimistic, shows_zeros=True) if is_right else ()
    is_exact = isinstance(instance.rewards, Bernoulli) and not getattr(teacher, "tolerance", 0.0)
    if not teacher.error_bound(problem) or teacher.risk is not None:
        return ()
    if not is_exact:
        return _teaching_floors(setting, is_optimistic)
    rho = float(teacher.rho) if isinstance(teacher, BLT) else 1.0
    found = [*_learning_floors(setting, rho), *_teaching_floors(setting, is_optimistic)]
    pulls = equal_pulls(setting, rho)
    if is_optimistic.any():
        found.append(_combined_floor(setting, is_optimistic, equal_pulls(setting), "equal pulls"))
        found.append(_combined_floor(setting, is_optimistic, pulls, f"rho {rho:g}"))
    greedy = np.array([isinstance(policy, EpsilonGreedy) for policy in policies])
    if isinstance(teacher, BLT) and greedy.any():
        cost = float(cost_of_greedy(setting, pulls, rho)[greedy].sum())
        found.append(Floor(f"greedy clients, rho {rho:g}", "cost", cost, _GREEDY))
    return tuple(found)


def least_evidence(horizon: int) -> float:
    """k_T = kl(1/T, 1 - 1/T) = (1 - 2/T) log(T - 1): nats that a right decision needs; 0 below T = 3."""
    horizon = arguments.rounds("horizon", horizon)
    return (1.0 - 2.0 / horizon) * math.log(horizon - 1) if horizon > 2 else 0.0


def least_pulls(setting: TheorySetting) -> Array:
    """Return for each arm [K] the least pulls of all clients together that rule it out, however distributed.

    k_T / min max_m kl(mu_km, d_m) over all d with sum w d >= nu_dagger; 0 for the best arm.  (The minimum over
    distributions of the pulls is a semi-infinite linear program; by the minimax theorem this is its value.)
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    found, weights = np.zeros(setting.num_arms), np.array(setting.weights)
    best = float(setting.local_means[:, setting.best_arm] @ weights)
    if best >= 1.0:  # no other arm can be better
        return found
    means = setting.local_means[:, list(setting.others)].T
    most = _kl(means, np.maximum(means, best)).max(axis=1)
    level = _halve(lambda level: _raised(means, level[:, None]) @ weights < best, np.zeros_like(most), most)[1]
    found[list(setting.others)] = least_evidence(setting.horizon) / level
    return found


def equal_pulls(setting: TheorySetting, rho: float = math.inf) -> Array:
    """Return for each arm [K] the pulls of each client that rule it out if all clients pull it equally often.

    ``rho`` is the number of pulls of the best arm for each of the arm; infinite if its means are known.
    n = k_T / min sum_m rho kl(mu_dagger m, c_m) + kl(mu_km, d_m) over all c, d with sum w c <= sum w d.

    Raises ``InputError`` for a rho not above 0.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    if rho != math.inf:
        rho = arguments.real("rho", rho, 1e-9, most=1e9)
    found, weights = np.zeros(setting.num_arms), np.array(setting.weights)
    best = setting.local_means[:, setting.best_arm]
    if rho == math.inf and float(best @ weights) >= 1.0:
        return found
    means = setting.local_means[:, list(setting.others)].T
    units = weights * setting.num_clients

    def moved(multiplier: Array) -> tuple[Array, Array]:
        """The c and d [K - 1, M] that minimise the sum plus multiplier times (sum u c - sum u d)."""
        forces = multiplier[:, None] * units
        return _lowered(best, forces / rho), 1.0 - _lowered(1.0 - means, forces)

    def is_better(multiplier: Array) -> NDArray[np.bool_]:
        """Whether the best arm is still the better one."""
        c, d = moved(multiplier)
        return np.asarray((c - d) @ weights > 0.0)

    high = np.ones(len(means))
    while (short := is_better(high)).any() and high.max() < 2.0**60:
        high[short] *= 2.0
    c, d = moved(_halve(is_better, np.zeros_like(high), high)[1])
    evidence = _kl(means, d).sum(axis=1) + (0.0 if rho == math.inf else rho * _kl(best, c).sum(axis=1))
    found[list(setting.others)] = least_evidence(setting.horizon) / evidence
    return found


def least_pulls_of_ucb1(revealed_mean: float, pulls: int, round: int) -> float:
    """Pulls that a UCB1 client has of every arm when it pulls another one in this round.

    2 log t / (R + sqrt(2 log t / N))^2, with R the revealed mean of the arm that is pulled in round t and N
    its pulls so far: the index of every arm is at least sqrt(2 log t / n), and at most that of this arm.

    Raises ``InputError`` for a mean outside [0, 1] and counts below 1.
    """
    revealed_mean = arguments.real("revealed mean", revealed_mean)
    bonus = 2.0 * math.log(arguments.rounds("round", round))
    index = revealed_mean + math.sqrt(bonus / arguments.rounds("pulls", pulls))
    return bonus / index**2 if index > 0.0 else 0.0


def cost_of_greedy(setting: TheorySetting, pulls: Array, rho: float) -> Array:
    """Return the leading term of each client's [M] cost if it always pulls the highest revealed mean.

    ``pulls`` [K] are n_k of :func:`equal_pulls`.  min_D D + sum_k (n_k |mu_km - mu_dagger m| - D / rho)_+,
    where D is the change to the rewards of the best arm, which all other arms share.

    Raises ``InputError`` unless there is a number of pulls for each arm, and for a rho not above 0.
    """
    arguments.instance_of(TheorySetting, "setting", setting)
    rho = arguments.real("rho", rho, 1e-9, most=1e9)
    each = [arguments.real("number of pulls", one, most=1e18) for one in arguments.listed("pulls", pulls)]
    if len(each) != setting.num_arms:
        raise InputError(f"There are {len(each)} numbers of pulls for {setting.num_arms} arms: use one for each.")
    away = np.array(each) * np.abs(setting.local_means - setting.local_means[:, [setting.best_arm]])
    shared = np.concatenate((np.zeros((setting.num_clients, 1)), rho * away), axis=1)  # D is 0 or a kink
    rest = np.maximum(away[:, None, :] - shared[:, :, None] / rho, 0.0).sum(axis=2)
    least: Array = (shared + rest).min(axis=1)
    return least


def _learning_floors(setting: TheorySetting, rho: float) -> list[Floor]:
    """The floors of learning: any teacher, equal pulls, and equal pulls with rho of the best arm."""
    rounds, clients, gaps = setting.horizon, setting.num_clients, setting.gaps
    total, equal, balanced = least_pulls(setting), equal_pulls(setting), equal_pulls(setting, rho)
    fits = [total.sum() <= clients * rounds, equal.sum() <= rounds, balanced.sum() + rho * balanced.max() <= rounds]
    often = "as often" if rho == 1.0 else f"{rho:g} times as often"
    condition = f"{_EQUAL}, and the best arm {often} as an arm until it rules that out"
    return [
        Floor("learning", "regret", float(gaps @ total), _DECIDES, bool(fits[0])),
        Floor("learning, equal pulls", "regret", clients * float(gaps @ equal), _EQUAL, bool(fits[1])),
        Floor(f"learning, rho {rho:g}", "regret", clients * float(gaps @ balanced), condition, bool(fits[2])),
    ]


def _pulls_of_ucb1(setting: TheorySetting, is_optimistic: NDArray[np.bool_]) -> Array:
    """Pulls [M] of every other arm by UCB1 clients, 0 for others; the target shows its own mean."""
    rounds = setting.horizon
    return np.array([
        least_pulls_of_ucb1(mean, rounds, rounds) if counts else 0.0
        for mean, counts in zip(setting.best_means, is_optimistic.tolist(), strict=True)
    ])  # fmt: skip


def _teaching_floors(
    setting: TheorySetting, is_optimistic: NDArray[np.bool_], *, shows_zeros: bool = False
) -> tuple[Floor, ...]:
    """Regret and cost of UCB1 clients, which come back to every arm.

    The revealed sum of an arm is at most n I - sqrt(2 n log t), with I the target's index.  For an arm whose mean
    is at least I the least cost is that of the least n, all rewards being 0; for others it is 0 at a larger n,
    unless the teacher always ``shows_zeros``.
    """
    if not is_optimistic.any():
        return ()
    pulls = _pulls_of_ucb1(setting, is_optimistic)
    index = np.array(setting.best_means) + math.sqrt(2.0 * math.log(setting.horizon) / setting.horizon)
    means = setting.local_means
    dear = np.where(shows_zeros | (means >= index[:, None]), means, 0.0)
    dear[:, setting.best_arm] = 0.0
    fits = bool((pulls * (setting.num_arms - 1) <= setting.horizon).all())
    return (
        Floor("UCB1 clients", "regret", float(pulls.sum() * setting.gaps.sum()), _UCB1, fits),
        Floor("UCB1 clients", "cost", float(pulls @ dear.sum(axis=1)), _UCB1, fits),
    )


def _combined_floor(setting: TheorySetting, is_optimistic: NDArray[np.bool_], learning: Array, name: str) -> Floor:
    """An arm's pulls by a client are at least those of learning and at least those of teaching."""
    teaching = _pulls_of_ucb1(setting, is_optimistic)
    both = np.maximum(learning, teaching[:, None])
    fits = float(both.max(axis=0).sum()) <= setting.horizon
    condition = f"those of 'learning, {name}' and of 'UCB1 clients'"
    return Floor(f"both, {name}", "regret", float((both @ setting.gaps).sum()), condition, fits)


def _lowered(means: Array, force: Array) -> Array:
    """The c that minimises kl(mu, c) + force c: (c - mu) / (c (1 - c)) = -force."""
    root: Array = np.sqrt((1.0 - force) ** 2 + 4.0 * force * (1.0 - means))
    return 2.0 * means / np.maximum(1.0 + force + root, 1e-300)


def _raised(means: Array, level: Array) -> Array:
    """The largest d with kl(mu, d) <= level, for a level above 0, by Newton's method.

    kl is convex in d, so from a point above d every step stays above it.  That point is the lesser of two bounds: one
    by kl >= 2 (d - mu)^2 (Pinsker), one by kl >= -(1 - mu) log(1 - d) - H(mu), H(mu) being the entropy.
    """
    entropy = math.log(2.0) - _kl(means, np.full_like(means, 0.5))
    d: Array = np.minimum(means + np.sqrt(level / 2.0), -np.expm1(-(entropy + level) / np.maximum(1.0 - means, _SMALL)))
    for _ in range(_HALVINGS):
        with np.errstate(invalid="ignore"):  # not a number where d is 1
            step = (_kl(means, d) - level) * d * (1.0 - d) / (d - means)
        is_above = step > _CLOSE * d
        if not is_above.any():
            break
        d = np.where(is_above, d - step, d)
    return d


def _kl(p: Array, q: Array) -> Array:
    """The divergence of Bernoulli distributions with these means."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(p > 0.0, p * np.log(p / q), 0.0)
        zeros = np.where(p < 1.0, (1.0 - p) * np.log((1.0 - p) / (1.0 - q)), 0.0)
    total: Array = ones + zeros
    return total


def _halve(is_low: Callable[[Array], NDArray[np.bool_]], low: Array, high: Array) -> tuple[Array, Array]:
    """Halve intervals around the points where ``is_low`` stops to hold; both of their ends."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        below = is_low(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low, high
