"""Teaching as a wrapper around any parallel environment of PettingZoo with discrete actions.

The agents are the clients of a campaign in memory, their actions are arms, and each call of ``step`` is one step
of the campaign: all pulls are observed, the teacher is consulted at most once, and then all are revealed.
"""

from collections.abc import Sequence
from typing import Any

from gymnasium.spaces import Discrete
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper

from tutelage.environments.episodes import Episodes
from tutelage.environments.federated_bandit import FederatedBandit, Infos
from tutelage.errors import InputError
from tutelage.instances.base import check_weights, equal_weights, to_numbers
from tutelage.service.campaigns.campaign import Campaign, CampaignSetup, RewardScale
from tutelage.service.campaigns.settings import parse_teacher
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem, Report, Teacher
from tutelage.teachers.checks import ask_segments
from tutelage.text import format_value
from tutelage.theory import arguments


class RewardTeaching(BaseParallelWrapper[Any, Any, Any]):  # type: ignore[misc]
    """An environment whose agents see the rewards that a teacher reveals.

    ``teacher`` is a SPEC or an object; ``horizon`` is the number of pulls of each agent up to which they are
    evidence, by default that of a :class:`FederatedBandit`.  Rewards lie in [``low``, ``high``].  ``weights`` [M] are
    those of the agents, in the order of ``possible_agents``; by default those of a ``FederatedBandit``, and otherwise
    1/M each.  With ``binary_reveals`` only ``low`` and ``high`` are revealed.

    Each ``reset`` begins a new campaign, unless ``one_campaign`` lets one campaign go on through all episodes until a
    reset with a seed.  An agent without a reward in a step did not pull: the teacher waits for it.

    ``infos[agent]`` has ``observed_reward``, ``revealed_reward`` and ``adjustment``, the second less the first.

    Raises ``InputError`` for actions that are not discrete or not as many for each agent, a teacher that cannot be
    used outside of simulations, and, in ``step``, a reward outside of the range.
    """

    def __init__(
        self,
        env: ParallelEnv[Any, Any, Any],
        teacher: str | Teacher = "blt",
        *,
        horizon: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        weights: Sequence[float] | None = None,
        binary_reveals: bool = False,
        one_campaign: bool = False,
    ) -> None:
        super().__init__(env)
        bandit = env.unwrapped if isinstance(env.unwrapped, FederatedBandit) else None
        if horizon is None and bandit is None:
            raise InputError(
                "RewardTeaching needs a horizon: give the number of pulls of each agent, as in horizon=5000."
            )
        horizon = arguments.rounds("horizon", bandit.horizon if horizon is None and bandit else horizon)
        self._starts, num_arms = _read_action_spaces(env)
        size = len(self._starts)
        if weights is None:
            found = bandit.instance.weights if bandit else equal_weights(size)
        else:
            found = to_numbers(weights, "The weights")
        check_weights(found, size)
        spec = teacher if isinstance(teacher, str) else TEACHERS.spec(teacher)
        self._teacher = parse_teacher(spec, [str(arm) for arm in range(num_arms)])
        self._problem = Problem(size, num_arms, horizon, tuple(found.tolist()))
        self._scale, self._binary_reveals, self._one_campaign = RewardScale(low, high), binary_reveals, one_campaign
        ask_segments(self._teacher, self._problem)
        self._numbers = {agent: number for number, agent in enumerate(self.possible_agents)}
        self._episodes = Episodes()
        self._campaign: Campaign | None = None

    @property
    def target(self) -> int | None:
        """The target, as an action of the first agent; None while the teacher learns."""
        target = self._begun.target
        return None if target is None else target + next(iter(self._starts.values()))

    @property
    def cost(self) -> float:
        """The sum of the absolute adjustments, as a share of the range."""
        return self._begun.cost

    def report(self) -> Report:
        """Return the teacher's report."""
        return self._begun.report()

    @property
    def _begun(self) -> Campaign:
        if self._campaign is None:
            raise InputError("The campaign of RewardTeaching has not begun: call reset() first.")
        return self._campaign

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict[Any, Any], Infos]:
        """Begin an episode, and a campaign with it."""
        if seed is not None or self._campaign is None or not self._one_campaign:
            self._episodes.begin(seed)
            episodes = self._episodes
            self._campaign = Campaign(
                CampaignSetup(
                    self._teacher, self._problem, self._scale, episodes.seed, self._binary_reveals, episodes.run
                )
            )
        return super().reset(seed=seed, options=options)  # type: ignore[no-any-return]

    def step(
        self, actions: dict[Any, Any]
    ) -> tuple[dict[Any, Any], dict[Any, float], dict[Any, bool], dict[Any, bool], Infos]:
        """Let the agents act, and reveal their rewards."""
        campaign = self._begun
        observations, observed, ended, truncated, infos = super().step(actions)
        pulling = [agent for agent in self.possible_agents if agent in actions and agent in observed]
        if not pulling:
            return observations, observed, ended, truncated, infos
        rewards = [self._check_reward(agent, observed[agent]) for agent in pulling]
        step = campaign.step(
            [self._numbers[agent] for agent in pulling],
            [int(actions[agent]) - self._starts[agent] for agent in pulling],
            rewards,
            [False] * len(pulling),
        )
        infos = {agent: dict(info) for agent, info in infos.items()}
        for agent, reward, revealed in zip(pulling, rewards, step.revealed, strict=True):
            infos.setdefault(agent, {}).update(describe_reveal(reward, revealed))
        revealed_rewards = {**observed, **dict(zip(pulling, step.revealed, strict=True))}
        return observations, revealed_rewards, ended, truncated, infos

    def _check_reward(self, agent: Any, given: Any) -> float:
        reward = float(given)
        if not self._scale.low <= reward <= self._scale.high:
            raise InputError(
                f"The reward {format_value(reward)} of the agent {agent} lies outside of "
                f"{self._scale.low:g} to {self._scale.high:g}: give the range of rewards as low and high."
            )
        return reward


def describe_reveal(observed: float, revealed: float) -> dict[str, float]:
    """Return the entries of an ``info`` for a reward."""
    return {"observed_reward": observed, "revealed_reward": revealed, "adjustment": revealed - observed}


def _read_action_spaces(env: ParallelEnv[Any, Any, Any]) -> tuple[dict[Any, int], int]:
    """Return the first action of each agent, and the number of actions, which must be the same for all."""
    starts, sizes = {}, {}
    for agent in env.possible_agents:
        space = env.action_space(agent)
        if not isinstance(space, Discrete):
            raise InputError(f"The actions of {agent} are {space}, but only Discrete actions can be taught.")
        starts[agent], sizes[agent] = int(space.start), int(space.n)
    if len(set(sizes.values())) != 1:
        raise InputError(f"The agents have different numbers of actions, {sizes}: all must have the same arms.")
    return starts, next(iter(sizes.values()))
