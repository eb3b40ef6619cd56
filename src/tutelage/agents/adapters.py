"""Adapters: bandits of other libraries as agents, recognised by the methods that they have.

None of the libraries is imported here: who has one of their objects has the library.  Arms are numbered from 0; a
library that names arms otherwise must be given the names 0 .. K - 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tutelage.agents.base import Agent, CallablesAgent
from tutelage.errors import InputError
from tutelage.text import format_value, join_words


@dataclass
class MABWiserAgent:
    """MABWiser's ``MAB``: ``predict()`` and ``partial_fit(decisions, rewards)``.

    Before its first reward MABWiser refuses to predict; the agent then selects arm 0.  An arm without rewards is what
    MABWiser makes of it: call ``fit`` in the maker for pulls that it should begin with.
    """

    wrapped: Any

    def select(self) -> int:
        return self.wrapped.predict() if self.wrapped._is_initial_fit else 0  # noqa: SLF001

    def update(self, arm: int, reward: float) -> None:
        self.wrapped.partial_fit(np.array([arm]), np.array([reward]))  # faster than lists


class SMPyBanditsAgent:
    """SMPyBandits' policies: ``choice()`` and ``getReward(arm, reward)``."""

    def __init__(self, wrapped: Any) -> None:
        self.wrapped, self.select = wrapped, wrapped.choice
        wrapped.startGame()

    def update(self, arm: int, reward: float) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):  # it divides by the pulls of arms never pulled
            self.wrapped.getReward(arm, reward)


class RiverAgent:
    """River's ``bandit`` policies: ``pull(arms)`` and ``update(arm, reward)``."""

    def __init__(self, wrapped: Any, num_arms: int) -> None:
        self.wrapped, self.arms = wrapped, list(range(num_arms))
        self.update: Callable[[int, float], Any] = wrapped.update

    def select(self) -> int:
        return self.wrapped.pull(self.arms)  # type: ignore[no-any-return]


class PyMABAgent:
    """PyMAB's policies: ``select_action(rng=...)`` and ``update(action=..., reward=...)``."""

    def __init__(self, wrapped: Any, seed: int) -> None:
        self.wrapped, self.generator = wrapped, np.random.default_rng(seed)

    def select(self) -> int:
        return self.wrapped.select_action(rng=self.generator)  # type: ignore[no-any-return]

    def update(self, arm: int, reward: float) -> None:
        self.wrapped.update(action=arm, reward=reward)


@dataclass
class BayesianBanditsAgent:
    """bayesianbandits' ``Agent``, whose arms have the tokens 0 .. K - 1: ``pull()`` and ``update(y)``."""

    wrapped: Any

    def select(self) -> int:
        return self.wrapped.pull()[0]  # type: ignore[no-any-return]

    def update(self, arm: int, reward: float) -> None:
        self.wrapped.select_for_update(arm).update(np.array([reward]))


class VowpalWabbitAgent:
    """A workspace of Vowpal Wabbit with ``--cb_explore K``: the cost of an arm is 1 - reward.

    Vowpal Wabbit predicts a probability for each arm; the agent draws the arm from a generator of its own.
    """

    def __init__(self, wrapped: Any, seed: int) -> None:
        self.wrapped, self.generator = wrapped, np.random.default_rng(seed)
        self.probabilities: np.ndarray[Any, Any] = np.zeros(0)

    def select(self) -> int:
        self.probabilities = np.array(self.wrapped.predict("| x"), dtype=np.float64)
        return int(np.searchsorted(np.cumsum(self.probabilities)[:-1], self.generator.random(), side="right"))

    def update(self, arm: int, reward: float) -> None:
        self.wrapped.learn(f"{arm + 1}:{1.0 - reward}:{self.probabilities[arm]} | x")


@dataclass
class GymnasiumAgent:
    """An agent as in Gymnasium's tutorials: ``get_action(obs)``, ``update(obs, action, reward, terminated, next_obs)``.

    Each pull is an episode of one step, whose observation is always 0.
    """

    wrapped: Any

    def select(self) -> int:
        return self.wrapped.get_action(0)  # type: ignore[no-any-return]

    def update(self, arm: int, reward: float) -> None:
        self.wrapped.update(0, arm, reward, True, 0)


# Which methods an object must have, in the order in which it is tried, and its adapter.
_ADAPTERS: tuple[tuple[tuple[str, ...], Callable[[Any, int, int], Any]], ...] = (
    (("predict", "partial_fit"), lambda thing, num_arms, seed: MABWiserAgent(thing)),
    (("startGame", "choice", "getReward"), lambda thing, num_arms, seed: SMPyBanditsAgent(thing)),
    (("select_action", "update"), lambda thing, num_arms, seed: PyMABAgent(thing, seed)),
    (("get_action", "update"), lambda thing, num_arms, seed: GymnasiumAgent(thing)),
    (("pull", "select_for_update"), lambda thing, num_arms, seed: BayesianBanditsAgent(thing)),
    (("pull", "update"), lambda thing, num_arms, seed: RiverAgent(thing, num_arms)),
    (("predict", "learn"), lambda thing, num_arms, seed: VowpalWabbitAgent(thing, seed)),
    (("select", "update"), lambda thing, num_arms, seed: thing),
)


def adapt(thing: Any, num_arms: int, seed: int = 0) -> Agent:
    """Return an agent for an object of a library, a pair of functions ``(select, update)``, or an agent itself.

    ``seed`` is for libraries that leave drawing to the caller, PyMAB and Vowpal Wabbit.  Raises ``InputError`` for
    anything else.
    """
    if isinstance(thing, tuple) and len(thing) == 2 and all(map(callable, thing)):
        return CallablesAgent(*thing)
    if not isinstance(thing, type):
        for methods, adapter in _ADAPTERS:
            if all(callable(getattr(thing, name, None)) for name in methods):
                return adapter(thing, num_arms, seed)  # type: ignore[no-any-return]
    known = join_words(["/".join(methods) for methods, _ in _ADAPTERS])
    raise InputError(
        f"{format_value(thing)} is not an agent: use an object with the methods select and update, a pair of "
        f"functions, or an object with the methods of a known library ({known})."
    )
