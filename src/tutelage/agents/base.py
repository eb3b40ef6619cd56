"""The contract of agents: bandits of any library, which play as clients.

An agent is an object with two methods:

``select() -> arm``
    The next arm, a whole number in 0 .. K - 1.
``update(arm, reward)``
    Called with the revealed reward of that arm.

An agent's maker is a function ``make(num_arms, seed)`` that returns a new agent, or an object of a library that
:func:`tutelage.agents.adapt` knows.  Every run of every client calls it once, so no run sees what another one
learned, and each has a seed of its own (docs/decisions/0011-agents.md).
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tutelage.policies import POLICIES
from tutelage.policies.base import Learner
from tutelage.revealed_rewards import add_revealed_reward, new_revealed_rewards
from tutelage.seeding import AgentSeed
from tutelage.text import format_value


@runtime_checkable
class Agent(Protocol):
    """A bandit that plays as a client."""

    def select(self) -> int:
        """Return the next arm."""
        ...

    def update(self, arm: int, reward: float) -> None:
        """Learn from the revealed reward of an arm."""
        ...


AgentMaker = Callable[[int, int], Any]


def read_arm(chosen: Any, num_arms: int) -> int:
    """Return the arm that an agent selected; -1 unless it is a whole number, of Python or numpy, in 0 .. K - 1."""
    try:
        arm = -1 if isinstance(chosen, bool) else operator.index(chosen)
    except TypeError:
        return -1
    return arm if 0 <= arm < num_arms else -1


def describe_choice(chosen: Any, num_arms: int) -> str:
    """Return what is wrong with what an agent selected."""
    return f"selected {format_value(chosen)}, but arms are 0 to {num_arms - 1}"


@dataclass
class CallablesAgent:
    """An agent made of two functions, ``select()`` and ``update(arm, reward)``."""

    select: Callable[[], int]
    update: Callable[[int, float], Any]


class PolicyAgent:
    """A policy of this package as an agent.

    ``generator`` is what the policy draws from.  With the generator of a client it plays like the compiled policy
    of that client, draw for draw.
    """

    def __init__(self, spec: str, num_arms: int, generator: np.random.Generator) -> None:
        self.policy, self.generator, self.round = POLICIES.parse(spec), generator, 0
        self.revealed = new_revealed_rewards(num_arms)
        state = np.zeros(max(1, self.policy.state_size(num_arms)))
        self.learner = Learner(self.revealed.pulls, self.revealed.means, state)
        self.parameters: NDArray[np.float64] = np.array(self.policy.parameters())

    def select(self) -> int:
        self.round += 1
        return self.policy.choose(self.round, self.learner, self.parameters, self.generator)

    def update(self, arm: int, reward: float) -> None:
        add_revealed_reward(self.revealed, arm, reward)
        self.policy.learn(arm, reward, self.learner, self.parameters, self.generator)


@dataclass(frozen=True)
class PolicyMaker:
    """Make agents that play a policy of this package, or of another one: ``PolicyMaker("ucb1")``."""

    spec: str

    def __post_init__(self) -> None:
        POLICIES.parse(self.spec)

    def __call__(self, num_arms: int, seed: int) -> PolicyAgent:
        own = seed.generator() if isinstance(seed, AgentSeed) else np.random.Generator(np.random.SFC64(seed))
        return PolicyAgent(self.spec, num_arms, own)
