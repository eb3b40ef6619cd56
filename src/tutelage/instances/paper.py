"""The fixed instance of the paper's first experiment."""

from dataclasses import dataclass

import numpy as np

from tutelage.instances.base import Instance
from tutelage.instances.support.building import build, rewards_parameter, weights_parameter
from tutelage.registry import check_parameters

# Shi et al., "Experimental Results", Synthetic Dataset: clients x arms, left to right arm 1 to arm 5.
LOCAL_MEANS = (
    (0.2, 0.9, 0.1, 0.8, 0.6),
    (0.4, 0.1, 0.9, 0.4, 0.8),
    (0.2, 0.2, 0.5, 0.5, 0.9),
    (0.4, 0.3, 0.8, 0.9, 0.4),
    (0.3, 0.5, 0.2, 0.4, 0.8),
)


@dataclass(frozen=True)
class Paper:
    """The paper's 5 clients and 5 arms: global means 0.3, 0.4, 0.5, 0.6 and 0.7; the last arm is best.

    Shi et al., "Experimental Results".  Two clients prefer the arm that is best for all; each of
    the other three prefers another arm.
    """

    rewards: str = rewards_parameter()
    weights: str | None = weights_parameter()

    def __post_init__(self) -> None:
        check_parameters(self)

    def load(self) -> Instance:
        """Return the instance, with equal weights unless ``weights=`` is given."""
        return build("paper", self, np.array(LOCAL_MEANS))
