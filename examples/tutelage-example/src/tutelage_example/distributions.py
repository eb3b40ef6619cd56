"""A reward distribution.  docs/extending.md of Tutelage shows the same code."""

from dataclasses import dataclass
from typing import ClassVar

from tutelage.draws import random
from tutelage.registry import check_parameters, parameter


def draw(rewards, client, arm, stream):
    mean = rewards.local_means[client, arm]
    room = min(mean, 1.0 - mean) * rewards.parameters[0]
    return mean + room * (random(stream) - random(stream))


@dataclass(frozen=True)
class Triangle:
    """A triangle around the mean, as wide as [0, 1] allows."""

    width: float = parameter(1.0, help="width, as a share of the widest triangle", above=0, maximum=1)

    draw = staticmethod(draw)
    needs_samples: ClassVar[bool] = False

    def __post_init__(self):
        check_parameters(self)

    def parameters(self):
        return (self.width,)
