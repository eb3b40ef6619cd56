"""One client on its own: it chooses, sees a revealed reward and learns, interpreted or compiled."""

import functools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tutelage.engine.kernel_compiler import compiled
from tutelage.policies import POLICIES
from tutelage.policies.base import Learner
from tutelage.read_only_arrays import read_only
from tutelage.revealed_rewards import add_revealed_reward, new_revealed_rewards
from tutelage.seeding import POLICY, client_generator, client_streams
from tutelage.testing.contract_rules import require
from tutelage.text import format_rough_duration

LOG = logging.getLogger("tutelage.simulator")
_SECONDS_TO_COMPILE = 3.0  # importing numba included, six policies took 1.2 to 2.7 s


class SingleClient:
    """A client with the policy of a SPEC.

    ``spare`` adds numbers behind the policy's own state, ``compile_it`` runs the compiled functions.
    Interpreted, counts, means and parameters are read-only: a policy may write its state only.
    """

    def __init__(self, spec: str, num_arms: int, seed: int = 0, *, compile_it: bool = False, spare: int = 0) -> None:
        self.policy = POLICIES.parse(spec)
        size = self.policy.state_size(num_arms) + spare
        self.revealed = new_revealed_rewards(num_arms)
        self.learner = Learner(self.revealed.pulls, self.revealed.means, np.zeros(max(1, size)))
        self.parameters = np.array([*self.policy.parameters(), 0.0])
        wrap: Callable[[Any], Any] = compiled if compile_it else _unchanged
        self.choose, self.learn = wrap(self.policy.choose), wrap(self.policy.learn)
        self.add_reward = wrap(add_revealed_reward)
        self.stream: Any = client_generator(seed, 0, 0, POLICY)
        if compile_it:
            announce_compilation(spec)
            self.stream = client_streams(seed, 0, 1)[0, POLICY]
        if not compile_it:  # a policy may write its state and nothing else
            self.learner = self.learner._replace(
                counts=read_only(self.learner.counts), means=read_only(self.learner.means)
            )
            self.parameters = read_only(self.parameters)

    def choose_arm(self, round: int) -> int:
        """Return the arm that the client pulls in a round; it must exist."""
        arm: int = self.choose(round, self.learner, self.parameters, self.stream)
        last = self.revealed.pulls.size - 1
        require(arm in range(last + 1), f"choose() returned {arm!r}, but arms are 0 to {last}")
        return arm

    def see(self, arm: int, reward: float) -> None:
        """Learn a revealed reward."""
        self.add_reward(self.revealed, arm, reward)
        self.learn(arm, reward, self.learner, self.parameters, self.stream)

    def play(self, rounds: int, reward_of: Callable[[int], float]) -> list[int]:
        """Return the arms of this many rounds from the start; ``reward_of(arm)`` is the revealed reward."""
        arms: list[int] = []
        for round in range(1, rounds + 1):
            arm = self.choose_arm(round)
            self.see(arm, reward_of(arm))
            arms.append(arm)
        return arms


@functools.cache
def announce_compilation(spec: str) -> None:
    """Log what is compiled and how long it takes, once for each SPEC."""
    LOG.info("Compiling %s takes about %s.", spec, format_rough_duration(_SECONDS_TO_COMPILE))


def _unchanged(function: Any) -> Any:
    return function


def generator_words(generator: Any) -> list[int]:
    """Return the four SFC64 words of a generator's state."""
    words: list[int] = generator.bit_generator.state["state"]["state"].tolist()
    return words


def count_choices(spec: str, num_arms: int, histories: Sequence[Sequence[float]], trials: int = 20_000) -> list[int]:
    """Count [K] how often each arm is chosen next, in many trials that all start after the same rewards.

    ``histories[k]`` are the rewards of arm k that the client has seen.
    """
    client = SingleClient(spec, num_arms)
    for step in range(max(len(rewards) for rewards in histories)):
        for arm, rewards in enumerate(histories):
            if step < len(rewards):
                client.see(arm, rewards[step])
    round = sum(len(rewards) for rewards in histories) + 1
    before, counts = client.learner.state.copy(), [0] * num_arms
    for _ in range(trials):
        counts[client.choose_arm(round)] += 1
        client.learner.state[:] = before
    return counts
