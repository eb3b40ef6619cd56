"""Agents of other libraries, unmodified: functions that make them, by the library's name and the agent's.

Each function takes the number of arms and a seed.  A library is imported when its agent is made.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from other_libraries import import_library

Maker = Callable[[int, int], Any]


@dataclass(frozen=True)
class MABWiserMaker:
    """MABWiser's ``MAB``; ``policy`` is a class of ``LearningPolicy``.

    Warm after one reward of each arm (0.5, or 1 for Thompson sampling, which takes 0 and 1 only), cold without.
    """

    policy: str
    options: tuple[tuple[str, Any], ...] = ()
    is_warm: bool = True

    def __call__(self, num_arms: int, seed: int) -> Any:
        mab = import_library("mabwiser", "mabwiser.mab")
        arms = list(range(num_arms))
        agent = mab.MAB(arms, getattr(mab.LearningPolicy, self.policy)(**dict(self.options)), seed=int(seed))
        if self.is_warm:
            agent.fit(arms, [1 if self.policy == "ThompsonSampling" else 0.5] * num_arms)
        return agent


@dataclass(frozen=True)
class RiverMaker:
    """A policy of River's ``bandit``; ``beta`` is for those whose rewards are Beta distributions."""

    policy: str
    options: tuple[tuple[str, Any], ...] = ()
    beta: bool = False

    def __call__(self, num_arms: int, seed: int) -> Any:
        bandit = import_library("river", "river.bandit")
        options = dict(self.options)
        if self.beta:
            options["reward_obj"] = importlib.import_module("river.proba").Beta()
        return getattr(bandit, self.policy)(**options, seed=int(seed))


@dataclass(frozen=True)
class SMPyBanditsMaker:
    """A policy of SMPyBandits, which draws from the global generators."""

    policy: str
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, num_arms: int, seed: int) -> Any:
        policies = import_library("SMPyBandits", "SMPyBandits.Policies")
        return getattr(policies, self.policy)(num_arms, **dict(self.options))


@dataclass(frozen=True)
class PyMABMaker:
    """A policy of PyMAB."""

    policy: str
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, num_arms: int, seed: int) -> Any:
        policies = import_library("pymab", "pymab.policies")
        return getattr(policies, self.policy)(n_arms=num_arms, **dict(self.options))


@dataclass(frozen=True)
class BayesianBanditsMaker:
    """An ``Agent`` of bayesianbandits with a Dirichlet or a normal model of each arm."""

    policy: str
    model: str
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, num_arms: int, seed: int) -> Any:
        library = import_library("bayesianbandits", "bayesianbandits")
        models = {
            "dirichlet": lambda: library.DirichletClassifier({0: 1.0, 1: 1.0}),
            "normal": lambda: library.NormalRegressor(alpha=1.0, beta=1.0),
        }
        rewards = {"dirichlet": lambda shares: shares[..., 1], "normal": None}
        arms = [library.Arm(arm, rewards[self.model], learner=models[self.model]()) for arm in range(num_arms)]
        return library.Agent(arms, getattr(library, self.policy)(**dict(self.options)), random_seed=int(seed))


@dataclass(frozen=True)
class VowpalWabbitMaker:
    """A workspace of Vowpal Wabbit that explores by ``options``."""

    options: str

    def __call__(self, num_arms: int, seed: int) -> Any:
        library = import_library("vowpalwabbit", "vowpalwabbit")
        return library.Workspace(f"--cb_explore {num_arms} {self.options} --quiet --random_seed {int(seed)}")


class TabularQ:
    """The agent of Gymnasium's tutorial on Blackjack, without its environment."""

    def __init__(self, num_arms: int, seed: int) -> None:
        import numpy as np

        self.generator, self.num_arms = np.random.default_rng(seed), num_arms
        self.q_values: dict[Any, Any] = {0: np.zeros(num_arms)}
        self.epsilon, self.rate = 0.1, 0.05

    def get_action(self, obs: Any) -> int:
        import numpy as np

        if self.generator.random() < self.epsilon:
            return int(self.generator.integers(self.num_arms))
        return int(np.argmax(self.q_values[obs]))

    def update(self, obs: Any, action: int, reward: float, terminated: bool, next_obs: Any) -> None:
        future = (not terminated) * self.q_values[next_obs].max()
        self.q_values[obs][action] += self.rate * (reward + 0.95 * future - self.q_values[obs][action])


AGENTS: dict[str, dict[str, Maker]] = {
    "MABWiser": {
        "UCB1": MABWiserMaker("UCB1", (("alpha", 1.0),)),
        "UCB1, cold": MABWiserMaker("UCB1", (("alpha", 1.0),), is_warm=False),
        "EpsilonGreedy": MABWiserMaker("EpsilonGreedy", (("epsilon", 0.1),)),
        "ThompsonSampling": MABWiserMaker("ThompsonSampling"),
        "Softmax": MABWiserMaker("Softmax", (("tau", 0.1),)),
    },
    "SMPyBandits": {
        "UCB": SMPyBanditsMaker("UCB"),
        "klUCB": SMPyBanditsMaker("klUCB"),
        "MOSS": SMPyBanditsMaker("MOSS"),
        "Thompson": SMPyBanditsMaker("Thompson"),
        "EpsilonGreedy": SMPyBanditsMaker("EpsilonGreedy", (("epsilon", 0.1),)),
        "Exp3": SMPyBanditsMaker("Exp3"),
    },
    "River": {
        "UCB": RiverMaker("UCB", (("delta", 1),)),
        "EpsilonGreedy": RiverMaker("EpsilonGreedy", (("epsilon", 0.1),)),
        "ThompsonSampling": RiverMaker("ThompsonSampling", beta=True),
        "Exp3": RiverMaker("Exp3", (("gamma", 0.1),)),
    },
    "PyMAB": {
        "UCBPolicy": PyMABMaker("UCBPolicy"),
        "EpsilonGreedyPolicy": PyMABMaker("EpsilonGreedyPolicy", (("epsilon", 0.1),)),
    },
    "bayesianbandits": {
        "ThompsonSampling, Dirichlet": BayesianBanditsMaker("ThompsonSampling", "dirichlet"),
        "ThompsonSampling, normal": BayesianBanditsMaker("ThompsonSampling", "normal"),
        "EpsilonGreedy, normal": BayesianBanditsMaker("EpsilonGreedy", "normal", (("epsilon", 0.1),)),
    },
    "Vowpal Wabbit": {
        "epsilon 0.1": VowpalWabbitMaker("--epsilon 0.1"),
        "softmax": VowpalWabbitMaker("--softmax --lambda 10"),
        "bag 5": VowpalWabbitMaker("--bag 5"),
    },
    "Gymnasium's tutorial": {"tabular Q": TabularQ},
}

# The module by which a library is found; "" for what is written here.
MODULES = {
    "MABWiser": "mabwiser",
    "SMPyBandits": "SMPyBandits",
    "River": "river",
    "PyMAB": "pymab",
    "bayesianbandits": "bayesianbandits",
    "Vowpal Wabbit": "vowpalwabbit",
    "Gymnasium's tutorial": "",
}
