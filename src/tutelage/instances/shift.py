"""Means that change: one instance up to a round, another from then on (piecewise stationary)."""

import dataclasses
from dataclasses import dataclass

from tutelage.conditions import MeanShift
from tutelage.distributions import parse_distribution
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.instances.base import Instance
from tutelage.instances.readers.numbers import read_weights
from tutelage.registry import check_parameters, parameter


@dataclass(frozen=True)
class ShiftingMeans:
    """An instance whose local means become those of another after a given round.

    ``shift:paper,then=planted:clients=5,arms=5,seed=3,at=20000`` does not show where the second instance
    ends, so put that in quotes, ``then="planted:clients=5,arms=5,seed=3"``.  Weights and reward distribution
    are those of the first instance unless they are given; names are always those of the first.  The second
    instance may be a shift itself; its rounds count from ``at``.
    """

    path: str = parameter(help="first instance")
    then: str = parameter(help="second instance, in quotes, with as many clients and arms as the first")
    at: int = parameter(help="last round of the first instance", minimum=1)
    rewards: str | None = parameter(None, help="reward distribution; by default that of the first instance")
    weights: str | None = parameter(None, help="weights of the clients; by default those of the first instance")

    def __post_init__(self) -> None:
        check_parameters(self)

    def load(self) -> Instance:
        """Load both instances and join them.  Raises ``InputError`` if they do not fit together."""
        first, then = load(self.path), load(self.then)
        if first.local_means.shape != then.local_means.shape:
            sizes = [f"{each.num_clients} clients and {each.num_arms} arms" for each in (first, then)]
            raise InputError(
                f"shift: the instances differ in size, {sizes[0]} and {sizes[1]}: use two of the same size."
            )
        if self.rewards is not None:
            first = dataclasses.replace(first, rewards=parse_distribution(self.rewards))
        if self.weights is not None:
            first = dataclasses.replace(first, weights=read_weights(self.weights, first.num_clients))
        if first.rewards.needs_samples:
            raise InputError(
                "shift: rewards=empirical works only while the means stay as observed: use another distribution, "
                "as in rewards=bernoulli."
            )
        earlier = tuple(shift for shift in first.conditions.shifts if shift.after < self.at)
        later = tuple(MeanShift(self.at + phase.after, phase.local_means) for phase in then.phases)
        return dataclasses.replace(
            first,
            name=self._name(first, then),
            conditions=dataclasses.replace(first.conditions, shifts=earlier + later),
        )

    def _name(self, first: Instance, then: Instance) -> str:
        """The INSTANCE that makes the same instance again."""
        given = [f"{key}={getattr(self, key)}" for key in ("rewards", "weights") if getattr(self, key) is not None]
        return ",".join([f"shift:{_quote(first.name)}", f"then={_quote(then.name)}", f"at={self.at}", *given])


def _quote(name: str) -> str:
    quote = "'" if '"' in name else '"'
    return f"{quote}{name}{quote}"
