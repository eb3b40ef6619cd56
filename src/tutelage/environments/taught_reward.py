"""One Gymnasium environment whose rewards go through a live campaign."""

from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs

from tutelage.client import Client
from tutelage.errors import InputError


class TaughtReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment whose learner sees the rewards that a live campaign reveals for the client ``name``.

    Each step is a pull: the action is the arm, and the environment's reward is sent as the observed one.  ``arms``
    are the campaign's arms in the order of the actions, by default "0", "1" and so on.  ``client`` is a
    :class:`tutelage.client.Client`, which is not closed.

    ``info`` has ``observed_reward``, ``revealed_reward``, ``adjustment``, the second less the first, and
    ``bypassed``: whether the learner sees the observed reward because the server did not answer in time.

    Raises ``InputError`` for actions that are not discrete, and unless there is an arm for each; ``step`` raises what
    :meth:`Client.reveal` raises.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], client: Client, name: str, arms: Sequence[str] | None = None
    ) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, client=client, name=name, arms=arms)
        gymnasium.Wrapper.__init__(self, env)
        space = env.action_space
        if not isinstance(space, Discrete):
            raise InputError(f"The actions of the environment are {space}, but only Discrete actions can be taught.")
        if arms is not None and len(arms) != space.n:
            raise InputError(f"There are {len(arms)} arms for {space.n} actions: name one arm for each action.")
        self.client, self.name, self._start = client, name, int(space.start)
        self.arms = tuple(arms if arms is not None else map(str, range(int(space.n))))

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act, and reveal the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        observed = float(np.asarray(reward).item())
        response = self.client.reveal(self.name, self.arms[int(action) - self._start], observed)
        added = {
            "observed_reward": observed,
            "revealed_reward": response.reward,
            "adjustment": response.adjustment,
            "bypassed": response.bypassed,
        }
        return observation, response.reward, terminated, truncated, {**info, **added}
