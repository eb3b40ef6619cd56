"""The demo's clients: bandits that know nothing of teaching, each with a twin that is not taught."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tutelage.agents import PolicyAgent
from tutelage.instances import load
from tutelage.seeding import POLICY, REWARDS, client_generator

CLIENTS = ("ucb1", "ucb1", "eps-greedy", "eps-greedy", "ts")
RECENT_PULLS = 100  # from which a client's favourite arm is computed
_FOLLOWING_SHARE = 0.75  # of the recent pulls

Reveal = Callable[[int, float], float]  # from an arm and its observed reward to the revealed reward


class DemoClient:
    """One client: its policy, its random numbers, and what it learned from revealed rewards."""

    def __init__(self, number: int, means: Any, seed: int) -> None:
        self.agent = PolicyAgent(CLIENTS[number], len(means), client_generator(seed, 0, number, POLICY))
        self.means, self.rewards = means, client_generator(seed, 0, number, REWARDS)
        self.round = 0
        self.recent_arms: deque[int] = deque(maxlen=RECENT_PULLS)

    def pull(self, reveal: Reveal) -> None:
        """Choose an arm, observe its reward, and learn from the revealed reward."""
        arm = self.agent.select()
        observed = 1.0 if self.rewards.random() < self.means[arm] else 0.0
        self.agent.update(arm, reveal(arm, observed))
        self.recent_arms.append(arm)
        self.round += 1

    def favourite_arm(self) -> tuple[int, float] | None:
        """Return the arm with the most recent pulls and its share of them, or None before the first pull."""
        recent = list(self.recent_arms)  # another thread may append to it
        if not recent:
            return None
        arm = max(set(recent), key=recent.count)
        return arm, recent.count(arm) / len(recent)


class DemoClients:
    """All clients, each in a thread of its own, and for each a twin with the same random numbers."""

    def __init__(self, seed: int, horizon: int) -> None:
        instance = load("paper")
        self.gaps, self.horizon = instance.gaps, horizon
        self.taught = [DemoClient(number, means, seed) for number, means in enumerate(instance.local_means)]
        self.twins = [DemoClient(number, means, seed) for number, means in enumerate(instance.local_means)]
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, reveal: Callable[[int, int, float], float], pace: float = 0.0) -> None:
        """Let the clients pull; ``reveal`` turns client, arm and observed reward into the revealed reward.

        Each makes at most ``pace`` pulls per second; 0 stands for no limit.
        """
        began = time.monotonic()

        def run(number: int, client: DemoClient) -> None:
            while client.round < self.horizon and not self._stopped.is_set():
                client.pull(lambda arm, observed: reveal(number, arm, observed))
                if pace:
                    self._stopped.wait(max(began + client.round / pace - time.monotonic(), 0.0))

        for number, client in enumerate(self.taught):
            self._threads.append(threading.Thread(target=run, args=(number, client), daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        """Let each client finish its pull."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(timeout=2.0)

    @property
    def are_finished(self) -> bool:
        """Whether no client pulls any more."""
        return not any(thread.is_alive() for thread in self._threads)

    def compute_regrets(self) -> tuple[float, float]:
        """Return the regret of the clients so far, and of their twins after as many pulls."""
        for client, twin in zip(self.taught, self.twins, strict=True):
            for _ in range(client.round - twin.round):
                twin.pull(lambda _, observed: observed)
        return self._sum_regret(self.taught), self._sum_regret(self.twins)

    def _sum_regret(self, clients: list[DemoClient]) -> float:
        return float(sum(self.gaps @ client.agent.learner.counts for client in clients))

    def all_follow(self, target: int) -> bool:
        """Return whether three of four recent pulls of every client were of this arm."""
        found = [client.favourite_arm() for client in self.taught]
        return all(one is not None and one[0] == target and one[1] >= _FOLLOWING_SHARE for one in found)
