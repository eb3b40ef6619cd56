"""Random instances: every local mean uniform in [0, 1]."""

from dataclasses import dataclass

from tutelage.instances.base import Instance
from tutelage.instances.support.building import (
    build,
    check_size,
    make_generators,
    rewards_parameter,
    seed_parameter,
    weights_parameter,
)
from tutelage.registry import check_parameters, parameter


@dataclass(frozen=True)
class Uniform:
    """Random local means, uniform in [0, 1].

    The paper's second synthetic experiment (100 such instances of 5 clients and 5 arms).
    """

    clients: int = parameter(5, help="number of clients", minimum=1)
    arms: int = parameter(5, help="number of arms", minimum=1)
    seed: int = seed_parameter("means")
    rewards: str = rewards_parameter()
    weights: str | None = weights_parameter()

    def __post_init__(self) -> None:
        check_parameters(self)

    def load(self) -> Instance:
        """Draw the means.  The same seed gives the same first clients, however many there are."""
        size = check_size("uniform", self.clients, self.arms)
        (generator,) = make_generators(self.seed)
        return build("uniform", self, generator.random(size), notes=[("seed", str(self.seed))])
