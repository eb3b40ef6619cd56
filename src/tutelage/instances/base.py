"""The contract of instance sources, and the instance: local means, weights, a reward distribution, names."""

import functools
import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tutelage.code_errors import describe_code_error, is_foreign
from tutelage.conditions import Conditions
from tutelage.distributions import DISTRIBUTIONS, parse_distribution
from tutelage.distributions.base import RewardArrays, RewardDistribution, Samples, check_clients
from tutelage.distributions.bernoulli import Bernoulli
from tutelage.errors import InputError
from tutelage.read_only_arrays import read_only
from tutelage.text import format_name, format_value
from tutelage.validation import check_names

_ROUNDING = 1e-14  # global means this close differ only by rounding: 0.1 and 0.7 tie with 0.4 and 0.4
_NO_SAMPLES = Samples(np.zeros(1, dtype=np.int64), np.zeros(0), np.zeros(0))


class InstanceSource(Protocol):
    """An entry of the table of instances: a frozen dataclass of SPEC parameters that can be loaded."""

    def load(self) -> "Instance":
        """Read or draw the instance.  Raises ``InputError`` with what is wrong and the remedy."""
        ...


@dataclass(frozen=True, eq=False)
class Instance:
    """A bandit problem for M clients that share K arms.

    ``local_means`` is float64 [M, K] in [0, 1]; ``weights`` [M], positive, summing to 1 within 1e-9.
    ``notes`` are facts printed with every use, in order ("seed", "smallest cell", ...); the gap, and a
    sentence where best arms are exactly tied, are added to them here.  Lists are converted to arrays and
    tuples, and a SPEC to a reward distribution.  ``conditions`` say when clients act and when their means
    shift.  Each phase between shifts has its own best arm and regret; ``global_means`` and ``best_arm`` of
    the instance are those of the first phase.  Raises ``InputError`` for invalid means, weights, names,
    samples or conditions.
    """

    name: str
    local_means: NDArray[np.float64]
    weights: NDArray[np.float64]
    rewards: RewardDistribution = Bernoulli()
    client_names: tuple[str, ...] | None = None
    arm_names: tuple[str, ...] | None = None
    samples: Samples = _NO_SAMPLES
    conditions: Conditions = Conditions()
    notes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"Invalid name of an instance {self.name!r}: use a text.")
        self._set("local_means", to_numbers(self.local_means, f"{self.name}: the local means"))
        self._set("weights", to_numbers(self.weights, f"{self.name}: the weights"))
        given = self.rewards
        self._set("rewards", parse_distribution(given) if isinstance(given, str) else DISTRIBUTIONS.resolve(given))
        if not isinstance(self.samples, Samples):
            raise InputError(f"{self.name}: invalid samples {self.samples!r}: use an object of the class Samples.")
        _check_means(self.local_means, self.name)
        check_weights(self.weights, self.num_clients)
        if self.client_names is not None:
            self._set("client_names", check_names("clients", self.client_names, self.num_clients))
        if self.arm_names is not None:
            self._set("arm_names", check_names("arms", self.arm_names, self.num_arms))
        if self.rewards.needs_samples and self.samples.offsets.size != self.local_means.size + 1:
            raise InputError(
                f"{self.name}: rewards={DISTRIBUTIONS.spec(self.rewards)} needs observed rewards of every client "
                "and arm: give samples, or use another distribution, as in rewards=bernoulli."
            )
        check_clients(self.rewards, self.num_clients)
        if not isinstance(self.conditions, Conditions):
            raise InputError(
                f"Invalid conditions {format_value(self.conditions)}: use an object of the class Conditions, as in "
                "Conditions(activity=(1, 0.5))."
            )
        self.conditions.check(self.num_clients, self.num_arms)
        facts = tuple(fact for fact in self.notes if fact[0] not in ("gap", "tie"))
        facts = tuple(fact for fact in facts if fact[0] not in ("activity", "delay", "stop", "shift"))
        self._set("notes", facts + self._gap_notes() + self._condition_notes())

    def _condition_notes(self) -> tuple[tuple[str, str], ...]:
        """Describe when clients act, and the best arm after each shift."""
        real, notes = self.conditions, []
        if real.activity:
            shares = _per_client(real.activity)
            notes.append(("activity", f"a client acts in a round with probability {shares}"))
        if real.delays:
            notes.append(("delay", f"rounds by which a pull arrives late: {_per_client(real.delays)}"))
        if real.stops:
            stops = (f"{self.client_label(client)} after round {round:,}" for client, round in real.stops)
            notes.append(("stop", ", ".join(stops)))
        for phase in self.phases[1:]:
            best = ", ".join(self.arm_label(arm) for arm in phase.best_arms)
            notes.append(("shift", f"after round {phase.after:,} the best arm is {best}"))
        return tuple(notes)

    def _set(self, field: str, value: Any) -> None:
        object.__setattr__(self, field, value)

    def _gap_notes(self) -> tuple[tuple[str, str], ...]:
        """The gap, and a sentence where two best arms are exactly tied."""
        if self.num_arms == 1:
            return (("gap", "none: there is only one arm"),)
        if len(self.best_arms) == 1:
            return (("gap", f"{self.min_gap:.6g}"),)
        tied = ", ".join(self.arm_label(arm) for arm in self.best_arms)
        sentence = f"The best arms are exactly tied ({tied}): each of them is a right decision."
        return (("gap", "0"), ("tie", sentence))

    @property
    def num_clients(self) -> int:
        return int(self.local_means.shape[0])

    @property
    def num_arms(self) -> int:
        return int(self.local_means.shape[1])

    @functools.cached_property
    def global_means(self) -> NDArray[np.float64]:
        """The global means nu [K]: nu_k = sum_m w_m mu_km, by correctly rounded sums."""
        return _weighted(self.local_means, self.weights)

    @functools.cached_property
    def phases(self) -> tuple["Phase", ...]:
        """The phases between shifts of the means, in order; the first begins at round 0."""
        shifts = sorted(self.conditions.shifts, key=lambda shift: shift.after)
        later = (Phase(each.after, each.local_means, _weighted(each.local_means, self.weights)) for each in shifts)
        return (Phase(0, self.local_means, self.global_means), *later)

    @functools.cached_property
    def best_arm(self) -> int:
        """The arm with the highest global mean (the first of tied ones), counted from 0."""
        return int(np.flatnonzero(self.gaps == 0.0)[0])

    @functools.cached_property
    def gaps(self) -> NDArray[np.float64]:
        """Delta [K]: the best global mean less the arm's; exactly 0 where they differ only by rounding."""
        return self.phases[0].gaps

    @property
    def best_arms(self) -> tuple[int, ...]:
        """All arms whose global mean equals the best one, up to rounding."""
        return tuple(int(arm) for arm in np.flatnonzero(self.gaps == 0.0))

    @property
    def min_gap(self) -> float:
        """The gap between the best and the second-best arm: 0 for two tied arms, and for a single arm."""
        others = np.delete(self.gaps, self.best_arm)
        return float(others.min()) if others.size else 0.0

    def arm_label(self, arm: int) -> str:
        """The arm in messages: its name, or ``arm 3``."""
        return format_name(self.arm_names[arm]) if self.arm_names else f"arm {arm}"

    def client_label(self, client: int) -> str:
        """The client in messages: its name, or ``client 3``."""
        return format_name(self.client_names[client]) if self.client_names else f"client {client}"

    def reward_arrays(self) -> RewardArrays:
        """The means, parameters and samples as the compiled ``draw`` reads them."""
        try:
            parameters = np.array(self.rewards.parameters(), dtype=np.float64)
        except Exception as error:
            if not is_foreign(self.rewards) or isinstance(error, InputError):
                raise
            raise InputError(
                f"The reward distribution {DISTRIBUTIONS.spec(self.rewards)} failed in parameters(): "
                f"{describe_code_error(error, self.rewards)}."
            ) from error
        return RewardArrays(
            local_means=read_only(np.ascontiguousarray(self.local_means)),
            global_means=read_only(self.global_means),
            parameters=read_only(parameters),
            offsets=read_only(self.samples.offsets),
            values=read_only(self.samples.values),
            cumulative=read_only(self.samples.cumulative),
            shock_key=read_only(np.zeros(1, dtype=np.uint64)),
        )


@dataclass(frozen=True, eq=False)
class Phase:
    """Rounds ``after`` + 1 and later: the local means [M, K] and global means [K] that hold then."""

    after: int
    local_means: NDArray[np.float64]
    global_means: NDArray[np.float64]

    @functools.cached_property
    def gaps(self) -> NDArray[np.float64]:
        """Delta [K]: the best global mean less the arm's; exactly 0 where they differ only by rounding."""
        gaps: NDArray[np.float64] = self.global_means.max() - self.global_means
        return np.where(gaps < _ROUNDING, 0.0, gaps)

    @property
    def best_arms(self) -> tuple[int, ...]:
        """All arms whose global mean equals the best one, up to rounding."""
        return tuple(int(arm) for arm in np.flatnonzero(self.gaps == 0.0))


def _weighted(means: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """sum_m w_m mu_km [K] by correctly rounded sums."""
    if np.all(weights == weights[0]):
        return np.array([math.fsum(column.tolist()) / len(weights) for column in means.T])
    return np.array([math.fsum((column * weights).tolist()) for column in means.T])


def _per_client(values: tuple[float, ...]) -> str:
    """``0.5``, or ``1, 1, 0.1 (by client)`` where they differ."""
    if len(set(values)) == 1:
        return f"{values[0]:g}"
    return f"{', '.join(f'{value:g}' for value in values)} (by client)"


def equal_weights(num_clients: int) -> NDArray[np.float64]:
    """Return weights of 1/M, as in the paper."""
    return np.full(num_clients, 1.0 / num_clients)


def to_numbers(given: Any, what: str) -> NDArray[np.float64]:
    """Convert an array or a list of numbers to float64."""
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):  # rows of unequal length
        array = np.array(None)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{what} are not an array of numbers: give one with rows of equal length.")
    return array.astype(np.float64, copy=False)


def _check_means(means: NDArray[np.float64], name: str) -> None:
    if means.ndim != 2 or 0 in means.shape:
        raise InputError(
            f"{name}: the local means need two dimensions, clients x arms, with at least one of each; their shape is "
            f"{means.shape}."
        )
    for client, arm in np.argwhere(~((means >= 0.0) & (means <= 1.0))):
        raise InputError(
            f"{name}: the mean {means[client, arm]:g} of client {client}, arm {arm} lies outside [0, 1]: "
            "scale the rewards to [0, 1] first."
        )


def check_weights(weights: NDArray[np.float64], num_clients: int) -> None:
    """Raise ``InputError`` unless there are M finite weights above 0 that sum to 1 within 1e-9."""
    if weights.shape != (num_clients,):
        raise InputError(f"There are {weights.size} weights for {num_clients} clients: give one for each client.")
    for client in np.flatnonzero(~((weights > 0.0) & np.isfinite(weights))):
        raise InputError(f"Invalid weight {weights[client]:g} of client {client}: use a finite number above 0.")
    try:
        total = math.fsum(weights)
    except OverflowError:
        raise InputError(
            f"The weights, up to {weights.max():g}, are too large to be summed: use weights that sum to 1."
        ) from None
    if not abs(total - 1.0) <= 1e-9:
        raise InputError(f"The weights sum to {total:.12g}, not to 1: divide each by {total:.12g}.")
