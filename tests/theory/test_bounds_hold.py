"""Every bound holds in simulation, and what it bounds grows like log T once learning has ended.

A bound is on an expectation, a run is a sample.  What makes a run is nearly the same every time: of the
bounds' events each fails with chance 1/T or less, and the rest is a sum of so many rewards that it varies by
less than the few per cent by which the closest bound here is above it.
"""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from tests.simulated_run import simulate_once

from tutelage.epoch_schedule import make_schedule
from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.theory import active_pulls_of_twl, guarantee, inactive_pulls_of_twl, overshoot, total_pulls_of_ucb1

UCB1, EPS = ("ucb1",) * 5, ("eps-greedy",) * 5
MIXED = ("ucb1", "eps-greedy", "ucb1", "eps-greedy(c=2,d=.5)", "ucb1")
CASES = [
    ("tal(gamma1=1,gamma2=0)", UCB1),
    ("twl(gamma1=1,gamma2=0)", UCB1),
    ("tal(gamma1=0,gamma2=0)", UCB1),
    ("tal(gamma1=0,gamma2=0)", EPS),
    ("twl(gamma1=0,gamma2=0)", MIXED),
]


def longest():
    """The longest horizon tried; the profile ``long`` also sees small gaps, which take long to tell."""
    return 10**7 if settings.get_current_profile_name() == "long" else 10**5


@functools.cache
def uniform(seed, rewards="bernoulli"):
    """One of the paper's random instances."""
    return load(f"uniform:clients=5,arms=5,seed={seed},rewards={rewards}")


def promised(instance, teacher, clients, horizon):
    """The theorem's numbers."""
    return guarantee(instance, TEACHERS.parse(teacher), [POLICIES.parse(each) for each in clients], horizon)


def play(instance, teacher, clients, horizon, *, run=0, checkpoints=None, trace=False):
    """One run."""
    return simulate_once(
        instance,
        [POLICIES.parse(each) for each in clients],
        TEACHERS.parse(teacher),
        horizon=horizon,
        seed=2,
        run=run,
        checkpoints=np.array([horizon] if checkpoints is None else checkpoints),
        trace=trace,
    )


def totals(outcome, instance):
    """Regret and cost [C] over all clients."""
    return (outcome.pulls * instance.gaps).sum(axis=(0, 2)), outcome.costs.sum(axis=0)


def ratios(bound, outcome, instance):
    """Bound over simulation, of regret and of cost."""
    regret, cost = totals(outcome, instance)
    return bound.regret.value / regret[-1], bound.cost.value / cost[-1]


def late(bound, outcome, instance):
    """Whether learning did not end on the best arm in time."""
    return outcome.target != instance.best_arm or outcome.decided_in > bound.decides_by


@pytest.mark.parametrize(("teacher", "clients"), CASES)
def test_bounds_hold_on_the_papers_instance(teacher, clients):
    """From the horizon on where it is not vacuous; and learning ends on the best arm by ``decides_by``."""
    instance = load("paper")
    shortest = promised(instance, teacher, clients, 1).needed_horizon
    for horizon in (shortest, 300_000):
        bound = promised(instance, teacher, clients, horizon)
        assert not bound.is_vacuous
        for run in range(2):
            outcome = play(instance, teacher, clients, horizon, run=run)
            assert min(ratios(bound, outcome, instance)) >= 1
            assert not late(bound, outcome, instance)


@pytest.mark.parametrize(("teacher", "clients"), CASES)
@pytest.mark.parametrize(("rewards", "count"), [("bernoulli", 40), ("beta(2)", 40), ("constant", 40)])
def test_bounds_hold_on_random_instances(teacher, clients, rewards, count):
    """On uniform instances with horizons, up to ``longest()``, from which on they are not vacuous.

    Nor are they idle.  Learning mostly ends in the epoch before psi_max, which is a quarter as long, and
    eps-greedy's band has 5/3 of the pulls: (5/4) / K in (4/3) K F rounds.  Half as much again is for the
    teaching.
    """
    found, too_late, shortest, seeds = [], 0, longest(), itertools.count()
    while len(found) < count:
        instance = uniform(next(seeds), rewards)
        horizon = promised(instance, teacher, clients, 1).needed_horizon
        if horizon <= longest():
            bound = promised(instance, teacher, clients, horizon)
            assert not bound.is_vacuous
            outcome = play(instance, teacher, clients, horizon)
            found.append(ratios(bound, outcome, instance))
            too_late += late(bound, outcome, instance)
            shortest = min(shortest, horizon)
    assert np.min(found) >= 1
    assert np.median(found) < 1.5 * 4 * (5 / 4) * (4 / 3)
    assert too_late <= stats.binom.isf(1e-6, count, 2 / shortest)  # 2 / T at most


@pytest.mark.parametrize(("teacher", "clients"), CASES)
def test_bounds_hold_where_they_are_vacuous(teacher, clients):
    """A horizon that is too short for learning to end makes a bound useless, not wrong."""
    vacuous = 0
    for seed in range(40):
        bound = promised(uniform(seed), teacher, clients, 10_000)
        outcome = play(uniform(seed), teacher, clients, 10_000)
        assert min(ratios(bound, outcome, uniform(seed))) >= 1
        vacuous += bound.is_vacuous
    assert vacuous > 20


@given(
    shape=st.tuples(st.integers(1, 6), st.integers(2, 6)),
    gammas=st.sampled_from([(1.0, 0.0), (0.0, 0.0), (0.9, 0.2), (0.5, 0.0), (0.3, 0.1)]),
    kind=st.sampled_from(["tal", "twl"]),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_bounds_hold_on_any_problem(shape, gammas, kind, seed, data):
    """Any numbers of clients and arms, weights, distributions, gammas and clients that a theorem covers."""
    num_clients, num_arms = shape
    gap = data.draw(st.floats(0.15 if longest() < 10**6 else 0.03, 0.6))
    shares = data.draw(st.lists(st.integers(1, 4), min_size=num_clients, max_size=num_clients))
    weights = ";".join(repr(share / sum(shares)) for share in shares)
    rewards = data.draw(st.sampled_from(["bernoulli", "beta", "constant"]))
    instance = load(
        f"planted:clients={num_clients},arms={num_arms},gap={gap!r},seed={seed},weights='{weights}',rewards={rewards}"
    )
    assume(instance.local_means[:, instance.best_arm].min() > gammas[1] + 0.02)
    both = ["ucb1", "eps-greedy", "eps-greedy(c=3)"] if gammas == (0.0, 0.0) else ["ucb1"]
    clients = data.draw(st.lists(st.sampled_from(both), min_size=num_clients, max_size=num_clients))
    teacher = f"{kind}(gamma1={gammas[0]},gamma2={gammas[1]})"
    horizon = promised(instance, teacher, clients, 1).needed_horizon
    assume(horizon <= longest())
    bound = promised(instance, teacher, clients, horizon)
    outcome = play(instance, teacher, clients, horizon, run=seed)
    assert min(ratios(bound, outcome, instance)) >= 1


def test_the_lemmas_of_twl_hold_arm_by_arm():
    """Lemmas twl_learning_UCB and twl_teaching_UCB: each client's pulls while an arm is active, and later."""
    horizon, teacher = 40_000, "twl(gamma1=1,gamma2=0)"
    seen, beyond = 0, 0
    for seed in range(30):
        instance = uniform(seed)
        weights = tuple(instance.weights.tolist())
        ends = make_schedule(5, horizon, weights).ends
        outcome = play(instance, teacher, UCB1, horizon, trace=True)
        active = set(range(5))
        for epoch, event in enumerate(outcome.events, 1):
            for arm in active - set(event.active_arms):
                pulls = (outcome.trace.arms == arm).cumsum(axis=1)
                before, after = pulls[:, event.round - 1], pulls[:, -1] - pulls[:, event.round - 1]
                ahead = before.max() - ends[epoch - 1]
                assert ahead <= overshoot(epoch, 5, weights)
                most = active_pulls_of_twl(instance.gaps[arm], 5, horizon, weights)
                assert before.max() <= most
                for client, best_mean in enumerate(instance.local_means[:, instance.best_arm]):
                    assert after[client] <= inactive_pulls_of_twl(most, best_mean, 1.0, 0.0, horizon)
                seen += 1
                beyond += ahead > 0
            active = set(event.active_arms)
    assert seen > 60
    assert beyond > 5  # so the overshoot is real


HORIZONS = (100_000, 1_000_000, 10_000_000)
GROWING = [CASES[0], CASES[1], CASES[3], CASES[2], CASES[4]]


@functools.cache
def long_run(teacher, clients, horizon):
    """A run on the paper's instance, looked at twice in each factor of 10 from round 100,000 on."""
    rounds = [round for round in (10**5, 316_228, 10**6, 3_162_278, 10**7) if round <= horizon]
    return play(load("paper"), teacher, clients, horizon, checkpoints=rounds)


@pytest.mark.parametrize(("teacher", "clients"), GROWING)
def test_growth_in_the_horizon_is_logarithmic(teacher, clients):
    """Regret and cost of horizons from 10^5 to 10^7 are a constant times log(2 K T^2), within 10 %.

    That is what TAL's and TWL's schedule goes with, and log T within a constant.  Linear growth would be off
    by a factor of 70, the root of T by one of 7.
    """
    each = [totals(long_run(teacher, clients, horizon), load("paper")) for horizon in HORIZONS]
    shares = [np.array(both)[:, -1] / np.log(10.0 * horizon**2) for both, horizon in zip(each, HORIZONS, strict=True)]
    assert (np.max(shares, axis=0) < 1.1 * np.min(shares, axis=0)).all()


def balanced(t, histories, target_history, best_mean):
    """Pulls [K - 1] at which UCB1 is in balance in round t: every index is the target's.

    ``histories`` [K - 1] pulls of the other arms, and so many of the target, showed 1; later ones 0, and the
    target's mean.  An arm has index c after N* of pulls with c for d (total_pulls_of_ucb1).
    """

    def surplus(level):
        pulls = np.array([total_pulls_of_ucb1(each, 1.0, level, t) for each in histories])
        best = t - pulls.sum()
        index = (target_history + (best - target_history) * best_mean) / best + np.sqrt(2 * np.log(t) / best)
        return level - index

    level = optimize.brentq(surplus, best_mean * 1.0001, 1.0)
    return np.array([total_pulls_of_ucb1(each, 1.0, level, t) for each in histories])


@pytest.mark.parametrize(("teacher", "clients"), GROWING[:2])
def test_growth_after_learning_is_logarithmic_with_ucb1(teacher, clients):
    """In one run from round 10^5 to 10^7 an arm's pulls are those at which its index equals the target's.

    They stay below N* of the teaching lemmas, which is linear in log t but for a root, and come to it as the
    target's index falls to its mean: so each root of 10 adds less than the one before.
    """
    outcome, rounds = long_run(teacher, clients, HORIZONS[-1]), (10**5, 316_228, 10**6, 3_162_278, 10**7)
    assert outcome.decided_in < rounds[0]
    ends = make_schedule(5, HORIZONS[-1], (0.2,) * 5).ends
    histories = [ends[epoch] for epoch in ruled_out_in(outcome)]
    for client, best_mean in enumerate(load("paper").local_means[:, 4]):
        for pulls, t in zip(outcome.pulls[client, :, :4], rounds, strict=True):
            np.testing.assert_allclose(pulls, balanced(t, histories, max(histories), best_mean), rtol=0.02)
            most = [total_pulls_of_ucb1(each, 1.0, best_mean, t) for each in histories]
            assert (pulls <= np.add(most, 2)).all()
        assert (pulls > 0.9 * np.array(most)).all()
        gained = np.diff(outcome.pulls[client, :, :4].sum(axis=1))
        assert (np.diff(gained) < 0).all()
        assert gained[-1] > 0


def ruled_out_in(outcome):
    """The epoch, from 0, in which each of arms 0 to 3 was ruled out."""
    return [
        next(epoch for epoch, event in enumerate(outcome.events) if arm not in event.active_arms) for arm in range(4)
    ]


def test_growth_after_learning_is_logarithmic_with_eps_greedy():
    """After learning only random pulls go elsewhere: from round t to t', (K - 1) log(t' / t) a client.

    That is the mean; their number is a sum of independent trials, which varies less than a Poisson number.
    """
    outcome = long_run(*CASES[3], HORIZONS[-1])
    assert outcome.decided_in < HORIZONS[0]
    away = outcome.pulls[:, :, :4].sum(axis=(0, 2))
    for gained in np.diff(away[[0, 2, 4]]):
        expected = 5 * 4 * np.log(10)
        assert stats.poisson.ppf(5e-7, expected) <= gained <= stats.poisson.isf(5e-7, expected)
