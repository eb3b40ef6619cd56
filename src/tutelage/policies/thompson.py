"""Thompson sampling with Beta posteriors (Thompson 1933; Agrawal and Goyal 2012)."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tutelage.draws import beta, index, random
from tutelage.policies.base import Learner, PolicyBase, Prospect, Stretch
from tutelage.policies.support.thompson_comparing import pull_compared
from tutelage.policies.support.thompson_constant import pull_ones, pull_zeros
from tutelage.policies.support.thompson_leading import find_leading_arm, pull_leading
from tutelage.policies.support.thompson_learning import pull_learning
from tutelage.policies.support.thompson_teaching import pull_taught
from tutelage.registry import parameter

_FEWEST, _SHARE = 16, 0.0625  # rounds in which all draws are compared: at least, and as a share of those before


def choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The arm with the largest draw from its posterior Beta(1 + successes, 1 + failures), arms in order.

    The state holds the K successes, the K failures, 5 K numbers that only a leap uses, and 1 + the arm of the coming
    pull where a leap has drawn it, else 0.  Equal draws are broken uniformly at random.
    """
    state, num_arms = learner.state, learner.counts.size
    drawn = int(state[7 * num_arms])
    if drawn > 0:
        state[7 * num_arms] = 0.0
        return drawn - 1
    best, ties, highest = 0, 0, -1.0
    for arm in range(num_arms):
        draw = beta(stream, 1.0 + state[arm], 1.0 + state[num_arms + arm])
        if draw > highest:
            best, ties, highest = arm, 1, draw
        elif draw == highest:
            ties += 1
            if index(stream, ties) == 0:
                best = arm
    return best


def learn(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """One success or failure more; a reward strictly between 0 and 1 is first turned into a Bernoulli trial.

    Agrawal and Goyal 2012, Alg. 2.  With ``parameters[0]`` = 1 (``update="fractional"``) the reward itself
    is added to the successes and its complement to the failures.
    """
    state, num_arms = learner.state, learner.counts.size
    success = reward
    if parameters[0] == 0.0 and 0.0 < reward < 1.0:
        success = 1.0 if random(stream) < reward else 0.0
    state[arm] += success
    state[num_arms + arm] += 1.0 - success


def leap(
    round: int, learner: Learner, prospect: Prospect, stretch: Stretch, parameters: NDArray[np.float64], stream: Any
) -> int:
    """Leap in one of six ways, which depends on what rewards were revealed and will be.

    If all are and were ones: :func:`pull_ones`; zeros: :func:`pull_zeros`; zeros but for those of one arm:
    :func:`pull_taught`; ones of active arms, now zeros of all others: :func:`pull_learning`.  Else :func:`_pull_any`.
    The proofs are those of ``support/thompson_constant.py``, ``thompson_learning.py``, ``thompson_teaching.py``,
    ``thompson_leading.py`` and ``thompson_comparing.py``.
    """
    num_arms, state = learner.counts.size, learner.state
    successes, failures = state[:num_arms], state[num_arms : 2 * num_arms]
    numbers, drawn = state[2 * num_arms : 7 * num_arms], state[7 * num_arms :]
    num_ones, num_dark, num_zeros, other = 0, 0, 0, 0
    for arm in range(num_arms):
        mean = prospect.means[arm]
        if parameters[0] == 1.0 and prospect.is_constant[arm] and 0.0 < mean < 1.0:  # no trial
            return 0
        if mean == 1.0 and failures[arm] == 0.0:
            num_ones += 1
        if mean == 0.0:
            num_zeros += 1
        if mean == 0.0 and successes[arm] == 0.0:
            num_dark += 1
        else:
            other = arm
    if num_arms == 1 or drawn[0] > 0.0:
        return 0
    is_learning = num_ones > 0 and num_ones + num_zeros == num_arms
    if prospect.one_arm or not (is_learning or num_dark >= num_arms - 1):
        rounds = _pull_any(stream, successes, failures, prospect, stretch, numbers, drawn)
    elif num_ones == num_arms:
        rounds = pull_ones(stream, successes, failures, prospect, stretch, numbers)
    elif num_dark == num_arms:
        rounds = pull_zeros(stream, failures, prospect, stretch, numbers)
    elif num_dark == num_arms - 1:
        rounds = pull_taught(stream, other, successes, failures, prospect, stretch, numbers)
    else:
        rounds = pull_learning(stream, successes, failures, prospect, stretch, numbers)
    for arm in range(num_arms):
        if prospect.is_constant[arm]:
            stretch.ones[arm] = 0
    return rounds


def _pull_any(
    stream: Any,
    successes: NDArray[np.float64],
    failures: NDArray[np.float64],
    prospect: Prospect,
    stretch: Stretch,
    numbers: NDArray[np.float64],
    drawn: NDArray[np.float64],
) -> int:
    """Play a stretch with any rewards, partly with a leading arm; return its rounds."""
    done, has_ended = 0, False
    while done < prospect.rounds and not has_ended:
        leading, rounds = find_leading_arm(successes, failures), 0
        if leading >= 0:
            rounds = pull_leading(
                stream, prospect.rounds - done, leading, successes, failures, prospect, stretch, numbers, drawn
            )
        if prospect.one_arm:
            return rounds
        if rounds == 0:
            pulls = 0.0
            for arm in range(successes.size):
                pulls += successes[arm] + failures[arm]
            rounds = min(prospect.rounds - done, max(_FEWEST, int(_SHARE * pulls)))
            rounds = pull_compared(stream, rounds, successes, failures, prospect, stretch, numbers)
        done += rounds
        for arm in range(successes.size):
            has_ended = has_ended or stretch.pulls[arm] == prospect.room[arm]
    return done


@dataclass(frozen=True)
class ThompsonSampling(PolicyBase):
    """Thompson sampling from Beta(1, 1) priors."""

    update: Literal["bernoulli", "fractional"] = parameter(
        "bernoulli", help="update for a reward between 0 and 1, by a Bernoulli trial or by the fraction itself"
    )

    choose = staticmethod(choose)
    learn = staticmethod(learn)
    leap = staticmethod(leap)

    def state_size(self, num_arms: int) -> int:
        """Successes and failures of each arm, 5 K numbers that a leap writes and forgets, and the arm it has drawn."""
        return 7 * num_arms + 1

    def parameters(self) -> tuple[float, ...]:
        return (1.0 if self.update == "fractional" else 0.0,)
