"""Correlated rewards: shocks by round, means as they are, and the same numbers in plain Python and compiled."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from tests import reference
from tests.distributions.test_distributions import reference as first_value_above
from tests.random_games import assert_equal, make_samples, run_engine
from tests.simulated_run import simulate_once

from tutelage import simulate
from tutelage.conditions import Conditions
from tutelage.distributions import DISTRIBUTIONS, parse_distribution
from tutelage.distributions.base import reward_variances
from tutelage.errors import InputError
from tutelage.instances import Instance
from tutelage.policies import POLICIES
from tutelage.seeding import shock_key
from tutelage.teachers import TEACHERS

RISK = 1e-7  # of each of the tests of frequencies, about fifty
MEANS = np.array([[0.5, 0.2], [0.3, 0.6], [0.8, 0.5], [0.1, 0.4]])


class SplitMix64:
    """Steele, Lea and Flood's generator, number by number."""

    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        return self.mixed(self.state)

    @staticmethod
    def mixed(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        return z ^ (z >> 31)


def plain_shocks(key, source, rounds):
    """The shocks of a source in rounds 1, 2, ..., from two numbers of the generator in each."""
    mixed = SplitMix64.mixed
    generator = SplitMix64(mixed((key + mixed(source + 1)) % 2**64))
    generator.state += 0x9E3779B97F4A7C15  # numbers 2t and 2t + 1, counted from 0, are those of round t
    shocks = []
    for _ in range(rounds):
        first, second = generator.next() >> 11, generator.next() >> 11
        radius = math.sqrt(-2 * math.log((first + 1) * 2.0**-53))
        shocks.append(radius * math.cos(second * (math.tau * 2.0**-53)))
    return shocks


def play_plain(instance, groups, by_arm, correlation, T, seed, server, acts=reference.acts_always):
    """Play UCB1 clients with correlated rewards of 0 and 1, round by round in plain Python."""
    M, K = instance.local_means.shape
    key = int(np.random.SeedSequence(seed, spawn_key=(0, 2)).generate_state(1, np.uint64)[0])
    shocks = [[plain_shocks(key, group * K + arm, T) for arm in range(K)] for group in range(max(groups) + 1)]

    def draw(m, k, rng, t):
        common = shocks[groups[m]][k if by_arm else 0][t - 1]
        value = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * rng.standard_normal()
        return 1.0 if 0.5 * math.erfc(-value * math.sqrt(0.5)) >= 1.0 - instance.local_means[m, k] else 0.0

    rewards, policies = ([reference.generator(seed, 0, 1, m, purpose) for m in range(M)] for purpose in (0, 1))
    clients = [reference.UCB1(K) for _ in range(M)]
    return reference.play(clients, server, rewards, policies, draw, T, acts)


@pytest.mark.parametrize(
    ("spec", "groups", "by_arm"),
    [
        ("correlated(0.5)", (0, 0, 0, 0), False),
        ("correlated(0.5,dependence=x;y;x;z)", (0, 1, 0, 2), False),
        ("correlated(0.5,shocks=arm,dependence=x;y;x;y)", (0, 1, 0, 1), True),
    ],
)
def test_engine_equals_plain_python(spec, groups, by_arm):
    """The engine goes client by client, the reference round by round: the same rewards, of consulted teachers too."""
    instance = Instance("small", MEANS, np.full(4, 0.25), spec)
    T = 3000
    stage = reference.ObservedRewards(4, 2, T, (0.25,) * 4)
    game = play_plain(instance, groups, by_arm, 0.5, T, 7, reference.AlgorithmTwo(stage, 1.0, 0.0))
    assert_equal(run_engine(instance, ["ucb1"] * 4, TEACHERS.parse("twl"), T, 7, 0), game, T)


def test_a_client_that_rests_misses_the_shock():
    """The shock belongs to the round, not to the client's own pull: clients that stop change nothing for others."""
    instance = Instance("small", MEANS, np.full(4, 0.25), "correlated(0.9)", conditions=Conditions(stops=((1, 5),)))
    game = play_plain(
        instance, (0,) * 4, False, 0.9, 200, 3, reference.FixedTarget(None), lambda m, t: m != 1 or t <= 5
    )
    assert_equal(run_engine(instance, ["ucb1"] * 4, TEACHERS.parse("none"), 200, 3, 0), game, 200)


def observe(spec, means, T=50_000, seed=1):
    """The rewards [M, T] of clients with one arm."""
    means = np.array(means)[:, None]
    instance = Instance("one arm", means, np.full(len(means), 1 / len(means)), spec)
    policies = [POLICIES.parse("ucb1")] * len(means)
    return simulate_once(instance, policies, TEACHERS.parse("none"), horizon=T, seed=seed, trace=True).trace.observed


def assert_frequency(successes, probability):
    """Assert that the number of successes is as likely as not to be this far from its mean but with RISK."""
    assert stats.binomtest(int(successes.sum()), successes.size, probability).pvalue > RISK


def both(mean, other, correlation):
    """P(X = X' = 1) of two rewards of 0 and 1 under a Gaussian copula."""
    bounds = stats.norm.ppf([mean, other])
    return float(stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(bounds))


@pytest.mark.parametrize("correlation", [0.25, 0.8])
def test_same_round_rewards_are_correlated_as_stated(correlation):
    """Means are the local means; pairs of a group have the copula's law, other pairs and rounds are independent."""
    means, groups = (0.5, 0.5, 0.2, 0.9, 0.6), "aabab"
    rewards = observe(f"correlated({correlation},dependence={';'.join(groups)})", means)
    for client, mean in enumerate(means):
        assert_frequency(rewards[client], mean)
        assert_frequency(rewards[client, ::2] * rewards[client, 1::2], mean * mean)
    for one, two in itertools.combinations(range(5), 2):
        shared = correlation if groups[one] == groups[two] else 0.0
        assert_frequency(rewards[one] * rewards[two], both(means[one], means[two], shared))
        assert_frequency(rewards[one, ::2] * rewards[two, 1::2], means[one] * means[two])


def test_correlation_of_equal_coins_is_the_arcsine():
    """For means of 1/2 the correlation of rewards is 2 / pi arcsin(r), as the documentation says."""
    for correlation in (0.1, 0.25, 0.5):
        rewards = observe(f"correlated({correlation})", (0.5, 0.5))
        assert_frequency(rewards[0] * rewards[1], 0.25 * (1 + 2 / math.pi * math.asin(correlation)))
    same = observe("correlated(1)", (0.5, 0.5))
    assert np.array_equal(same[0], same[1])


def plain_draws(spec, arms, rounds=20_000):
    """Rewards [2, rounds] of two clients that pull these arms in every round, drawn in plain Python."""
    distribution = parse_distribution(spec)
    instance = Instance("two", np.full((2, 2), 0.5), np.full(2, 0.5), distribution)
    arrays = instance.reward_arrays()._replace(shock_key=shock_key(2, 0))
    streams = [np.random.default_rng(client) for client in range(2)]
    return np.array(
        [
            [distribution.draw(arrays._replace(round=t), client, arms[client], streams[client]) for client in range(2)]
            for t in range(1, rounds + 1)
        ]
    ).T


def test_a_round_or_each_of_its_arms_has_a_shock():
    """With shocks=arm, rewards of different arms are independent; otherwise they share the round's shock."""
    for spec, arms, shared in (
        ("correlated(0.9,shocks=arm)", (1, 1), 0.9),
        ("correlated(0.9,shocks=arm)", (0, 1), 0.0),
        ("correlated(0.9)", (0, 1), 0.9),
    ):
        first, second = plain_draws(spec, arms)
        assert_frequency(first, 0.5)
        assert_frequency(first * second, both(0.5, 0.5, shared))


def test_empirical_rewards_are_quantiles_of_what_was_observed():
    """With correlation 1 all clients get the same quantile, each of its own observed rewards."""
    distribution = parse_distribution("correlated(1,rewards=empirical)")
    instance = Instance("observed", MEANS, np.full(4, 0.25), distribution, samples=make_samples(MEANS))
    arrays = instance.reward_arrays()._replace(shock_key=shock_key(5, 0))
    for t, common in enumerate(plain_shocks(int(arrays.shock_key[0]), 0, 300), start=1):
        for client, arm in itertools.product(range(4), range(2)):
            reward = distribution.draw(arrays._replace(round=t), client, arm, np.random.default_rng(t))
            assert reward == first_value_above(arrays, client * 2 + arm, stats.norm.cdf(common))
    variances = reward_variances(parse_distribution("empirical"), arrays)
    assert np.array_equal(reward_variances(distribution, arrays), variances)


def test_results_do_not_depend_on_workers_or_runs():
    """Run r is the same with one thread, two threads or two processes, and of 2 runs or of 4."""
    instance = "planted:clients=5,arms=2,seed=1,rewards=correlated(0.5,dependence=a;a;b;b;b)"
    options = {"horizon": 2000, "seed": 4, "checkpoints": 3}
    whole = simulate(instance, ["twl", "none"], "ucb1", runs=4, workers=1, **options)
    for executor in ("threads", "processes"):
        other = simulate(instance, ["twl", "none"], "ucb1", runs=4, workers=2, executor=executor, **options)
        assert whole.equals(other)
    fewer = simulate(instance, ["twl", "none"], "ucb1", runs=2, workers=1, **options)
    assert fewer.pulls.equals(whole.pulls.sel(run=fewer.run))


@pytest.mark.parametrize("dependence", ["a", "a;b", "a;b;c;d;e", "a;;b;c", "independent", ""])
def test_groups_name_all_clients(dependence):
    """Groups that do not name each client of the instance are refused, with what was given."""
    with pytest.raises(InputError, match=r"Invalid dependence=.* for \d clients?: use any, or the name"):
        Instance("small", MEANS, np.full(4, 0.25), DISTRIBUTIONS.cls("correlated")(dependence=dependence))


@pytest.mark.parametrize("spec", ["correlated(1.1)", "correlated(-0.1)", "correlated(rewards=beta)", "correlated(x)"])
def test_only_correlations_and_quantile_functions(spec):
    """The correlation is in [0, 1], and rewards have a quantile function."""
    with pytest.raises(InputError):
        parse_distribution(spec)


def test_spec_round_trip():
    """The SPEC with all parameters reads back equal."""
    distribution = parse_distribution("correlated(0.3,dependence=a;b;a,shocks=arm)")
    assert parse_distribution(DISTRIBUTIONS.spec(distribution)) == distribution
