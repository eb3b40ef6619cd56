"""A policy.  docs/extending.md of Tutelage shows the same code."""

from dataclasses import dataclass

from tutelage.policies.base import argmax, first_pulls, no_learning


def choose(round, learner, parameters, stream):
    arm = first_pulls(learner.counts, stream)
    return arm if arm >= 0 else argmax(learner.means, stream)


@dataclass(frozen=True)
class Greedy:
    """Greedy: the best mean so far."""

    choose = staticmethod(choose)
    learn = staticmethod(no_learning)

    def state_size(self, num_arms):
        return 0

    def parameters(self):
        return ()
