"""Random instances: every local mean uniform in [0, 1]."""

from dataclasses import dataclass

from tutelage.instances.base import Instance
from tutelage.instances.options import build, generators, rewards_option, shape, weights_option
from tutelage.registry import parameter


@dataclass(frozen=True)
class Uniform:
    """Random local means, uniform in [0, 1].

    The paper's second synthetic experiment (100 such instances of 5 clients and 5 arms).
    """

    clients: int = parameter(5, help="number of clients")
    arms: int = parameter(5, help="number of arms")
    seed: int = parameter(0, help="seed of the means")
    rewards: str = rewards_option()
    weights: str | None = weights_option()

    def load(self) -> Instance:
        """Draw the means.  The same seed gives the same first clients, however many there are."""
        size = shape("uniform", self.clients, self.arms)
        (generator,) = generators("uniform", self.seed)
        return build("uniform", self, generator.random(size), notes=[("seed", str(self.seed))])
