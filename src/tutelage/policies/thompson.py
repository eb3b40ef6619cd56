"""Thompson sampling with Beta posteriors (Thompson 1933; Agrawal and Goyal 2012)."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import beta, index, random
from tutelage.policies.base import Learner, PolicyBase, Prospect, Stretch
from tutelage.policies.support.thompson_constant import pull_ones, pull_zeros
from tutelage.policies.support.thompson_teaching import pull_taught
from tutelage.registry import parameter


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest draw from its posterior Beta(1 + successes, 1 + failures), arms in order.

    The state holds the K successes, then the K failures, then numbers that only a leap uses.  Equal draws are
    broken uniformly at random.
    """
    state, num_arms = learner.state, learner.counts.size
    best, ties, highest = 0, 0, -1.0
    for arm in range(num_arms):
        draw = beta(stream, 1.0 + state[arm], 1.0 + state[num_arms + arm])
        if draw > highest:
            best, ties, highest = arm, 1, draw
        elif draw == highest:
            ties += 1
            if index(stream, ties) == 0:
                best = arm
    return best


def learn(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """One success or failure more; a reward strictly between 0 and 1 is first turned into a Bernoulli trial.

    Agrawal and Goyal 2012, Alg. 2.  With ``parameters[0]`` = 1 (``update="fractional"``) the reward itself
    is added to the successes and its complement to the failures.
    """
    state, num_arms = learner.state, learner.counts.size
    success = reward
    if parameters[0] == 0.0 and 0.0 < reward < 1.0:
        success = 1.0 if random(stream) < reward else 0.0
    state[arm] += success
    state[num_arms + arm] += 1.0 - success


def leap(
    round: int, learner: Learner, prospect: Prospect, stretch: Stretch, parameters: NDArray[np.float64], stream: Any
) -> int:
    """Leap where all rewards are 1 and always were, where all are 0, or all but those of one arm.

    The proofs are those of ``support/thompson_constant.py`` and ``support/thompson_teaching.py``.
    """
    num_arms, state = learner.counts.size, learner.state
    successes, failures, numbers = state[:num_arms], state[num_arms : 2 * num_arms], state[2 * num_arms :]
    num_ones, num_zeros, other = 0, 0, 0
    for arm in range(num_arms):
        mean = prospect.means[arm]
        if parameters[0] == 1.0 and prospect.is_constant[arm] and 0.0 < mean < 1.0:  # no trial
            return 0
        if mean == 1.0 and failures[arm] == 0.0:
            num_ones += 1
        if mean == 0.0 and successes[arm] == 0.0:
            num_zeros += 1
        else:
            other = arm
    if num_arms == 1 or prospect.one_arm:
        return 0
    if num_ones == num_arms:
        return pull_ones(stream, successes, prospect, stretch, numbers)
    if num_zeros == num_arms:
        return pull_zeros(stream, failures, prospect, stretch, numbers)
    if num_zeros == num_arms - 1:
        rounds = pull_taught(stream, other, successes, failures, prospect, stretch, numbers)
        if prospect.is_constant[other]:
            stretch.ones[other] = 0
        return rounds
    return 0


@dataclass(frozen=True)
class ThompsonSampling(PolicyBase):
    """Thompson sampling from Beta(1, 1) priors."""

    update: Literal["bernoulli", "fractional"] = parameter(
        "bernoulli", help="update for a reward between 0 and 1, by a Bernoulli trial or by the fraction itself"
    )

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    leap = staticmethod(leap)

    def state_size(self, num_arms: int) -> int:
        """Successes and failures of each arm, and 2 K numbers that a leap writes and forgets."""
        return 4 * num_arms

    def parameters(self) -> tuple[float, ...]:
        return (1.0 if self.update == "fractional" else 0.0,)
