"""Adapters with the real libraries; each test is skipped where its library is not installed."""

import importlib
import importlib.util
import itertools
import random
import sys
from pathlib import Path

import numpy as np
import pytest

import tutelage
from tutelage.agents import adapt
from tutelage.agents.agent_policy import AgentPolicy

MEANS = (0.2, 0.8, 0.5)

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def _load_agents():
    """Load the makers of the benchmark, with its neighbours importable."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("real_agents")
    finally:
        sys.path.remove(str(BENCHMARKS))


AGENTS, MODULES = _load_agents().AGENTS, _load_agents().MODULES
ALL = [(library, name) for library, agents in AGENTS.items() for name in agents]


def make(library, name, seed=5):
    """Make an agent, with the global generators seeded as a run seeds them."""
    module = MODULES[library]
    if module and importlib.util.find_spec(module) is None:
        pytest.skip(f"{library} is not installed")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    return adapt(AGENTS[library][name](3, seed), 3, seed)


def play(agent, rounds=300):
    """Return the arms that an agent selects while it sees rewards of 0 and 1."""
    rewards, arms = np.random.default_rng(0), []
    for _ in range(rounds):
        arm = agent.select()
        assert arm in range(3)
        agent.update(int(arm), float(rewards.random() < MEANS[arm]))
        arms.append(int(arm))
    return arms


@pytest.mark.filterwarnings("ignore")  # the libraries' own
@pytest.mark.parametrize(("library", "name"), ALL)
def test_an_unmodified_agent_plays_and_repeats(library, name):
    """It finds the best arm and selects the same arms again with the same seed."""
    rounds = 100 if library == "bayesianbandits" else 300  # which takes 8 ms a round
    arms = play(make(library, name), rounds)
    assert play(make(library, name), rounds) == arms
    if name not in {"UCB1, cold", "Exp3"}:
        assert max(range(3), key=arms.count) == 1


@pytest.mark.filterwarnings("ignore")
def test_mabwisers_ucb1_started_cold_never_leaves_its_first_arm():
    """MABWiser gives an arm without rewards no bonus."""
    assert set(play(make("MABWiser", "UCB1, cold"))) == {0}


@pytest.mark.filterwarnings("ignore")
def test_libraries_play_together_next_to_compiled_policies():
    """One run with four libraries and a compiled policy repeats, and names the versions of all."""
    names = [("MABWiser", "UCB1"), ("River", "UCB"), ("SMPyBandits", "UCB"), ("PyMAB", "UCBPolicy")]
    makers = [AGENTS[library][name] for library, name in names if make(library, name)]
    results = [
        tutelage.simulate("paper", ["blt", "none"], [*makers, "ucb1"], horizon=150, runs=2, executor="threads")
        for _ in range(2)
    ]
    assert results[0].identical(results[1])
    for package in ("mabwiser", "river", "SMPyBandits", "pymab"):
        assert f'"{package}": ' in results[0].attrs["agents"]


def test_names_of_makers_differ():
    """Two makers of one class with other options are two agents in a result."""
    names = [AgentPolicy.of(maker).make for agents in AGENTS.values() for maker in agents.values()]
    assert all(one != other for one, other in itertools.combinations(names, 2))
