"""Agents that play against a campaign: blocking and with asyncio."""

import asyncio

import numpy as np
import pytest
from tests.client.fake_server import FakeServer, client_of

from tutelage.client import AsyncClient, play, play_async


class Cycle:
    """Selects all arms in turn and keeps what it learned."""

    def __init__(self):
        self.learned = []

    def select(self):
        return len(self.learned) % 3

    def update(self, arm, reward):
        self.learned.append((arm, reward))


REWARDS = {"red": 0.0, "blue": 0.25, "green": 1.0}
LEARNED = [(0, 1.0), (1, 0.75), (2, 0.0), (0, 1.0)]  # the server reveals 1 - reward


def test_an_agent_plays_in_three_lines():
    """It learns revealed rewards, and the server gets observed ones."""
    server, agent = FakeServer(), Cycle()
    with client_of(server) as client:
        assert play(client, "anna", agent, list(REWARDS), REWARDS.get, rounds=4) == {"red": 2, "blue": 1, "green": 1}
        assert agent.learned == LEARNED
        assert [(pull["client"], pull["arm"], pull["reward"]) for pull in server.pulls] == [
            ("anna", arm, REWARDS[arm]) for arm in ("red", "blue", "green", "red")
        ]


@pytest.mark.parametrize("chosen", [2, -1, True, np.True_, 1.0, 1.7, float("nan"), None, "1"])
def test_what_is_not_the_number_of_an_arm_is_refused(chosen):
    """In one sentence, before anything is sent; a whole number of numpy is an arm."""
    server, agent = FakeServer(), Cycle()
    agent.select = lambda: chosen
    with client_of(server) as client:
        with pytest.raises(IndexError, match=r"^The agent selected .*, but arms are the whole numbers 0 to 1\.$"):
            play(client, "anna", agent, ["red", "blue"], REWARDS.get, rounds=3)
        assert not server.pulls
        agent.select = lambda: np.int64(1)
        assert play(client, "anna", agent, ["red", "blue"], REWARDS.get, rounds=3) == {"blue": 3}


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_plays_with_asyncio(is_async):
    """Rewards may be measured by a coroutine; the agent sees them as shares of the campaign's range."""

    async def measure(arm):
        await asyncio.sleep(0)
        return REWARDS[arm]

    async def teach():
        agent = Cycle()
        async with client_of(FakeServer(), AsyncClient) as client:
            pull = measure if is_async else REWARDS.get
            await play_async(client, "anna", agent, list(REWARDS), pull, rounds=4, scale=(-1.0, 1.0))
        return agent.learned

    assert asyncio.run(teach()) == [(arm, (reward + 1.0) / 2.0) for arm, reward in LEARNED]
