"""The engine's rivals at the same task: plain Python, MABWiser, PyMAB, River and SMPyBandits.

The task is one client of an instance with Bernoulli rewards: choose an arm, draw its reward, learn from it,
step after step.  Every loop is written for its library, so that no adapter is timed with it, and every
reward is drawn by the same line from the same kind of generator.  A library is imported when it is needed;
a missing one is reported in the table and is not an error.  PyMAB's loop is its own, compiled from Rust; it draws
the rewards, too, and stores every step.

The libraries' policies under these names are compared:

- UCB1: mean + sqrt(2 log t / n) in all of them.
- epsilon-greedy: epsilon_t = min(1, K / t) in plain Python and SMPyBandits, and in River, where it is set
  before each step; PyMAB gets K / (K + t), its nearest schedule; MABWiser has a constant epsilon only, so it gets
  the mean of these.  SMPyBandits exploits the largest *sum* of rewards, not the largest mean.
- Thompson sampling: Beta(1, 1) priors in all of them.
"""

import contextlib
import functools
import importlib
import importlib.util
import io
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tutelage.errors import InputError

POLICIES = ("ucb1", "eps-greedy", "ts")

Play = Callable[[str, Sequence[float], int], float]


@dataclass(frozen=True)
class Rival:
    """A rival: ``play(policy, means, steps)`` runs the task and returns the sum of the rewards.

    ``play`` is None if the library cannot be used; ``note`` then says why.
    """

    name: str
    play: Play | None
    note: str = ""


def list_rivals() -> list[Rival]:
    """Return all rivals, including those that cannot be used."""
    return [
        Rival("plain Python", play_plain),
        _library("MABWiser", "mabwiser", "mabwiser.mab", play_mabwiser),
        _library("PyMAB", "pymab", "pymab.policies", play_pymab),
        _library("River", "river", "river.bandit", play_river),
        _library("SMPyBandits", "SMPyBandits", "SMPyBandits.Policies", play_smpybandits),
    ]


def import_library(package: str, module: str) -> Any:
    """Import a module of a library.  Raises ``InputError`` with the command that installs the library."""
    if importlib.util.find_spec(package) is None:
        raise InputError(f"{package} is not installed: pip install {package}.")
    with _quiet():
        _import_smpybandits(module) if package == "SMPyBandits" else importlib.import_module(module)
    return sys.modules[module]


def _library(name: str, package: str, module: str, play: Play) -> Rival:
    if importlib.util.find_spec(package) is None:
        return Rival(name, None, f"not installed: pip install {package}")
    name = f"{name} {metadata.version(package)}"
    try:
        with _quiet():
            _import_smpybandits(module) if package == "SMPyBandits" else importlib.import_module(module)
    except ImportError as error:
        return Rival(name, None, f"cannot be imported: {error}")
    return Rival(name, play)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep an import from printing, warning and changing numpy's settings; SMPyBandits does all three."""
    output = io.StringIO()
    with (
        warnings.catch_warnings(action="ignore"),
        np.errstate(),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        yield


def _import_smpybandits(module: str) -> None:
    """Import SMPyBandits, which needs ``scipy.special.btdtri``, although newer versions of scipy lack it.

    ``betaincinv``, which computes the same, replaces it during the import.  No policy measured here calls it.
    """
    special: Any = importlib.import_module("scipy.special")
    lacks = not hasattr(special, "btdtri")
    if lacks:
        special.btdtri = special.betaincinv
    try:
        importlib.import_module(module)
    finally:
        if lacks:
            del special.btdtri


def make_generator(seed: int) -> np.random.Generator:
    """Return the kind of generator from which all rewards are drawn."""
    return np.random.Generator(np.random.SFC64(seed))


def epsilon(num_arms: int, step: int) -> float:
    """Return epsilon_t = min(1, K / t)."""
    return min(1.0, num_arms / step)


# ------------------------------------------------------------------------------------------- the loops


@functools.cache
def load_reference() -> ModuleType:
    """Import tests/reference.py of this checkout, from wherever the benchmark is started."""
    repository = str(Path(__file__).parents[1])
    if repository not in sys.path:
        sys.path.insert(0, repository)
    return importlib.import_module("tests.reference")


def make_plain_client(policy: str, num_arms: int) -> Any:
    """Return a client of tests/reference.py."""
    classes = {"ucb1": "UCB1", "eps-greedy": "EpsilonGreedy", "ts": "Thompson"}
    return getattr(load_reference(), classes[policy])(num_arms)


def play_plain(policy: str, means: Sequence[float], steps: int) -> float:
    """Run one client of tests/reference.py."""
    client, stream = make_plain_client(policy, len(means)), make_generator(1)
    random, total = make_generator(2).random, 0.0
    for t in range(1, steps + 1):
        arm = client.choose(t, stream)
        reward = 1.0 if random() < means[arm] else 0.0
        client.learn(arm, reward, stream)
        total += reward
    return total


def play_plain_taught(
    policy: str, algorithm: str, gammas: tuple[float, float], local_means: Sequence[Sequence[float]], horizon: int
) -> None:
    """Run all clients with ``AlgorithmOne`` (TAL) or ``AlgorithmTwo`` (TWL) of tests/reference.py."""
    num_clients, num_arms = len(local_means), len(local_means[0])
    weights = (1.0 / num_clients,) * num_clients
    history = load_reference().ObservedRewards(num_clients, num_arms, horizon, weights)
    server = getattr(load_reference(), algorithm)(history, *gammas)
    clients = [make_plain_client(policy, num_arms) for _ in local_means]
    streams = [make_generator(10 + client) for client in range(num_clients)]
    draws = [make_generator(20 + client).random for client in range(num_clients)]
    all_clients = range(num_clients)
    for t in range(1, horizon + 1):
        arms = [clients[client].choose(t, streams[client]) for client in all_clients]
        observed = [1.0 if draws[client]() < local_means[client][arms[client]] else 0.0 for client in all_clients]
        shown = server.round(t, arms, observed)
        for client in all_clients:
            clients[client].learn(arms[client], shown[client], streams[client])


def play_mabwiser(policy: str, means: Sequence[float], steps: int) -> float:
    """Run MABWiser step by step; it needs a first pull of every arm before it predicts."""
    mab = importlib.import_module("mabwiser.mab")
    arms = list(range(len(means)))
    constant = sum(epsilon(len(arms), t) for t in range(1, steps + 1)) / steps
    agent = mab.MAB(
        arms,
        {
            "ucb1": mab.LearningPolicy.UCB1(alpha=1),
            "eps-greedy": mab.LearningPolicy.EpsilonGreedy(epsilon=constant),
            "ts": mab.LearningPolicy.ThompsonSampling(),
        }[policy],
        seed=1,
    )
    random, total = make_generator(2).random, 0.0
    agent.fit(arms, [1.0 if random() < means[arm] else 0.0 for arm in arms])
    for _ in range(steps - len(arms)):
        arm = agent.predict()
        reward = 1.0 if random() < means[arm] else 0.0
        agent.partial_fit(np.array([arm]), np.array([reward]))  # faster than lists
        total += reward
    return total


def play_pymab(policy: str, means: Sequence[float], steps: int) -> float:
    """Run PyMAB's compiled experiment of one policy."""
    pymab, policies = (importlib.import_module(name) for name in ("pymab", "pymab.policies"))
    num_arms = len(means)
    agent = {
        "ucb1": lambda: policies.UCBPolicy(n_arms=num_arms),
        "eps-greedy": lambda: policies.DecayingEpsilonGreedyPolicy(
            n_arms=num_arms, initial_epsilon=1.0, min_epsilon=0.0, decay_rate=1.0 / num_arms
        ),
        "ts": lambda: policies.BernoulliThompsonSamplingPolicy(n_arms=num_arms),
    }[policy]()
    experiment = pymab.Experiment(
        environment=pymab.BanditEnvironment(means=np.array(means), reward_model=pymab.BernoulliReward()),
        policies={policy: agent},
        config=pymab.ExperimentConfig(horizon=steps, n_replicates=1, seed=1, backend="rust"),
    )
    return float(experiment.run().rewards.sum())


def play_river(policy: str, means: Sequence[float], steps: int) -> float:
    """Run River's bandit policies."""
    bandit = importlib.import_module("river.bandit")
    arms = list(range(len(means)))
    random, total = make_generator(2).random, 0.0
    if policy == "eps-greedy":
        agent = bandit.EpsilonGreedy(epsilon=1.0, burn_in=1, seed=1)
        for t in range(1, steps + 1):
            agent.epsilon = epsilon(len(arms), t)
            arm = agent.pull(arms)
            reward = 1.0 if random() < means[arm] else 0.0
            agent.update(arm, reward)
            total += reward
        return total
    if policy == "ucb1":
        agent = bandit.UCB(delta=1, seed=1)
    else:
        agent = bandit.ThompsonSampling(reward_obj=importlib.import_module("river.proba").Beta(), seed=1)
    for _ in range(steps):
        arm = agent.pull(arms)
        reward = 1.0 if random() < means[arm] else 0.0
        agent.update(arm, reward)
        total += reward
    return total


def play_smpybandits(policy: str, means: Sequence[float], steps: int) -> float:
    """Run SMPyBandits' policies, which draw from the global generators of numpy and Python."""
    policies = importlib.import_module("SMPyBandits.Policies")
    num_arms = len(means)
    agent = {
        "ucb1": lambda: policies.UCB(num_arms),
        "eps-greedy": lambda: policies.EpsilonDecreasing(num_arms, epsilon=float(num_arms)),
        "ts": lambda: policies.Thompson(num_arms),
    }[policy]()
    agent.startGame()
    random, total = make_generator(2).random, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):  # it divides by the pulls of arms never pulled
        for _ in range(steps):
            arm = agent.choice()
            reward = 1.0 if random() < means[arm] else 0.0
            agent.getReward(arm, reward)
            total += reward
    return total
