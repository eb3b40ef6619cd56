"""Measure warm-start pulls: the pulls of a policy after a history of constant rewards.

Shi et al., Definition warm_start_pulls: iota_k(T; H, B, Pi) is the expected number of pulls of arm k in T
steps of the environment B by a policy Pi that has been given the rewards H before.  The teaching phase of
TAL is such a start: H holds gamma1 on every arm, B shows gamma2 on every arm but the target.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tutelage.distributions import parse_distribution
from tutelage.errors import InputError
from tutelage.instances.base import Instance, equal_weights
from tutelage.policies import POLICIES
from tutelage.policies.base import Choose, Learn, Learner, Policy
from tutelage.policies.epsilon_greedy import EpsilonGreedy
from tutelage.policies.ucb1 import UCB1
from tutelage.registry import parameter
from tutelage.rules import KEEP, Rule, Set
from tutelage.simulator import Checkpoints, make_request, simulate_request
from tutelage.teachers.base import Directive, Evidence, Problem, Quota, Report, Teacher
from tutelage.theory import arguments
from tutelage.theory.client_bounds import WarmStartBound
from tutelage.theory.eps_greedy import warm_start_of_eps_greedy
from tutelage.theory.ucb1 import warm_start_of_ucb1


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Pulls after a history, of R runs, up to C rounds counted from its end.

    ``pulls`` [R, C, K] leaves the history out.  ``lemma`` is the paper's bound on the expected pulls up to
    the last of these rounds, None where it has none.
    """

    policy: str
    history: tuple[int, ...]  # [K] rewards gamma1 of each arm
    means: tuple[float, ...]  # [K]
    target: int
    gamma1: float
    gamma2: float | None
    rounds: NDArray[np.int64]  # [C]
    pulls: NDArray[np.int64]  # [R, C, K]
    lemma: WarmStartBound | None

    @property
    def iota(self) -> NDArray[np.float64]:
        """The warm-start pulls iota_k [C, K] of each arm: the mean over runs."""
        mean: NDArray[np.float64] = self.pulls.mean(axis=0)
        return mean

    @property
    def off_target(self) -> NDArray[np.int64]:
        """The pulls [R, C] of all arms but the target."""
        total: NDArray[np.int64] = np.delete(self.pulls, self.target, axis=2).sum(axis=2)
        return total


def warm_start_pulls(
    policy: str | Policy,
    history: int | Sequence[int],
    means: Sequence[float],
    horizon: int,
    *,
    gamma1: float = 1.0,
    gamma2: float | None = 0.0,
    target: int | None = None,
    rewards: str = "bernoulli",
    runs: int = 100,
    seed: int = 0,
    checkpoints: Checkpoints = "logarithmic",
    workers: int | None = None,
) -> WarmStart:
    """Give a policy a history, simulate ``horizon`` rounds, and count its pulls.

    Shi et al., Definition warm_start_pulls.  ``history`` is how often each arm has shown ``gamma1`` before,
    one number for all K arms or one each.  ``means`` [K] are the client's own; then the ``target`` (the arm
    with the highest of them, unless it is named) shows its true reward, drawn by ``rewards``, and every other
    arm ``gamma2``; with ``gamma2=None`` every arm shows its true reward.  ``policy`` is a SPEC or an object,
    of the table or a package's own.  The history is learned, not chosen: the policy receives each reward of
    it (arms in turn, as long as each has any left) as if it had pulled that arm, and its own count of pulls
    goes on from there.  A run is a client with generators of its own; the same seed gives the same pulls.

    The lemmas: tal_teaching_UCB for UCB1 with gamma1 > gamma2 (or both 0, after a history as long for each
    arm), tal_teaching_epsilon for eps-greedy with both 0; the target's mean above gamma2.

    Raises ``InputError`` for lengths below 0, a constant outside [0, 1], a target that is not an arm, and
    whatever :func:`tutelage.simulate` raises.
    """
    arguments.instance_of(str, "reward distribution", rewards)
    given = [arguments.real("mean", each) for each in arguments.listed("means", means)]
    instance = Instance("warm start", np.array([given]), equal_weights(1), parse_distribution(rewards))
    lengths = _lengths(history, instance.num_arms)
    aim = instance.best_arm if target is None else arguments.whole("target", target, -arguments.MOST_COUNT)
    if not 0 <= aim < len(lengths):
        raise InputError(f"The target {aim} is not an arm: they are counted from 0 to {len(lengths) - 1}.")
    gamma1, workers = arguments.real("gamma1", gamma1), arguments.workers(workers)
    gamma2 = None if gamma2 is None else arguments.real("gamma2", gamma2)
    cold = make_request(instance, "none", policy, horizon=horizon, checkpoints=checkpoints)
    (inner,), rounds = cold.policies, cold.checkpoints
    request = make_request(
        instance,
        _AfterHistory(lengths, gamma1, gamma2, aim),
        PolicyWithHistory(inner, lengths, POLICIES.spec(inner)),
        horizon=sum(lengths) + horizon,
        runs=runs,
        seed=seed,
        checkpoints=sum(lengths) + rounds,
    )
    pulls = simulate_request(request, workers=workers).pulls[0, :, 0].astype(np.int64) - np.array(lengths)
    return WarmStart(
        policy=POLICIES.spec(inner),
        history=lengths,
        means=tuple(instance.local_means[0].tolist()),
        target=aim,
        gamma1=gamma1,
        gamma2=gamma2,
        rounds=rounds,
        pulls=pulls,
        lemma=_lemma(inner, lengths, float(instance.local_means[0, aim]), aim, gamma1, gamma2, horizon),
    )


def _lemma(
    policy: Policy,
    lengths: tuple[int, ...],
    mean: float,
    target: int,
    gamma1: float,
    gamma2: float | None,
    horizon: int,
) -> WarmStartBound | None:
    """The paper's lemma on this policy after this history; ``mean`` is the target's."""
    if gamma2 is None or mean <= gamma2 or len(lengths) == 1:
        return None
    if isinstance(policy, EpsilonGreedy) and gamma1 == gamma2 == 0.0:
        pulls = warm_start_of_eps_greedy(mean, len(lengths), horizon, policy.c, policy.d)
        return WarmStartBound(each=pulls, together=pulls, failure=1.0 / horizon)
    alike = gamma1 == gamma2 == 0.0 and len(set(lengths)) == 1
    if isinstance(policy, UCB1) and (gamma1 > gamma2 or alike):
        last = sum(lengths) + horizon
        each = [
            warm_start_of_ucb1(length, mean, gamma1, gamma2, last)
            for arm, length in enumerate(lengths)
            if arm != target
        ]
        return WarmStartBound(each=max(each), together=sum(each), failure=0.0)
    return None


def _lengths(history: int | Sequence[int], num_arms: int) -> tuple[int, ...]:
    is_list = isinstance(history, Sequence | np.ndarray)
    given = arguments.listed("lengths", history) if is_list else (history,) * num_arms
    if len(given) != num_arms:
        raise InputError(f"The history has {len(given)} lengths for {num_arms} arms: give one for each.")
    return tuple(arguments.whole("length of a history", length, 0) for length in given)


@dataclass(frozen=True)
class _AfterHistory(Teacher):
    """Reveals gamma1 until the client's history is over, then gamma2 off the target (None: true rewards)."""

    lengths: tuple[int, ...]
    gamma1: float
    gamma2: float | None
    target: int

    state_type: ClassVar[type] = bool  # whether the history is over
    simulation_only: ClassVar[bool] = True

    def segments(self, problem: Problem) -> tuple[int, ...]:
        return ()

    def begin(self, problem: Problem, generator: Generator) -> bool:
        return False

    def directive(self, state: bool) -> Directive:
        """The first pull beyond the history is the first that is shown under the later rules.

        It is the first that gives any arm more than its history, and so meets the quota.
        """
        arms = tuple(range(len(self.lengths)))
        if not state:
            quota = Quota(tuple(length + 1 for length in self.lengths), "any")
            return Directive((Set(self.gamma1),) * len(arms), quota, arms)
        off: Rule = KEEP if self.gamma2 is None else Set(self.gamma2)
        rules = tuple(KEEP if arm == self.target else off for arm in arms)
        return Directive(rules, None, (self.target,), target=self.target)

    def advance(self, state: bool, evidence: Evidence) -> bool:
        return True

    def exclude(self, state: bool, client: int) -> bool:
        return state

    def report(self, state: bool) -> Report:
        nothing = (None,) * len(self.lengths)
        return Report(0, (self.target,), self.target, nothing, nothing, True, "after a history")


@dataclass(frozen=True)
class PolicyWithHistory:
    """A policy that is first given a history: so many pulls of each arm, arms in turn."""

    inner: Policy
    lengths: tuple[int, ...]
    policy: str = parameter(help="the SPEC of the policy")

    @property
    def choose(self) -> Choose:
        return _with_history(self.inner.choose, self.inner.learn)[0]

    @property
    def learn(self) -> Learn:
        return _with_history(self.inner.choose, self.inner.learn)[1]

    def state_size(self, num_arms: int) -> int:
        return self.inner.state_size(num_arms)

    def parameters(self) -> tuple[float, ...]:
        """How many numbers of the history there are, K + 1, then those, then the policy's own."""
        total = float(sum(self.lengths))
        return (*map(float, self.lengths), total, *self.inner.parameters())


def _choose(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """The least pulled arm that has not had its history, then what the policy chooses.

    The parameters are the K lengths of the history, their sum, then the policy's own.
    """
    num_arms = learner.counts.size
    if round > parameters[num_arms]:
        return _choose_itself(round, learner, parameters[num_arms + 1 :], stream)
    least = -1
    for arm in range(num_arms):
        behind = learner.counts[arm] < parameters[arm]
        if behind and (least < 0 or learner.counts[arm] < learner.counts[least]):
            least = arm
    return least


def _learn(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """What the policy learns, from its history too."""
    _learn_itself(arm, reward, learner, parameters[learner.counts.size + 1 :], stream)


def _choose_itself(round: int, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> int:
    """Stands for the policy's ``choose``."""
    raise AssertionError


def _learn_itself(arm: int, reward: float, learner: Learner, parameters: NDArray[np.float64], stream: Any) -> None:
    """Stands for the policy's ``learn``."""
    raise AssertionError


@functools.cache
def _with_history(choose: Choose, learn: Learn) -> tuple[Choose, Learn]:
    """The functions of a policy that is first given a history; cached, because kernels are cached by function."""
    names = globals() | {"_choose_itself": choose, "_learn_itself": learn}
    first, second = (FunctionType(function.__code__, names) for function in (_choose, _learn))
    return first, second
