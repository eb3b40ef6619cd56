"""The demo's clients: bandits that know nothing of teaching, and what each would have done untaught."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.policies.base import Learner, Policy
from tutelage.revealed_rewards import add_revealed_reward, new_revealed_rewards
from tutelage.seeding import POLICY, REWARDS, client_generator

CLIENTS = ("ucb1", "ucb1", "eps-greedy", "eps-greedy", "ts")
LATELY = 100  # pulls that a client's favourite arm is told from

Shown = Callable[[int, float], float]  # an arm and the reward observed; what the client is shown


class Player:
    """One client: its policy's plain functions, its own randomness, and its memory of what it was shown."""

    def __init__(self, number: int, means: Any, seed: int) -> None:
        self.policy: Policy = POLICIES.parse(CLIENTS[number])
        self.means, size = means, len(means)
        self.choices = client_generator(seed, 0, number, POLICY)
        self.rewards = client_generator(seed, 0, number, REWARDS)
        state = np.zeros(self.policy.state_size(size))
        self.revealed = new_revealed_rewards(size)
        self.learner = Learner(self.revealed.pulls, self.revealed.means, state)
        self.parameters = np.array(self.policy.parameters())
        self.round, self.cost = 0, 0.0
        self.lately: deque[int] = deque(maxlen=LATELY)

    def pull(self, shown: Shown) -> None:
        """Choose an arm, observe its reward, learn from the one that is shown."""
        arm = self.policy.choose(self.round + 1, self.learner, self.parameters, self.choices)
        observed = 1.0 if self.rewards.random() < self.means[arm] else 0.0
        reward = shown(arm, observed)
        add_revealed_reward(self.revealed, arm, reward)
        self.policy.learn(arm, reward, self.learner, self.parameters, self.choices)
        self.cost += abs(reward - observed)
        self.lately.append(arm)
        self.round += 1

    def favourite(self) -> tuple[int, float] | None:
        """The arm that it pulled most lately, and its share; None before the first pull."""
        recent = list(self.lately)  # another thread may be adding to it
        if not recent:
            return None
        arm = max(set(recent), key=recent.count)
        return arm, recent.count(arm) / len(recent)


class Players:
    """All clients, each in a thread of its own, and beside each its twin that nobody teaches."""

    def __init__(self, seed: int, horizon: int) -> None:
        instance = load("paper")
        self.gaps, self.horizon = instance.gaps, horizon
        self.all = [Player(number, means, seed) for number, means in enumerate(instance.local_means)]
        self.twins = [Player(number, means, seed) for number, means in enumerate(instance.local_means)]
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, shown: Callable[[int, int, float], float]) -> None:
        """Let them play; ``shown`` is told who pulled which arm for which reward."""

        def play(number: int, player: Player) -> None:
            while player.round < self.horizon and not self._ended.is_set():
                player.pull(lambda arm, observed: shown(number, arm, observed))

        for number, player in enumerate(self.all):
            self._threads.append(threading.Thread(target=play, args=(number, player), daemon=True))
            self._threads[-1].start()

    def end(self) -> None:
        """Let each finish its pull."""
        self._ended.set()
        for thread in self._threads:
            thread.join(timeout=2.0)

    @property
    def are_over(self) -> bool:
        """Whether nobody plays any more."""
        return not any(thread.is_alive() for thread in self._threads)

    def regrets(self) -> tuple[float, float]:
        """The regret so far, and that of the twins after as many pulls."""
        for player, twin in zip(self.all, self.twins, strict=True):
            for _ in range(player.round - twin.round):
                twin.pull(lambda _, observed: observed)
        return self._regret(self.all), self._regret(self.twins)

    def _regret(self, players: list[Player]) -> float:
        return float(sum(self.gaps @ player.learner.counts for player in players))

    def follow(self, target: int) -> bool:
        """Whether every client pulled this arm three times out of four lately."""
        found = [player.favourite() for player in self.all]
        return all(one is not None and one[0] == target and one[1] >= 0.75 for one in found)
