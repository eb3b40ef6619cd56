"""The attacks of Jun, Li, Ma and Zhu, "Adversarial Attacks on Stochastic Bandits", on eps-greedy and UCB."""

from dataclasses import dataclass
from typing import ClassVar

from tutelage.registry import parameter
from tutelage.rules import Rule, Sink
from tutelage.teachers.families.fixed_teacher import FixedTarget


@dataclass(frozen=True)
class Jun(FixedTarget):
    """Attack of Jun et al. 2018: holds the revealed mean of every other arm a margin below the target's.

    NeurIPS 2018, sections 3 and 4.  A reward X of arm i becomes X - alpha with

        alpha = max(0, S_i + X - N_i (S_K / N_K - 2 beta(N_K) - margin)),

    K the target, N the client's pulls, S the sums revealed to it before, beta the half-width of
    :func:`tutelage.rules.half_width`.  With ``margin`` 0 this is their attack on eps-greedy, with a
    ``margin`` above 0, their Delta_0, it is the one on UCB: with probability at least 1 - ``delta`` a UCB1
    client pulls no other arm more than 1 + 2 log T / margin^2 times while the target's revealed mean is above
    the margin.  The default 1/2 is sigma, which they use for Delta_0 in their experiments.

    Departs from the paper: a reward is not lowered below 0.  The rest of alpha stays in S_i and is subtracted
    from later rewards, so nothing is lost, but a mean cannot be held below 0: a ``margin`` above the target's
    mean reveals 0 for all other arms, as ``known`` does (test_a_wide_margin_is_the_known_target).
    Before the client's first pull of the target beta is infinite, and other arms are revealed as 0.
    """

    margin: float = parameter(0.5, help="distance between the revealed means, 0 for eps-greedy clients only", minimum=0)
    delta: float = parameter(0.05, help="probability that a confidence interval ever fails", above=0, below=1)

    needs_bounded_rewards: ClassVar[bool] = True
    sentence: ClassVar[str] = "holding all other arms below the known target, arm {target}"

    @property
    def rule(self) -> Rule:
        return Sink(self.margin, self.delta)
