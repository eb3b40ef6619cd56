"""The federated bandit of Shi et al. as a parallel environment of PettingZoo.

Each agent of the environment is a client: its action is an arm, its reward an observed one.  Run r of a seed has
the rewards of run r of :func:`tutelage.simulate` with that seed, draw for draw (tests/environments).
"""

from pathlib import PurePath
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete
from pettingzoo import ParallelEnv

from tutelage.agents.base import describe_choice, read_arm
from tutelage.distributions.base import in_round
from tutelage.environments.episodes import Episodes
from tutelage.errors import InputError
from tutelage.instances import Instance, load
from tutelage.read_only_arrays import read_only
from tutelage.seeding import REWARDS, client_generator, shock_key
from tutelage.text import format_value, join_words
from tutelage.theory import arguments

Infos = dict[str, dict[str, Any]]


class FederatedBandit(ParallelEnv[str, int, int]):  # type: ignore[misc]
    """M clients that pull K arms for ``horizon`` rounds, all of them in every round.

    ``instance`` is a SPEC as on the command line, a path of a table of means, or an ``Instance``.  An observation
    is always 0; ``infos[agent]["regret"]`` is the gap of the arm that was pulled.  All agents are truncated at the
    horizon.  ``reset(seed=s)`` begins run 0 of the seed s, ``reset()`` the next run.

    Raises ``InputError`` for an instance whose clients do not all act in every round, and a horizon below 1.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "federated_bandit_v0", "render_modes": []}
    render_mode = None

    def __init__(self, instance: str | PurePath | Instance = "paper", *, horizon: int = 50_000) -> None:
        self.instance = instance if isinstance(instance, Instance) else load(instance)
        self.horizon = arguments.rounds("horizon", horizon)
        conditions = self.instance.conditions
        if conditions.activity or conditions.delays or conditions.stops:
            raise InputError(
                f"The clients of {self.instance.name} do not all act in every round, as those of FederatedBandit do: "
                "use the instance without activity, delays and stops."
            )
        names = self.instance.client_names
        self.possible_agents = list(names or (f"client_{client}" for client in range(self.instance.num_clients)))
        self.agents: list[str] = []
        self.round, self._episodes = 0, Episodes()
        self.observation_spaces = {agent: Discrete(1) for agent in self.possible_agents}
        self.action_spaces = {agent: Discrete(self.instance.num_arms) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Discrete:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[str, int], Infos]:
        """Begin a run."""
        self._episodes.begin(seed)
        seed, run = self._episodes.seed, self._episodes.run
        clients = range(self.instance.num_clients)
        self._streams = [client_generator(seed, run, client, REWARDS) for client in clients]
        key = read_only(shock_key(seed, run))
        self._phases = [
            (
                phase,
                self.instance.reward_arrays()._replace(
                    local_means=read_only(np.ascontiguousarray(phase.local_means)),
                    global_means=read_only(phase.global_means),
                    shock_key=key,
                ),
            )
            for phase in reversed(self.instance.phases)
        ]
        self.round, self.agents = 0, list(self.possible_agents)
        return dict.fromkeys(self.agents, 0), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[dict[str, int], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Play a round.  Raises ``InputError`` unless each agent has an arm."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        arms = self._read_arms(actions)
        self.round += 1
        phase, reward_arrays = next(each for each in self._phases if each[0].after < self.round)
        reward_arrays, draw = in_round(reward_arrays, self.round), self.instance.rewards.draw
        agents, is_last = self.agents, self.round == self.horizon
        rewards = {
            agent: float(draw(reward_arrays, client, arm, self._streams[client]))
            for client, (agent, arm) in enumerate(zip(agents, arms, strict=True))
        }
        infos = {agent: {"regret": float(phase.gaps[arm])} for agent, arm in zip(agents, arms, strict=True)}
        if is_last:
            self.agents = []
        ended, truncated = dict.fromkeys(agents, False), dict.fromkeys(agents, is_last)
        return dict.fromkeys(agents, 0), rewards, ended, truncated, infos

    def _read_arms(self, actions: dict[str, int]) -> list[int]:
        """Return the arm of each client."""
        if missing := [format_value(agent) for agent in self.agents if agent not in actions]:
            raise InputError(f"There is no action of {join_words(missing)}: give one for each agent in env.agents.")
        arms = [read_arm(actions[agent], self.instance.num_arms) for agent in self.agents]
        for agent, arm in zip(self.agents, arms, strict=True):
            if arm < 0:
                raise InputError(f"The agent {agent} {describe_choice(actions[agent], self.instance.num_arms)}.")
        return arms
