"""Measure sufficient exploration: how evenly a policy pulls arms that are all revealed as one constant.

Shi et al., Definition uniform_exploration: a policy is (I, gamma, eta-low, eta-high)-sufficiently exploring
if, after tau pulls on a set I of arms whose rewards are always gamma, it has pulled each of them at least
eta-low(tau) and at most eta-high(tau) times.  Here eta-low and eta-high are measured over many runs and
compared with the paper's lemmas on UCB1 and epsilon-greedy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tutelage.distributions.constant import Constant
from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights
from tutelage.policies.base import Policy
from tutelage.policies.epsilon_greedy import EpsilonGreedy
from tutelage.policies.ucb1 import UCB1
from tutelage.simulator import Checkpoints, make_request, simulate_request
from tutelage.theory import arguments
from tutelage.theory.client_bounds import ExplorationBound
from tutelage.theory.eps_greedy import exploration_of_eps_greedy
from tutelage.theory.ucb1 import exploration_of_ucb1
from tutelage.validation import check_number

_MOST_ARMS = 1_000_000
_ROUNDING = 1e-9  # .07 of 200 is 14, though floats make it a little more


@dataclass(frozen=True, eq=False)
class Exploration:
    """Measured curves over tau, the pulls so far on the arms of the set I: R runs, C values of tau.

    ``least`` and ``most`` are the pulls, in each run, of the arm of I with the fewest and with the most
    pulls.  ``lemma`` is the paper's, None for a policy or a set that it does not cover.
    """

    policy: str
    arms: int
    gamma: float
    others: tuple[float, ...]
    taus: NDArray[np.int64]  # [C]
    least: NDArray[np.int64]  # [R, C]
    most: NDArray[np.int64]  # [R, C]
    lemma: ExplorationBound | None

    def curves(self, share: float = 1.0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """eta-low [C] and eta-high [C] as measured: each holds, at each tau, in this share of the runs.

        With 1 these are the extremes of all runs.  A smaller share leaves out the most extreme runs of each
        curve, as many as it allows, but keeps at least one (no interpolation between runs).
        Raises ``InputError`` unless it is in (0, 1].
        """
        check_number("share of the runs", share, above=0, maximum=1)
        left_out = len(self.least) - max(1, math.ceil(share * len(self.least) - _ROUNDING))
        return np.sort(self.least, axis=0)[left_out], np.sort(self.most, axis=0)[len(self.most) - 1 - left_out]

    def band(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lemma's eta-low [C] and eta-high [C].  Raises ``InputError`` without a lemma."""
        if self.lemma is None:
            raise InputError(f"The paper has no lemma on {self.policy} with these rewards, and so no band.")
        taus = self.taus.tolist()
        low, high = ([float(curve(tau)) for tau in taus] for curve in (self.lemma.least, self.lemma.most))
        return np.array(low), np.array(high)

    def outside(self) -> NDArray[np.bool_]:
        """Return which runs [R, C] are outside the lemma's band.  Raises ``InputError`` without a lemma."""
        low, high = self.band()
        beyond: NDArray[np.bool_] = (self.least < low) | (self.most > high)
        return beyond


def sufficient_exploration(
    policy: str | Policy,
    arms: int,
    gamma: float,
    horizon: int,
    *,
    others: Sequence[float] = (),
    runs: int = 200,
    seed: int = 0,
    checkpoints: Checkpoints = "logarithmic",
    workers: int | None = None,
) -> Exploration:
    """Simulate a policy on ``arms`` arms that are always revealed as ``gamma``, and count its pulls.

    Shi et al., Definition uniform_exploration; ``arms`` is the size of I.  ``others`` are constant rewards,
    in [0, 1], of further arms outside I, as TWL reveals gamma2 for arms that it has ruled out; their pulls do
    not count in tau, and values of tau that not every run reaches within ``horizon`` rounds are left out.
    ``policy`` is a SPEC or an object, of the table or a package's own.  ``checkpoints`` say which tau, up to
    ``horizon``.  A run is a client with generators of its own; the same seed gives the same curves.

    The lemmas: tal_learning_UCB for UCB1 and any I, certain; tal_learning_epsilon for eps-greedy and I = [K],
    with failure probability 1/T, T the horizon.

    Raises ``InputError`` for a number of arms below 1, a reward outside [0, 1] and whatever
    :func:`tutelage.simulate` raises.
    """
    arms = arguments.whole("number of arms", arms, 1, _MOST_ARMS)
    gamma, workers = arguments.real("reward gamma", gamma), arguments.workers(workers)
    others = tuple(arguments.real("reward of another arm", each) for each in arguments.listed("others", others))
    rewards = np.array([[gamma] * arms + list(others)])
    instance = Instance("constant rewards", rewards, equal_weights(1), Constant())
    request = make_request(instance, "none", policy, horizon=horizon, runs=runs, seed=seed, checkpoints=checkpoints)
    taus = request.checkpoints
    if others:  # tau is not the round, so every round is recorded
        request = make_request(instance, "none", policy, horizon=horizon, runs=runs, seed=seed, checkpoints=horizon)
    pulls = simulate_request(request, workers=workers).pulls[0, :, 0, :, :arms]
    if others:
        taus, pulls = _after_pulls(taus, pulls)
    return Exploration(
        policy=request.client_specs[0],
        arms=arms,
        gamma=gamma,
        others=others,
        taus=taus,
        least=pulls.min(axis=2).astype(np.int64),
        most=pulls.max(axis=2).astype(np.int64),
        lemma=_lemma(request.policies[0], arms, len(others), horizon),
    )


def _after_pulls(
    taus: NDArray[np.int64], pulls: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.integer[Any]]]:
    """The taus that every run reaches, and the pulls [R, C, I] after tau of them, from those [R, T, I]."""
    totals = pulls.sum(axis=2)
    taus = taus[taus <= totals[:, -1].min()]
    rounds = [np.searchsorted(total, taus) for total in totals]  # the first round with so many pulls
    return taus, np.stack([each[at] for each, at in zip(pulls, rounds, strict=True)])


def _lemma(policy: Policy, arms: int, num_others: int, horizon: int) -> ExplorationBound | None:
    """The paper's lemma on this policy and this set."""
    if isinstance(policy, UCB1):
        return exploration_of_ucb1(arms)
    if isinstance(policy, EpsilonGreedy) and not num_others:
        return exploration_of_eps_greedy(arms, horizon)
    return None
