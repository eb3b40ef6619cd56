"""The adaptive attack of Liu and Shroff, "Data Poisoning Attacks on Stochastic Bandits"."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from tutelage.registry import parameter
from tutelage.rules import Rule, Shift
from tutelage.teachers.families.fixed_teacher import FixedTarget


@dataclass(frozen=True)
class ACE(FixedTarget):
    """Adaptive attack by constant estimation: lowers every other arm by the most that it may exceed the target.

    Liu and Shroff 2019 (ICML), for clients of any kind.  A reward X of arm i becomes X - alpha with

        alpha = max(0, Q_i / N_i - Q_K / N_K + beta(N_i) + beta(N_K)),

    K the target, N the client's pulls, Q the sums of its *observed* rewards (this one included), beta the
    half-width of :func:`tutelage.rules.half_width`.  While all means lie within beta, which they do for all
    time with probability at least 1 - ``delta``, alpha is at least the true gap: the client
    sees the target as the best arm.

    Departs from the paper, where rewards are unbounded.  Clipped to [0, 1] (``fit=clipped``) the shift leaves
    rewards of 0 unchanged, so that a mean of mu becomes mu (1 - alpha), not mu - alpha, and once beta is
    small the client prefers another arm for ever (test_a_clipped_shift_fails).  By default the reward is
    scaled instead, to X (1 - alpha N_i / Q_i), at least 0: the same alpha on average, and still no arm's
    mean exceeds the target's.  Before the client's first pull of the target other arms are revealed as 0.
    """

    delta: float = parameter(0.05, help="probability that a confidence interval ever fails", above=0, below=1)
    fit: Literal["scaled", "clipped"] = parameter("scaled", help="how a shifted reward is brought into [0, 1]")

    needs_bounded_rewards: ClassVar[bool] = True
    sentence: ClassVar[str] = "shifting all other arms below the known target, arm {target}"

    @property
    def rule(self) -> Rule:
        return Shift(self.delta, self.fit == "scaled")
