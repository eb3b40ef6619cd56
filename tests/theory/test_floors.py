"""What must be paid: floors of learning, of teaching and of levelling."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from tests.simulated_run import simulate_once

from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.theory import (
    compute_floors,
    cost_of_greedy,
    equal_pulls,
    least_evidence,
    least_pulls,
    least_pulls_of_ucb1,
    setting_of,
)

HORIZON = 50_000
PAPER = setting_of(load("paper"), HORIZON)


def floors_of(teacher, clients, instance="paper", horizon=HORIZON):
    """Value by name and quantity."""
    loaded = load(instance)
    policies = [POLICIES.parse(clients)] * loaded.num_clients
    found = compute_floors(loaded, TEACHERS.parse(teacher), policies, horizon)
    return {(floor.name, floor.quantity): floor.value for floor in found}


def test_floors_of_the_papers_instance():
    """The floors of learning are the same for clients of every policy."""
    assert PAPER.gaps @ least_pulls(PAPER) == pytest.approx(75, abs=0.5)
    regret = {rho: 5 * PAPER.gaps @ equal_pulls(PAPER, rho) for rho in (math.inf, 1, 2, 3, 4)}
    assert {rho: round(value) for rho, value in regret.items()} == {math.inf: 84, 1: 172, 2: 127, 3: 113, 4: 105}


def test_floors_of_clients_on_the_papers_instance():
    """UCB1 clients come back to every arm; those that are greedy must have their means levelled."""
    two, three = (floors_of(f"blt(rho={rho})", "ucb1") for rho in (2, 3))
    assert round(three["both, equal pulls", "regret"]) == 286
    assert round(two["both, rho 2", "regret"]) == 303
    assert round(three["both, rho 3", "regret"]) == 297
    assert round(floors_of("blt(rho=3)", "eps-greedy")["greedy clients, rho 3", "cost"]) == 281
    assert round(floors_of("blt(rho=2)", "eps-greedy")["greedy clients, rho 2", "cost"]) == 294
    known = floors_of("known", "ucb1")
    log, best = 2 * math.log(HORIZON), np.array(PAPER.best_means)
    pulls = log / (best + math.sqrt(log / HORIZON)) ** 2
    assert known["UCB1 clients", "regret"] == pytest.approx(pulls.sum() * PAPER.gaps.sum())
    assert known["UCB1 clients", "cost"] == pytest.approx(pulls @ PAPER.local_means[:, :4].sum(axis=1))
    assert round(known["UCB1 clients", "regret"]) == 268
    assert three["UCB1 clients", "cost"] < known["UCB1 clients", "cost"]  # arms below the target can be free


def test_floors_name_who_must_pay():
    """No floor for a guess, no teaching, a wrong known target or attacks; none of learning for a tolerance."""
    for teacher in ("ng", "na", "none", "known(target=0)", "jun", "ace"):
        assert floors_of(teacher, "ucb1") == {}
    assert {name for name, _ in floors_of("blt(tolerance=0.1)", "ucb1")} == {"UCB1 clients"}
    assert {name for name, _ in floors_of("twl", "ucb1", "paper:rewards=beta")} == {"UCB1 clients"}
    assert {name for name, _ in floors_of("twl", "ts")} == {"learning", "learning, equal pulls", "learning, rho 1"}


def play(teacher, clients, horizon, run=0, *, trace=False):
    """A run of five such clients on the paper's instance."""
    policies = [POLICIES.parse(clients)] * 5
    return simulate_once(load("paper"), policies, TEACHERS.parse(teacher), horizon=horizon, run=run, trace=trace)


def kl(p, q):
    """The divergence of two Bernoulli distributions."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, p * np.log(p / q), 0) + np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0)


def cheapest_alternative(means, pulls, weights, best):
    """The d with sum w d = best that minimises sum n kl(mu, d), by the root of its multiplier."""

    def raised(multiplier):
        low, high = means.copy(), np.ones_like(means)
        for _ in range(40):
            d = (low + high) / 2
            below = pulls * (d - means) < multiplier * weights * d * (1 - d)
            low, high = np.where(below, d, low), np.where(below, high, d)
        return high

    high = 1.0
    while raised(high) @ weights < best:
        high *= 2
    return raised(optimize.brentq(lambda x: raised(x) @ weights - best, 0, high))


@pytest.mark.parametrize(("seed", "num_clients", "is_even"), [(1, 1, True), (2, 3, True), (3, 3, False)])
def test_least_pulls_are_the_linear_program_with_cuts(seed, num_clients, is_even):
    """min sum n subject to sum n kl(mu, d) >= k_T for all d, cut by cut: each value is below the last one."""
    weights = np.full(num_clients, 1.0) if is_even else np.arange(1.0, num_clients + 1)
    spec = ";".join(map(repr, (weights / weights.sum()).tolist()))
    setting = setting_of(load(f"uniform:clients={num_clients},arms=3,seed={seed},weights='{spec}'"), 1000)
    weights, needed = np.array(setting.weights), least_evidence(1000)
    best = float(np.array(setting.best_means) @ weights)
    found = least_pulls(setting)
    for arm in setting.others:
        means = setting.local_means[:, arm]
        pulls, cuts = np.full(num_clients, 1e-3), []
        for _ in range(25):
            cuts.append(kl(means, cheapest_alternative(means, np.maximum(pulls, 1e-6), weights, best)))
            program = optimize.linprog(
                np.ones(num_clients), A_ub=-np.array(cuts), b_ub=np.full(len(cuts), -needed), bounds=(0, None)
            )
            pulls = program.x
            assert program.fun <= found[arm] * (1 + 1e-6)
        assert program.fun >= 0.97 * found[arm]


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 2.0, 3.0, math.inf]))
def test_equal_pulls_leave_no_alternative(seed, rho):
    """No instance on which the arm is better is closer: random ones are at least k_T away."""
    setting = setting_of(load(f"uniform:clients=3,arms=3,seed={seed}"), 1000)
    rng, best, found = np.random.default_rng(seed), np.array(setting.best_means), equal_pulls(setting, rho)
    for arm in setting.others:
        d = np.minimum(setting.local_means[:, arm] + rng.random((500, 3)) * 0.9, 0.999)
        c = best - rng.random((500, 3)) * best * 0.5 if rho < math.inf else np.tile(best, (500, 1))
        better = c.sum(axis=1) <= d.sum(axis=1)
        c, d = c[better], d[better]
        paid = kl(setting.local_means[:, arm], d).sum(axis=1)
        paid += rho * kl(best, c).sum(axis=1) if rho < math.inf else 0
        assert (found[arm] * paid >= least_evidence(1000) * (1 - 1e-9)).all()


def test_more_must_be_paid_the_less_a_teacher_may_choose():
    """Any distribution, equal pulls, and rho from infinity down to 1; longer horizons need more."""
    for seed in range(4):
        setting = setting_of(load(f"uniform:seed={seed}"), 1000)
        values = [least_pulls(setting) / 5, *(equal_pulls(setting, rho) for rho in (math.inf, 4, 2, 1))]
        for less, more in itertools.pairwise(values):
            assert (less <= more * (1 + 1e-9)).all()
        later = setting_of(load(f"uniform:seed={seed}"), 10_000)
        assert least_pulls(later).sum() > least_pulls(setting).sum()


def test_a_best_arm_of_ones_needs_no_pulls():
    """No other arm can be better than a mean of 1, and a right decision by chance needs no evidence."""
    setting = setting_of(load("planted:clients=2,arms=2,gap=1,seed=1"), 1000)
    assert not least_pulls(setting).any()
    assert not equal_pulls(setting).any()
    assert least_evidence(2) == 0
    assert least_evidence(1000) == pytest.approx(kl(1e-3, 1 - 1e-3))


@pytest.mark.parametrize("teacher", ["known", "twl", "blt", "none"])
def test_ucb1_has_the_least_pulls_in_every_round(teacher):
    """Whatever is revealed: the inequality holds in each round for every other arm, pathwise."""
    trace = play(teacher, "ucb1", 1500, trace=True).trace
    for client in range(2):
        counts, sums, tight = np.zeros(5), np.zeros(5), []
        for t, (arm, revealed) in enumerate(zip(trace.arms[client], trace.revealed[client], strict=True), 1):
            if counts.min() > 0:
                least = least_pulls_of_ucb1(min(1.0, sums[arm] / counts[arm]), int(counts[arm]), t)
                assert (counts >= least * (1 - 1e-9)).all()
                tight.append((counts / max(least, 1e-9)).min())
            counts[arm] += 1
            sums[arm] += revealed
        assert teacher != "known" or min(tight) < 1.5


def test_a_greedy_client_costs_the_gap_of_its_own_means():
    """The lemma: if k is left for j, |Q_j - S_j| + |Q_k - S_k| >= min(n, N) |Q_j / N - Q_k / n| - 1."""
    seen = 0
    for teacher in ("blt", "twl", "na"):
        trace = play(teacher, "eps-greedy(c=0)", 1000, trace=True).trace
        for client in range(5):
            counts, shown, true = np.zeros(5), np.zeros(5), np.zeros(5)
            last = None
            rows = zip(trace.arms[client], trace.revealed[client], trace.observed[client], strict=True)
            for arm, revealed, observed in rows:
                if last not in {None, arm} and counts.min() > 0:
                    n, cost = counts[[last, arm]], np.abs(true - shown)[[last, arm]].sum()
                    assert cost >= n.min() * abs(np.diff(true[[last, arm]] / n)[0]) - 1 - 1e-9
                    seen += 1
                counts[arm] += 1
                shown[arm] += revealed
                true[arm] += observed
                last = arm
    assert seen > 200


def test_cost_of_greedy_is_the_least_over_the_leading_arms_part():
    """A grid of changes to the leading arm finds nothing cheaper."""
    for rho in (1.0, 2.0, 3.0):
        pulls = equal_pulls(PAPER, rho)
        away = pulls * np.abs(PAPER.local_means - PAPER.local_means[:, [4]])
        grid = np.linspace(0, rho * away.max(), 4000)
        least = (grid + np.maximum(away[:, None] - grid[:, None] / rho, 0).sum(axis=2)).min(axis=1)
        found = cost_of_greedy(PAPER, pulls, rho)
        assert (found <= least + 1e-9).all()
        assert found == pytest.approx(least, rel=0.01)


@pytest.mark.parametrize("clients", ["ucb1", "eps-greedy"])
def test_measured_values_are_above_the_floors(clients):
    """BLT, TWL and the known target on the paper's instance pay at least what they must."""
    for teacher in ("blt", "twl", "known"):
        policies = [POLICIES.parse(clients)] * 5
        outcomes = [play(teacher, clients, HORIZON, run) for run in range(3)]
        paid = {
            "regret": np.mean([(outcome.pulls[:, -1] @ PAPER.gaps).sum() for outcome in outcomes]),
            "cost": np.mean([outcome.costs[:, -1].sum() for outcome in outcomes]),
        }
        for floor in compute_floors(load("paper"), TEACHERS.parse(teacher), policies, HORIZON):
            assert floor.is_possible
            assert paid[floor.quantity] >= 0.97 * floor.value, (teacher, floor)


def test_a_horizon_that_is_too_short_is_said():
    """No teacher decides in 20 rounds with an error below 1/20."""
    policies = [POLICIES.parse("ucb1")] * 5
    found = compute_floors(load("paper"), TEACHERS.parse("twl"), policies, 20)
    assert not any(floor.is_possible for floor in found if floor.name == "learning, rho 1")


def test_instances_that_are_too_large_are_refused():
    """What would take minutes is one sentence."""
    large = load("uniform:clients=1100,arms=1000")
    with pytest.raises(InputError, match="number of clients times arms"):
        compute_floors(large, TEACHERS.parse("twl"), [POLICIES.parse("ts")] * 1100, 1000)
