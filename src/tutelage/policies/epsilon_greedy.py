"""epsilon-greedy, epsilon falling (Auer, Cesa-Bianchi and Fischer 2002; Shi et al., section VI-B)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import index, random
from tutelage.policies.base import Learner, PolicyBase, argmax, first_pulls
from tutelage.registry import parameter


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """With probability epsilon_t = min(1, c K / (d^2 t)) any of the K arms, else the best mean."""
    arm = first_pulls(learner.counts, stream)
    if arm >= 0:
        return arm
    num_arms = learner.counts.size
    c, d = parameters[0], parameters[1]
    if random(stream) < min(1.0, c * num_arms / (d * d * round)):
        return index(stream, num_arms)
    return argmax(learner.means, stream)


@dataclass(frozen=True)
class EpsilonGreedy(PolicyBase):
    """epsilon-greedy: the best mean, or with probability min(1, c K / (d^2 t)) any arm."""

    c: float = parameter(1.0, help="weight of exploration", minimum=0)
    d: float = parameter(1.0, help="gap for which it is tuned, Auer et al.'s d", above=0, maximum=1)

    choose = staticmethod(choose)
