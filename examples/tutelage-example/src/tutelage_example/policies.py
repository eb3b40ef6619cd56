"""A policy.  docs/extending.md of Tutelage shows the same code."""

from dataclasses import dataclass

from tutelage.policies.base import PolicyBase, argmax, first_pulls


def choose(round, learner, parameters, stream):
    arm = first_pulls(learner.counts, stream)
    return arm if arm >= 0 else argmax(learner.means, stream)


@dataclass(frozen=True)
class Greedy(PolicyBase):
    """Greedy: the best mean so far."""

    choose = staticmethod(choose)
