"""Rewards of different clients that depend on each other within a round."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tutelage.client_groups import ANY, number_groups
from tutelage.distributions.base import Draw, RewardArrays
from tutelage.distributions.empirical import Empirical, quantile
from tutelage.draws import normal, shock
from tutelage.registry import check_parameters, parameter

_COMMON, _OWN, _BY_ARM, _GROUPS = range(4)  # places in the parameters; the groups are left out if there is one
_BELOW_ONE = 1.0 - 2.0**-53


def draw_share(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """Draw a uniform number in [0, 1) that depends on those of the other clients of the group in this round.

    It is Phi(sqrt(r) S + sqrt(1 - r) Z) with the correlation r, the shock S of the round and group (and arm, if
    each arm has its own) and a number Z of the client's own stream, both standard normal.
    """
    numbers = rewards.parameters
    group = int(numbers[_GROUPS + client]) if numbers.size > _GROUPS else 0
    source = group * rewards.local_means.shape[1] + (arm if numbers[_BY_ARM] > 0.0 else 0)
    common = shock(rewards.shock_key, rewards.round, source)
    value = numbers[_COMMON] * common + numbers[_OWN] * normal(stream)
    return min(0.5 * math.erfc(-value * math.sqrt(0.5)), _BELOW_ONE)


def draw_bernoulli(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """1 where the share is at least 1 - mu, else 0."""
    return 1.0 if draw_share(rewards, client, arm, stream) >= 1.0 - rewards.local_means[client, arm] else 0.0


def draw_empirical(rewards: RewardArrays, client: int, arm: int, stream: Any) -> float:
    """The observed reward whose cumulative share exceeds the share."""
    return quantile(rewards, client, arm, draw_share(rewards, client, arm, stream))


@dataclass(frozen=True)
class Correlated:
    """Rewards that depend on random shocks which clients share in a round; each client's distribution is unchanged.

    A Gaussian copula: the reward is a quantile of the client's own distribution, so its mean and its whole
    distribution are unchanged, and rewards of different rounds are independent.  For means of 1/2 two Bernoulli
    rewards have the correlation 2/pi arcsin(r).  Only distributions with a quantile function can be ``rewards``.
    """

    correlation: float = parameter(
        0.25, help="r: correlation of the normal numbers that rewards are computed from", minimum=0, maximum=1
    )
    dependence: str = parameter(
        ANY, help="clients that share shocks: any, or the name of each client's group as in a;a;b"
    )
    shocks: Literal["round", "arm"] = parameter(
        "round", help="what has a shock of its own: each round, or each arm in each round"
    )
    rewards: Literal["bernoulli", "empirical"] = parameter(
        "bernoulli", help="reward distribution of each client by itself"
    )

    def __post_init__(self) -> None:
        check_parameters(self)
        self._groups()

    @property
    def draw(self) -> Draw:
        return draw_empirical if self.needs_samples else draw_bernoulli

    @property
    def needs_samples(self) -> bool:
        return self.rewards == "empirical"

    def _groups(self) -> tuple[int, ...]:
        """Return the group of each client that ``dependence`` lists."""
        return () if self.dependence == ANY else number_groups(self.dependence, self.dependence.count(";") + 1)

    def parameters(self) -> tuple[float, ...]:
        shares = math.sqrt(self.correlation), math.sqrt(1.0 - self.correlation)
        return (*shares, float(self.shocks == "arm"), *map(float, self._groups()))

    def check(self, num_clients: int) -> None:
        """Raise ``InputError`` unless the groups list all clients; a client by itself needs no group."""
        if num_clients > 1:
            number_groups(self.dependence, num_clients)

    def variances(self, rewards: RewardArrays) -> NDArray[np.float64]:
        means = rewards.local_means
        return Empirical().variances(rewards) if self.needs_samples else means * (1.0 - means)
