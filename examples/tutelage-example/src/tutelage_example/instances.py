"""An instance source.  docs/extending.md of Tutelage shows the same code."""

from dataclasses import dataclass

import numpy as np

from tutelage.instances.support.building import build, rewards_parameter, weights_parameter
from tutelage.registry import check_parameters, parameter


@dataclass(frozen=True)
class Ladder:
    """Three clients whose means rise in equal steps from 0 to 1."""

    arms: int = parameter(5, help="number of arms", minimum=2)
    rewards: str = rewards_parameter()
    weights: str | None = weights_parameter()

    def __post_init__(self):
        check_parameters(self)

    def load(self):
        return build("ladder", self, np.tile(np.linspace(0, 1, self.arms), (3, 1)))
