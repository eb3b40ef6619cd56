"""The test for dependence between clients: seldom wrong, quick where there is dependence, and whatever the batches."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.simulated_run import simulate_once
from tutelage import dependence_test
from tutelage.dependence_test import (
    DependenceTest,
    PullRounds,
    confidence_radius,
    describe_finding,
    find_dependence,
    log_gains,
)
from tutelage.distributions import parse_distribution
from tutelage.instances import Instance
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS

MEANS = np.array([[0.5, 0.3], [0.4, 0.6], [0.7, 0.5], [0.2, 0.5]])


def play(correlation, *, teacher="none", T=3000, seed=0, dependence="any"):
    """A trace of four UCB1 clients with correlated rewards."""
    rewards = parse_distribution(f"correlated({correlation},dependence={dependence})")
    instance = Instance("small", MEANS, np.full(4, 0.25), rewards)
    policies = [POLICIES.parse("ucb1")] * 4
    return simulate_once(instance, policies, TEACHERS.parse(teacher), horizon=T, seed=seed, trace=True).trace


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_a_bet_is_fair_or_worse_for_independent_rewards(num_clients, seed):
    """Exactly, over all outcomes of a round: whatever the true means within the radii, no factor has a mean above 1."""
    rng = np.random.default_rng(seed)
    predictions, radii = rng.random(num_clients), 0.25 * rng.random(num_clients)
    # The mean of the factor is linear in each true mean, so its largest value is at ends of the intervals.
    means = np.clip(predictions + rng.choice([-1, 1, rng.uniform(-1, 1)], num_clients) * radii, 0, 1)
    takes_part = np.ones((1, num_clients), dtype=np.bool_)
    average = np.zeros((2, 8))
    for outcome in itertools.product((0.0, 1.0), repeat=num_clients):
        rewards = np.array(outcome)
        chance = np.prod(np.where(rewards == 1.0, means, 1.0 - means))
        average += chance * np.exp(log_gains(rewards[None], predictions[None], radii[None], takes_part)[0])
    assert np.all(average <= 1.0 + 1e-12)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_no_outcome_ruins_the_bettor(num_clients, seed):
    """Of a stake, at most that share of the capital is lost, for any rewards in [0, 1]; absent clients do not count."""
    rng = np.random.default_rng(seed)
    rewards = rng.choice([0.0, 1.0, rng.random()], num_clients)
    predictions, radii = rng.random(num_clients), 0.25 * rng.random(num_clients)
    takes_part = np.arange(num_clients) < rng.integers(2, num_clients + 1)
    gains = log_gains(rewards[None], predictions[None], radii[None], takes_part[None])
    assert np.all(gains >= np.log1p(-(0.5 ** np.arange(1, 9))) - 1e-12)
    few = [each[takes_part][None] for each in (rewards, predictions, radii, takes_part)]
    assert np.allclose(gains, log_gains(*few), atol=1e-14)


@pytest.mark.parametrize("mean", [0.5, 0.05])
def test_radius_holds_for_all_pulls_at_once(mean):
    """P(the mean of n coins is ever farther than r(n)) is at most the risk.  False alarm: 1e-7."""
    paths, pulls, risk = 2000, np.arange(1, 2001), 0.1
    means = np.cumsum(np.random.default_rng(1).random((paths, pulls.size)) < mean, axis=1) / pulls
    failed = int((np.abs(means - mean) > confidence_radius(pulls, risk)).any(axis=1).sum())
    assert failed <= stats.binom.isf(1e-7, paths, risk)
    assert confidence_radius(np.array([0]), risk) == 1.0


@pytest.mark.parametrize("teacher", ["none", "twl"])
def test_independent_clients_seldom_raise_an_alarm(teacher):
    """With a risk of 1/4 at most that share of games is called dependent.  False alarm of this test: 1e-7."""
    games = 40
    traces = [play(0.0, teacher=teacher, seed=seed, T=2000) for seed in range(games)]
    findings = [find_dependence(trace.arms, trace.observed, 2, risk=0.25) for trace in traces]
    assert all(finding.rounds > 1000 for finding in findings)
    alarms = sum(finding.noticed_after is not None for finding in findings)
    assert alarms <= stats.binom.isf(1e-7, games, 0.25)


@pytest.mark.parametrize("dependence", ["any", "a;b;c;a"])
def test_dependence_is_noticed(dependence):
    """A shock of all clients, or of two of the four, is noticed within a few thousand rounds, with its sign."""
    trace = play(0.7, dependence=dependence, T=6000)
    finding = find_dependence(trace.arms, trace.observed, 2)
    assert finding.noticed_after is not None
    assert finding.correlation > 0.05
    assert finding.evidence >= 2 / finding.risk
    assert "depend on each other" in describe_finding(finding, 4)


def test_opposite_rewards_are_noticed():
    """Clients that take rewards from each other are as dependent as clients that share them."""
    first = np.random.default_rng(1).random(1500) < 0.5
    rewards = np.stack((first, ~first)).astype(np.float64)
    finding = find_dependence(np.zeros(rewards.shape, dtype=np.int64), rewards, 1)
    assert finding.noticed_after is not None
    assert finding.correlation == pytest.approx(-1.0, abs=0.01)


def test_without_pairs_nothing_is_claimed():
    """One client, or clients that never act in the same round, or too few pulls: no rounds and no correlation."""
    trace = play(1.0, T=300)
    alone = trace.arms.copy()
    alone[np.arange(4)[:, None] != np.arange(300) % 4] = -1
    for arms, rewards in ((trace.arms[:1], trace.observed[:1]), (alone, trace.observed), (trace.arms[:, :100],) * 2):
        finding = find_dependence(arms, np.clip(rewards, 0.0, 1.0), 2)
        assert (finding.rounds, finding.correlation, finding.noticed_after) == (0, None, None)
    assert "too few pulls" in describe_finding(finding, 4)
    assert "no two clients" in describe_finding(finding, 1)


def plain_finding(arms, rewards, K, risk):
    """The log of the capital after all rounds, in plain Python, from the formulas of the documentation."""
    M = len(arms)
    counts, sums = [[0] * K for _ in range(M)], [[0.0] * K for _ in range(M)]
    capital = [[1.0] * 8 for _ in range(2)]

    def radius(n):
        variance = n / 4 + 5
        return math.sqrt(variance * math.log(variance / 5 * (2 * M * K / risk) ** 2)) / n if n else 1.0

    for t in range(arms.shape[1]):
        seen = [(m, arms[m, t]) for m in range(M) if arms[m, t] >= 0]
        bettors = [(m, k) for m, k in seen if radius(counts[m][k]) <= 0.25]
        c = {m: sums[m][k] / counts[m][k] for m, k in bettors}
        r = {m: radius(counts[m][k]) for m, k in bettors}
        pairs = list(itertools.combinations(c, 2))
        if pairs:
            common = sum((rewards[m, t] - c[m]) * (rewards[n, t] - c[n]) for m, n in pairs)
            slack = sum(r[m] * r[n] for m, n in pairs)
            far = {m: max(c[m], 1 - c[m]) for m in c}
            worst = sum(f * f for f in far.values()) / 2, sum(far[m] * far[n] for m, n in pairs)
            for sign in (0, 1):
                share = ((1 - 2 * sign) * common - slack) / (worst[sign] + slack)
                capital[sign] = [each * (1 + share / 2 ** (g + 1)) for g, each in enumerate(capital[sign])]
        for m, k in seen:
            counts[m][k] += 1
            sums[m][k] += rewards[m, t]
    return math.log(sum(map(sum, capital)) / 16)


def test_batches_equal_plain_python(monkeypatch):
    """The capital is that of a plain loop over rounds and pairs, in whatever batches rounds are added."""
    trace = play(0.3, T=700)
    arms = np.where(np.random.default_rng(1).random(trace.arms.shape) < 0.9, trace.arms, -1)
    wanted = plain_finding(arms, trace.observed, 2, 0.05)
    assert abs(wanted) > 0.01
    for cells in (1, 100, 1 << 20):
        monkeypatch.setattr(dependence_test, "_MOST_CELLS", cells)
        test = DependenceTest(4, 2, 0.05)
        test.add_rounds(arms.T, trace.observed.T)
        found = float(np.logaddexp.reduce(test._log_capital, axis=None)) - math.log(16)
        assert found == pytest.approx(wanted, rel=1e-9)


def test_a_round_ends_where_a_client_pulls_again():
    """Pulls in the order of a ledger: in step, they are the rounds of the trace; the last round waits for its end."""
    trace = play(0.5, T=1000)
    rounds = PullRounds(DependenceTest(4, 2), 4)
    for t in range(1000):
        for client in np.random.default_rng(t).permutation(4).tolist():
            rounds.add(client, int(trace.arms[client, t]), float(trace.observed[client, t]))
        if t % 100 == 37:
            rounds.test_finished()
    found, wanted = rounds.test_finished(), find_dependence(trace.arms[:, :999], trace.observed[:, :999], 2)
    assert (found.rounds, found.noticed_after) == (wanted.rounds, wanted.noticed_after)
    assert found.correlation == pytest.approx(wanted.correlation, rel=1e-9)
    assert found.evidence == pytest.approx(wanted.evidence, rel=1e-9)


def test_no_more_is_kept_than_the_last_counts():
    """Many rounds at once leave nothing of their size in memory, of which a server has one test for each campaign."""
    test = DependenceTest(3, 2)
    random = np.random.default_rng(0)
    test.add_rounds(random.integers(0, 2, (5_000, 3)), random.random((5_000, 3)))
    assert test.finding().rounds > 1_000
    arrays = [value for value in vars(test).values() if isinstance(value, np.ndarray)]
    assert sum((array if array.base is None else array.base).nbytes for array in arrays) < 1_000
