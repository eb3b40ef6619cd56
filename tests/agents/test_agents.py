"""Agents as clients of the simulator: the same runs as compiled policies, new agents in every run, clear errors."""

import itertools
import pickle
import random

import numpy as np
import pytest
from scipy.stats import binomtest

import tutelage
from tutelage.agents import PolicyMaker, adapt
from tutelage.agents.agent_policy import AgentPolicy
from tutelage.engine.agent_group import Cancelled
from tutelage.engine.simulation import simulate_run
from tutelage.errors import InputError
from tutelage.policies import POLICIES

COMPILED = ["ucb1", "ucb1", "eps-greedy(c=2)", "eps-greedy(c=2)", "ts"]
AS_AGENTS = [PolicyMaker(spec) for spec in COMPILED]
TEACHERS = ["blt", "tal(gamma1=0.5)", "none"]


class Cycle:
    """An agent that pulls all arms in turn."""

    def __init__(self, num_arms, seed):
        self.num_arms, self.round, self.rewards = num_arms, -1, []

    def select(self):
        self.round += 1
        return self.round % self.num_arms

    def update(self, arm, reward):
        self.rewards.append(reward)


def simulate(clients, **arguments):
    """Simulate the paper's instance for a short time."""
    given = {"horizon": 400, "runs": 2, "seed": 3, "executor": "threads"} | arguments
    return tutelage.simulate("paper", given.pop("teachers", TEACHERS), clients, **given)


def assert_equal_runs(one, other):
    """Every recorded value is the same."""
    for name in one.data_vars:
        np.testing.assert_array_equal(one[name].values, other[name].values, err_msg=name)


CONDITIONS = tutelage.Conditions(activity=(1.0, 0.7, 1.0, 1.0, 1.0), delays=(0, 0, 3, 0, 0), stops=((1, 250),))


@pytest.mark.parametrize("conditions", [None, CONDITIONS])
@pytest.mark.parametrize("agents", [{0, 1, 2, 3, 4}, {1, 4}])
def test_policies_played_as_agents_equal_the_compiled_run(agents, conditions):
    """Draw for draw, among themselves and next to compiled policies, with teachers of every kind of quota."""
    mixed = [AS_AGENTS[client] if client in agents else COMPILED[client] for client in range(5)]
    arguments = {"conditions": conditions, "exclude": {3: 150}}
    assert_equal_runs(simulate(COMPILED, **arguments), simulate(mixed, **arguments))


def test_every_run_of_every_client_has_a_new_agent_with_its_own_seed():
    """Seeds differ between clients and runs, not between teachers, and are the same in the next simulation."""

    def play():
        seeds = []

        def make(num_arms, seed):
            assert num_arms == 5
            seeds.append(seed)
            return Cycle(num_arms, seed)

        simulate(make, teachers=["none", "tal"], horizon=2, runs=3)
        return seeds[1:-1]  # the first was made to compile, the last to describe it

    seeds = play()
    assert all(0 <= seed < 2**32 for seed in seeds)
    counts = {seed: seeds.count(seed) for seed in seeds}
    assert len(counts) == 3 * 5
    assert set(counts.values()) == {2}
    assert sorted(play()) == sorted(seeds)


def test_agents_that_draw_from_global_generators_repeat():
    """The generators of Python and numpy are seeded for each run, and afterwards they are as before."""

    def make(num_arms, seed):
        agent = Cycle(num_arms, seed)
        agent.select = lambda: (random.randrange(num_arms) + np.random.randint(num_arms)) % num_arms  # noqa: NPY002
        return agent

    one = simulate(make)
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    random.random()
    random.setstate(before[0])
    other = simulate(make)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    assert_equal_runs(one, other)
    first, second = one["pulls"].values[2, :, :, -1]
    assert not np.array_equal(first, second)  # runs differ


def test_an_agent_sees_revealed_rewards():
    """TAL(1, 0) reveals 1 while it learns."""
    made = []

    def make(num_arms, seed):
        made.append(Cycle(num_arms, seed))
        return made[-1]

    simulate(make, teachers="tal", horizon=50, runs=1)
    played = [agent.rewards for agent in made if len(agent.rewards) > 1]
    assert played == [[1.0] * 50] * 5


def _raise(*arguments):
    raise KeyError("lost")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"select": _raise}, r"agent .*broken.* of client 0 failed in select\(\): KeyError: 'lost' .*test_agents.py"),
        ({"update": _raise}, r"agent .*broken.* of client 0 failed in update\(\): KeyError"),
        ({"select": lambda: 5}, "of client 0 selected 5, but arms are 0 to 4"),
        ({"select": lambda: -1}, "of client 0 selected -1, but arms are 0 to 4"),
        ({"select": lambda: True}, "of client 0 selected True, but arms are 0 to 4"),
        ({"select": lambda: None}, "of client 0 selected None, but arms are 0 to 4"),
        ({"select": lambda: float("nan")}, "of client 0 selected nan, but arms are 0 to 4"),
        ({"select": lambda: "arm 1"}, "of client 0 selected 'arm 1', but arms are 0 to 4"),
    ],
)
def test_what_an_agent_does_wrong_is_one_sentence(change, message):
    """It names the agent, the client, the method and the place."""

    def broken(num_arms, seed):
        agent = Cycle(num_arms, seed)
        vars(agent).update(change)
        return agent

    with pytest.raises(InputError, match=message):
        simulate([broken, *COMPILED[1:]], teachers="none", horizon=20)


def test_arms_of_numpy_are_whole_numbers():
    """Whatever numpy calls a whole number is an arm."""

    def make(num_arms, seed):
        agent = Cycle(num_arms, seed)
        agent.select = lambda: np.int64(2)
        return agent

    assert simulate(make, teachers="none", horizon=5, runs=1)["pulls"].values[0, 0, :, -1, 2].tolist() == [5] * 5


def test_a_maker_that_returns_the_same_object_again_is_refused():
    """For two clients, in two runs and in a check: the object would have learned before."""
    same = Cycle(5, 0)
    for clients in ([lambda *_: same] * 5, [lambda *_: same, *COMPILED[1:]]):
        with pytest.raises(InputError, match="returned the same object as before, which has learned: return a new one"):
            simulate(clients, teachers="none", horizon=5)
    with pytest.raises(InputError, match="returned the same object as before"):
        tutelage.check_agent(lambda *_: same)


def test_binary_reveals_are_0_and_1_and_a_saved_result_keeps_them(tmp_path):
    """An agent sees only 0 and 1 of observed fractions and of gamma; their mean is gamma; a file is simulated again."""
    seen = []

    def make(num_arms, seed):
        agent = Cycle(num_arms, seed)
        agent.update = lambda arm, reward: seen.append(reward)
        return agent

    simulate(make, teachers="tal(gamma1=0.3)", horizon=400, runs=1, binary_reveals=True)
    assert set(seen) == {0.0, 1.0}
    assert binomtest(int(sum(seen)), len(seen), 0.3).pvalue > 1e-6
    result = simulate("agent(make=ucb1)", teachers=["blt"], runs=1, binary_reveals=True)
    assert result.attrs["command"].endswith("--binary-reveals")
    tutelage.save(result, tmp_path / "result.nc")
    assert tutelage.verify(tmp_path / "result.nc").reproduced
    assert_equal_runs(result, simulate("ucb1", teachers=["blt"], runs=1, binary_reveals=True))
    assert not result["cost"].equals(simulate("ucb1", teachers=["blt"], runs=1)["cost"])
    with pytest.raises(InputError, match="Invalid binary_reveals=1: use True or False"):
        simulate(make, binary_reveals=1)
    with pytest.raises(InputError, match="No client can leap with binary reveals"):
        simulate("ucb1", binary_reveals=True, engine="leap")


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (Cycle(3, 0), "is an agent, but each run needs a new one with a seed of its own"),
        (lambda num_arms, seed: 7, "7 is not an agent"),
        (lambda num_arms, seed: Cycle, "is not an agent"),
        (lambda num_arms: Cycle(num_arms, 0), r"cannot be made: TypeError.*takes 1 positional argument but 2"),
        ("agent(make=nothing.such:here)", "The agent 'nothing.such:here' cannot be imported"),
        ("agent(make=usb1)", "Unknown policy 'usb1'"),
        ("agent", "needs make="),
    ],
)
def test_what_is_not_a_maker_is_refused(client, message):
    """An agent, a maker of something else or with other arguments, and names of nothing."""
    with pytest.raises(InputError, match=message):
        simulate(client, horizon=2)


def test_interrupts_in_an_agent_are_passed_on():
    """Ctrl-C while an agent computes is not the agent's error."""

    def make(num_arms, seed):
        agent = Cycle(num_arms, seed)
        agent.select = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
        return agent

    request = tutelage.make_request("paper", "none", make, horizon=10, runs=1)
    with pytest.raises(KeyboardInterrupt):
        simulate_run(request, 0, 0)


def test_runs_with_agents_can_be_cancelled():
    """A run ends soon after it was cancelled, long before its horizon."""

    class AfterSomeLooks:
        looks = itertools.count()

        def is_set(self):
            return next(self.looks) > 2

    request = tutelage.make_request("paper", "none", Cycle, horizon=10**9, runs=1)
    with pytest.raises(Cancelled):
        simulate_run(request, 0, 0, cancel=AfterSomeLooks())


def test_a_result_names_its_agents_and_can_be_verified(tmp_path):
    """With packages and versions; agents that have a name are made again from the saved file."""
    result = simulate("agent(make=ucb1)", teachers=["none"], runs=1)
    assert set(result["policy_label"].values) == {"agent(make=ucb1)"}
    assert "--clients 'agent(make=ucb1)'" in result.attrs["command"]
    assert '"numpy"' in result.attrs["agents"]
    tutelage.save(result, tmp_path / "result.nc")
    assert tutelage.verify(tmp_path / "result.nc").reproduced
    unnamed = simulate(lambda num_arms, seed: Cycle(num_arms, seed), teachers=["none"], runs=1, horizon=9)  # noqa: PLW0108
    assert unnamed.attrs["command"] == ""
    with pytest.raises(InputError, match="cannot be imported"):
        tutelage.verify(unnamed)
    assert "agents" not in simulate(COMPILED, horizon=9, runs=1).attrs


def test_makers_can_be_sent_to_other_processes():
    """A named maker is pickled by its name; agents are in no list of policies."""
    policy = AgentPolicy.of(PolicyMaker("ts"))
    again = pickle.loads(pickle.dumps(policy))  # noqa: S301
    assert again == policy == POLICIES.parse(POLICIES.spec(policy))
    assert "agent" not in list(POLICIES)


def test_a_pair_of_functions_and_gymnasium_agents_are_adapted():
    """They select and update as an agent does."""
    seen = []

    class Tabular:
        def get_action(self, obs):
            return obs + 2

        def update(self, obs, action, reward, terminated, next_obs):
            seen.append((obs, action, reward, terminated, next_obs))

    for thing in ((lambda: 2, lambda arm, reward: seen.append((0, arm, reward, True, 0))), Tabular()):
        agent = adapt(thing, 3)
        assert agent.select() == 2
        agent.update(2, 0.5)
    assert seen == [(0, 2, 0.5, True, 0)] * 2
