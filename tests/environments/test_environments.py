"""PettingZoo's and Gymnasium's checkers, and environments that play the simulator's runs draw for draw."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env
from pettingzoo import ParallelEnv
from pettingzoo.test import parallel_api_test
from pettingzoo.test.seed_test import parallel_seed_test
from tests.client.fake_server import FakeServer, client_of

import tutelage
from tutelage import environments
from tutelage.agents import PolicyMaker
from tutelage.environments import FederatedBandit, RewardTeaching, TaughtReward
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.seeding import agent_seed

CLIENTS = ["ucb1", "ucb1", "eps-greedy", "eps-greedy", "ts"]
HORIZON = 900


def play(env, run, seed, policies=tuple(CLIENTS)):
    """Play an episode with policies as agents; return pulls [M, K], all infos of each step, and all rewards."""
    num_arms = env.action_space(env.possible_agents[0]).n
    agents = {
        name: PolicyMaker(policy)(num_arms, agent_seed(seed, run, client))
        for client, (name, policy) in enumerate(zip(env.possible_agents, policies, strict=True))
    }
    pulls, steps = np.zeros((len(agents), num_arms), dtype=int), []
    while env.agents:
        actions = {name: agents[name].select() for name in env.agents}
        observations, rewards, ended, truncated, infos = env.step(actions)
        for client, (name, agent) in enumerate(agents.items()):
            agent.update(actions[name], rewards[name])
            pulls[client, actions[name]] += 1
        steps.append((actions, rewards, infos))
        assert set(observations.values()) == {0}
        assert not any(ended.values())
    assert all(truncated.values())
    return pulls, steps


@pytest.mark.parametrize("is_binary", [False, True])
def test_a_taught_bandit_plays_the_runs_of_the_simulator(is_binary):
    """Both runs of a seed to the full horizon: pulls, regret, cost and target; a second play is the same."""
    expected = tutelage.simulate(
        "paper", "blt", CLIENTS, horizon=HORIZON, runs=2, seed=3, checkpoints=1, binary_reveals=is_binary
    ).isel(teacher=0, checkpoint=-1)
    bandit = FederatedBandit("paper", horizon=HORIZON)
    env = RewardTeaching(bandit, "blt", binary_reveals=is_binary)
    played = []
    for run, seed in enumerate([3, None, 3]):
        env.reset(seed=seed)
        pulls, steps = play(env, run % 2, 3)
        played.append(steps)
        one = expected.isel(run=run % 2)
        assert len(steps) == HORIZON
        np.testing.assert_array_equal(pulls, one["pulls"].values)
        assert env.target == (None if one["target"] < 0 else one["target"])
        assert sum(info["regret"] for _, _, infos in steps for info in infos.values()) == pytest.approx(
            float(one["regret"].sum())
        )
        adjustments = [abs(info["adjustment"]) for _, _, infos in steps for info in infos.values()]
        assert env.cost == pytest.approx(float(one["cost"].sum()))
        assert sum(adjustments) == pytest.approx(env.cost)
        for _, rewards, infos in steps[::50]:
            for name, info in infos.items():
                assert (
                    rewards[name]
                    == info["revealed_reward"]
                    == pytest.approx(info["observed_reward"] + info["adjustment"])
                )
    assert played[0] == played[2] != played[1]
    assert env.report().consultations > 0


def test_a_bandit_has_the_regret_of_the_simulator_after_means_shift():
    """The gaps of the phase count."""
    instance = 'shift:paper,then="planted:clients=5,arms=5,seed=3",at=200'
    expected = tutelage.simulate(instance, "none", "ucb1", horizon=400, runs=1, seed=5)
    env = FederatedBandit(instance, horizon=400)
    env.reset(seed=5)
    pulls, steps = play(env, 0, 5, ["ucb1"] * len(env.possible_agents))
    np.testing.assert_array_equal(pulls, expected["pulls"].values[0, 0, :, -1])
    total = sum(info["regret"] for _, _, infos in steps for info in infos.values())
    assert total == pytest.approx(float(expected["regret"].isel(checkpoint=-1).sum()))


def test_clients_share_the_shocks_of_a_bandit():
    """With a correlation of 1 and equal means all have the same reward, which differs between rounds and runs."""
    env = FederatedBandit(tutelage.instance([[0.5, 0.5]] * 3, rewards="correlated(correlation=1)"), horizon=50)
    histories = []
    for _ in range(2):
        env.reset()
        histories.append([tuple(env.step(dict.fromkeys(env.agents, 1))[1].values()) for _ in range(50)])
    assert all(len(set(rewards)) == 1 for history in histories for rewards in history)
    assert all(len(set(history)) == 2 for history in histories)
    assert histories[0] != histories[1]


class Walk(ParallelEnv):
    """Agents on a line: actions 1 to 3, a reward of -1 to 1, agents that end, and one that pauses."""

    metadata = {"name": "walk_v0"}  # noqa: RUF012
    render_mode = None

    def __init__(self, spaces=None):
        self.possible_agents, self.agents = [0, 1, 2], []
        self.spaces = spaces or {agent: Discrete(3, start=1) for agent in self.possible_agents}
        self.views = {agent: Box(-np.inf, np.inf, (1,)) for agent in self.possible_agents}

    def observation_space(self, agent):
        return self.views[agent]

    def action_space(self, agent):
        return self.spaces[agent]

    def reset(self, seed=None, options=None):
        self.agents, self.rounds = list(self.possible_agents), 0
        return self.view(), {agent: {} for agent in self.agents}

    def view(self):
        return {agent: np.array([self.rounds], dtype=np.float32) for agent in self.agents}

    def step(self, actions):
        self.rounds += 1
        rewards = {agent: np.float32(actions[agent] - 2) for agent in self.agents}
        ended = {agent: self.rounds == 10 * (agent + 1) for agent in self.agents}
        result = self.view(), rewards, ended, dict.fromkeys(self.agents, False), {agent: {} for agent in self.agents}
        self.agents = [agent for agent in self.agents if not ended[agent]]
        return result


def test_any_parallel_environment_is_taught():
    """Actions from 1, another range; one campaign goes on through episodes, or each is new."""
    for one_campaign, pulls in ((True, 2 * 5), (False, 5)):
        env = RewardTeaching(Walk(), "known(target=2)", horizon=7, low=-1.0, one_campaign=one_campaign)
        shown = []
        for _ in range(2):
            env.reset()
            for _ in range(5):
                _, rewards, _, _, infos = env.step({0: 1, 1: 2, 2: 3})
                shown.append(list(rewards.values()))
                assert infos[0]["observed_reward"] == -1.0
        assert env.target == 3
        assert shown[0] == [-1.0, -1.0, 1.0]  # off the target the least reward
        assert env.cost == pytest.approx(0.5 * min(pulls, 7))  # the middle of the range, up to the horizon
        assert shown[-1] == ([-1.0, 0.0, 1.0] if one_campaign else shown[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: FederatedBandit("paper", horizon=40),
        lambda: RewardTeaching(FederatedBandit("paper", horizon=40), "twl"),
        lambda: RewardTeaching(Walk(), "blt", horizon=40, low=-1.0),
        lambda: RewardTeaching(Walk(), "blt", horizon=40, low=-1.0, one_campaign=True),
    ],
)
def test_pettingzoos_checkers_pass(make):
    """The interface, with episodes that end, and that seeds repeat."""
    parallel_api_test(make(), num_cycles=100)
    parallel_seed_test(make, num_cycles=30)


def test_gymnasiums_checker_passes():
    """On an environment whose rewards a campaign reveals; infos have both rewards."""
    with client_of(FakeServer()) as client:
        env = TaughtReward(gymnasium.make("FrozenLake-v1").unwrapped, client, "anna")
        with pytest.warns(UserWarning, match="most likely has a wrapper"):
            check_env(env, skip_render_check=True)
        env.reset(seed=1)
        for _ in range(5):
            _, reward, _, _, info = env.step(1)
            assert reward == info["revealed_reward"] == 1.0 - info["observed_reward"]
            assert info["adjustment"] == reward - info["observed_reward"]
            assert not info["bypassed"]


def test_actions_are_arms_of_the_campaign():
    """Named arms go by the order of actions."""
    server = FakeServer()
    with client_of(server) as client:
        env = TaughtReward(gymnasium.make("FrozenLake-v1"), client, "anna", ["w", "s", "e", "n"])
        env.reset(seed=1)
        env.step(np.int64(2))
    assert [(pull["client"], pull["arm"], pull["reward"]) for pull in server.pulls] == [("anna", "e", 0.0)]


def _taught_by(*arguments, **options):
    env = RewardTeaching(*arguments, **options)
    env.reset()
    env.step(dict.fromkeys(env.agents, 1))


def _bandit_with(actions):
    env = FederatedBandit("paper", horizon=5)
    env.reset()
    env.step(dict.fromkeys(env.agents, 0) | actions)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: _taught_by(Walk()), "needs a horizon"),
        (lambda: _taught_by(Walk(), horizon=9), "The reward -1.0 of the agent 0 lies outside of 0 to 1"),
        (lambda: _taught_by(Walk(), "na", horizon=9), "only a simulation has"),
        (lambda: _taught_by(Walk(), "known", horizon=9), "needs a target"),
        (lambda: _taught_by(Walk(), "blt", horizon=9, weights=[0.5, 0.5]), "2 weights for 3 clients"),
        (lambda: _taught_by(Walk(dict.fromkeys(range(3), Box(0, 1))), horizon=9), "only Discrete actions"),
        (lambda: _taught_by(Walk({0: Discrete(2), 1: Discrete(3), 2: Discrete(2)}), horizon=9), "different numbers"),
        (lambda: RewardTeaching(Walk(), horizon=9).target, r"call reset\(\) first"),
        (lambda: _bandit_with({"client_1": 5}), "The agent client_1 selected 5, but arms are 0 to 4"),
        (lambda: _bandit_with({"client_1": 1.0}), "The agent client_1 selected 1.0"),
        (lambda: FederatedBandit("paper", horizon=0), "horizon"),
        (lambda: FederatedBandit("paper").reset(seed=-1), "seed"),
        (lambda: TaughtReward(gymnasium.make("FrozenLake-v1"), None, "anna", ["w"]), "1 arms for 4 actions"),
    ],
)
def test_what_cannot_be_taught_is_one_sentence(act, message):
    """With the value and the remedy."""
    with pytest.raises(InputError, match=message):
        act()


def test_every_agent_needs_an_action_and_acts_in_every_round():
    """A client without an action, and conditions under which clients pause."""
    env = FederatedBandit("paper", horizon=5)
    env.reset()
    with pytest.raises(InputError, match="no action of 'client_3' or 'client_4'"):
        env.step({"client_0": 0, "client_1": 0, "client_2": 0})
    with pytest.raises(InputError, match="do not all act in every round"):
        FederatedBandit(replace(load("paper"), conditions=tutelage.Conditions(activity=(0.5,) * 5)))


@pytest.mark.parametrize(("name", "package"), [("FederatedBandit", "pettingzoo"), ("TaughtReward", "gymnasium")])
def test_a_missing_extra_is_one_sentence(monkeypatch, name, package):
    """With the command that installs it."""

    def fail(wanted, *arguments):
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr(environments, "import_module", fail)
    monkeypatch.delitem(vars(environments), name)
    with pytest.raises(
        InputError, match=rf"{name} needs the package {package}: .* pip install 'tutelage\[{package}\]'"
    ):
        getattr(environments, name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        environments.Nothing  # noqa: B018
