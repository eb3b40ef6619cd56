"""Thompson sampling with Beta posteriors (Thompson 1933; Agrawal and Goyal 2012)."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import beta, index, random
from tutelage.policies.base import Learner, PolicyBase
from tutelage.registry import parameter


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest draw from its posterior Beta(1 + successes, 1 + failures), arms in order.

    The state holds the K successes, then the K failures.  Equal draws are broken uniformly at random.
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


@dataclass(frozen=True)
class ThompsonSampling(PolicyBase):
    """Thompson sampling from Beta(1, 1) priors."""

    update: Literal["bernoulli", "fractional"] = parameter(
        "bernoulli", help="update for a reward between 0 and 1, by a Bernoulli trial or by the fraction itself"
    )

    choose = staticmethod(choose)
    learn = staticmethod(learn)

    def state_size(self, num_arms: int) -> int:
        return 2 * num_arms

    def parameters(self) -> tuple[float, ...]:
        return (1.0 if self.update == "fractional" else 0.0,)
