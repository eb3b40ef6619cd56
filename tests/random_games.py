"""Random games, played by the engine and by the plain-Python reference."""

import numpy as np
from hypothesis import strategies as st

from tests import reference
from tests.simulated_run import simulate_once
from tutelage.distributions import parse_distribution
from tutelage.distributions.base import Samples
from tutelage.instances.base import Instance
from tutelage.policies import POLICIES
from tutelage.request import make_problem

POLICY_SPECS = ["ucb1", "eps-greedy", "eps-greedy(c=5,d=0.5)", "ts", "ts(update=fractional)"]


def reference_policy(spec, K):
    """Return the plain-Python transcription of a policy."""
    return {
        "ucb1": lambda: reference.UCB1(K),
        "eps-greedy": lambda: reference.EpsilonGreedy(K),
        "eps-greedy(c=5,d=0.5)": lambda: reference.EpsilonGreedy(K, 5.0, 0.5),
        "ts": lambda: reference.Thompson(K),
        "ts(update=fractional)": lambda: reference.Thompson(K, "fractional"),
    }[spec]()


@st.composite
def games(draw):
    """Draw a problem: means, weights, reward distribution, mix of policies, horizon, seed."""
    M, K = draw(st.one_of(st.integers(1, 4), st.integers(6, 12))), draw(st.integers(1, 5))
    T = draw(st.one_of(st.integers(1, 12), st.integers(13, 300), st.integers(1500, 3000)))
    spread = draw(st.sampled_from([0.0, 0.3, 1.0]))  # wide gaps let learning end within few rounds
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    base = rng.random(K) if spread < 1 else np.zeros(K)
    means = np.clip((1 - spread) * base + spread * rng.random((M, K)), 0, 1)
    if draw(st.booleans()):
        means = np.round(means)  # rewards 0 and 1 for certain
    weights = np.full(M, 1 / M)
    if draw(st.booleans()):
        weights = rng.random(M) + 0.1
        weights /= weights.sum()
    distribution = draw(st.sampled_from(["bernoulli", "beta(4)", "constant", "empirical"]))
    mix = draw(st.lists(st.sampled_from(POLICY_SPECS), min_size=M, max_size=M))
    return means, weights, distribution, mix, T, draw(st.integers(0, 2**40))


def make_samples(means):
    """Make three observed values around every mean, the middle one twice."""
    cells = [sorted({max(0.0, mu - 0.1), mu, min(1.0, mu + 0.1)}) for mu in means.ravel()]
    shares = [[1.0] if len(c) == 1 else [0.5, 1.0] if len(c) == 2 else [0.25, 0.75, 1.0] for c in cells]
    offsets = np.cumsum([0, *(len(c) for c in cells)])
    return Samples(offsets.astype(np.int64), np.concatenate(cells), np.concatenate(shares))


def make_instance(means, weights, distribution):
    """Make the instance of a random problem."""
    samples = {"samples": make_samples(means)} if distribution == "empirical" else {}
    return Instance("random", means, weights, parse_distribution(distribution), **samples)


def play_reference(instance, distribution, mix, server_of, T, seed, run, acts=reference.acts_always):
    """Play the game in plain Python; ``server_of(stage, generators)`` makes the server."""
    M, K = instance.num_clients, instance.num_arms
    stage = reference.ObservedRewards(M, K, T, tuple(instance.weights.tolist()))
    rewards = [reference.generator(seed, run, 1, m, 0) for m in range(M)]
    policies = [reference.generator(seed, run, 1, m, 1) for m in range(M)]
    plain_rewards = ("beta", 4.0) if distribution.startswith("beta") else (distribution,)
    if distribution.startswith("gaussian"):
        plain_rewards = ("gaussian", instance.rewards.sigma)
    samples = instance.samples

    def draw(m, k, rng, t):
        observed = None
        if distribution == "empirical":
            start, end = samples.offsets[m * K + k], samples.offsets[m * K + k + 1]
            observed = samples.values[start:end].tolist(), samples.cumulative[start:end].tolist()
        means = [phase.local_means for phase in instance.phases if phase.after < t][-1]
        return reference.draw_reward(plain_rewards, float(means[m][k]), observed, rng)

    clients = [reference_policy(spec, K) for spec in mix]
    return reference.play(clients, server_of(stage, rewards), rewards, policies, draw, T, acts)


def assert_equal(outcome, game, T):
    """Assert that every pull, revealed reward, cost and event is the same."""
    assert outcome.trace.arms.tolist() == game.arms
    assert outcome.trace.observed.tolist() == game.observed
    assert outcome.trace.revealed.tolist() == game.revealed
    assert outcome.costs.tolist() == game.costs
    counts = np.array(
        [[[arms[:t].count(k) for k in range(outcome.pulls.shape[2])] for t in (1, T)] for arms in game.arms]
    )
    assert outcome.pulls[:, [0, T - 1]].tolist() == counts.tolist()
    assert [(e.round, list(e.active_arms), e.target) for e in outcome.events] == game.events
    assert outcome.target == game.target
    noticed = [
        reference.first_noticed(*client, outcome.pulls.shape[2])
        for client in zip(game.arms, game.revealed, strict=True)
    ]
    assert outcome.noticed_in.tolist() == noticed


def run_engine(instance, mix, teacher, T, seed, run, **options):
    """Play a random problem with the engine, every round a checkpoint."""
    return simulate_once(
        instance,
        [POLICIES.parse(spec) for spec in mix],
        teacher,
        horizon=T,
        seed=seed,
        run=run,
        checkpoints=np.arange(1, T + 1),
        trace=True,
        **options,
    )


def draw_exclusions(data, M, T):
    """Draw some clients, never all, each with the round after which it is excluded."""
    leaving = data.draw(st.lists(st.integers(0, M - 1), max_size=M - 1, unique=True))
    return {m: data.draw(st.integers(1, max(1, T - 1))) for m in leaving} if T > 1 else {}


def assert_contract(instance, distribution, mix, teacher, T, seed, exclude, acts=reference.acts_always):
    """Assert that engine and plain runner agree in everything, the teacher's state included."""
    servers = []

    def server_of(stage, generators):
        problem = make_problem(instance, T, teacher)
        servers.append(reference.ContractServer(teacher, problem, reference.generator(seed, 0, 0), exclude))
        return servers[0]

    plain = play_reference(instance, distribution, mix, server_of, T, seed, 0, acts)
    outcome = run_engine(instance, mix, teacher, T, seed, 0, exclude=exclude)
    assert_equal(outcome, plain, T)
    assert outcome.report == teacher.report(servers[0].state)
