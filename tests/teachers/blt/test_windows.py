"""BLT with clients that depend on each other: bets in windows (docs/blt.md, "Dependent clients")."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.simulated_run import simulate_once

from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.teachers.base import Problem, decode_state, encode_state
from tutelage.teachers.blt.betting import GridStep, log_gain, log_mean
from tutelage.teachers.blt.states import WindowState
from tutelage.teachers.blt.teacher import BLT
from tutelage.teachers.blt.totals import create_bets
from tutelage.teachers.blt.windows import (
    LEAST_WINDOW,
    dependent_bets,
    dependent_weights,
    effective_clients,
    window_cuts,
    window_lengths,
)

RARE = 1e-6
GAMES, ROUNDS, RHO, STAKES = 2000, 400, 2, 9


class Shocked:
    """Games of two arms whose rewards of a round all depend on one shock of the client's group.

    Client m acts in a share of the rounds and pulls the arm that has brought it less so far, or explores: what is
    uncovered, and when, depends on all rewards of earlier rounds.  Of an arm 0 the reward is 1 below the mean, of
    arm 1 above one minus it, so that one shock helps arm 0 everywhere and harms arm 1.
    """

    def __init__(self, means, weights, groups, seed):
        self.means, self.weights, self.groups = np.array(means), weights, groups
        self.rng = np.random.default_rng(seed)
        self.num_clients = len(weights)

    def play(self, bets, lengths):
        """Return the largest W of the bet on arm 0 in each game, [G], by the bets and in windows of these lengths."""
        size = (GAMES, self.num_clients, 2)
        every, members = np.arange(GAMES), np.arange(self.num_clients)
        all_sums, counted, sums, before = (np.zeros(size) for _ in range(4))
        window, pulls_before = np.zeros(GAMES, dtype=int), np.zeros(GAMES)
        left_out = np.zeros((GAMES, self.num_clients), dtype=bool)
        logs, most = np.zeros((GAMES, STAKES)), np.zeros(GAMES)
        wanted = np.array([(RHO * length, length) for length in (*lengths, 1 << 30)])
        for _ in range(ROUNDS):
            worse = (all_sums[..., 0] > all_sums[..., 1]).astype(int)
            explores = self.rng.random((GAMES, self.num_clients)) < 0.5
            arms = np.where(explores, self.rng.integers(0, 2, worse.shape), worse)
            acts = self.rng.random(worse.shape) < np.linspace(1.0, 0.6, self.num_clients)
            shock = self.rng.random((GAMES, max(self.groups) + 1))[:, self.groups]
            mean = self.means[members, arms]
            rewards = np.where(arms == 0, shock < mean, shock >= 1.0 - mean)
            place = (every[:, None], members, arms)
            all_sums[place] += acts * rewards
            is_open = acts & ~left_out & (counted[place] < wanted[window][every[:, None], arms])
            counted[place] += is_open
            sums[place] += is_open * rewards
            left_out &= ~acts
            ends = (counted >= wanted[window][:, None]).all(axis=(1, 2))
            if ends.any():
                shares = np.array([[[RHO]], [[1.0]]])
                step = GridStep(
                    before=before[ends].transpose(2, 0, 1),
                    won=sums[ends].transpose(2, 0, 1),
                    pulls=pulls_before[ends][:, None] * shares,
                    length=wanted[window[ends], 1][:, None] * shares,
                )
                logs[ends] += log_gain(step, bets, 0.0)
                most[ends] = np.maximum(most[ends], log_mean(logs[ends]))
                before[ends] += sums[ends]
                pulls_before[ends] += wanted[window[ends], 1]
                counted[ends] = sums[ends] = 0.0
                left_out[ends] = True
                window[ends] += 1
        assert window.min() >= 4
        return np.exp(most)


TIES = {  # weights, groups, means [M, 2] with sum w (mu_0 - mu_1) = 0
    "any": ((0.2,) * 5, (0,) * 5, [[0.5, 0.5]] * 5),
    "a;b;b": ((1 / 3,) * 3, (0, 1, 1), [[0.7, 0.3], [0.3, 0.5], [0.3, 0.5]]),
    "a;a;b;b": ((0.4, 0.3, 0.2, 0.1), (0, 0, 1, 1), [[0.6, 0.4], [0.5, 0.5], [0.3, 0.6], [0.4, 0.6]]),
}


@pytest.mark.parametrize("dependence", list(TIES))
def test_capital_under_shocks_by_round(dependence):
    """Two equal arms: P(W ever >= y) <= 1/y, whatever the clients share.  False alarms: once in a million."""
    weights, groups, means = TIES[dependence]
    assert sum(w * (one - other) for w, (one, other) in zip(weights, means, strict=True)) == pytest.approx(0.0)
    bets = dependent_bets(weights, (), dependence, STAKES, RHO)
    highest = Shocked(means, weights, groups, 7).play(bets, (8,) * 12)
    for y in (5, 20, 100):
        assert (highest >= y).sum() <= stats.binom.isf(RARE, GAMES, 1 / y)


def test_capital_without_the_exponents():
    """The same game shows that the bets of independent clients break the bound: it can fail."""
    weights, groups, means = TIES["any"]
    highest = Shocked(means, weights, groups, 7).play(create_bets(weights, (), STAKES, RHO), (8,) * 12)
    for y in (5, 20, 100):
        assert (highest >= y).sum() > stats.binom.isf(RARE, GAMES, 1 / y)


@pytest.mark.parametrize("excluded", [(), (1,)])
@pytest.mark.parametrize("dependence", ["any", "a;a;b;b", "a;b;c;d"])
def test_exponents_and_sizes(dependence, excluded):
    """alpha_m W_g is w_m up to one factor, alpha sums to 1 in a group, and no bet is above 1."""
    weights = (0.4, 0.3, 0.2, 0.1)
    left = [m for m in range(4) if m not in excluded]
    own = np.array([weights[m] for m in left]) / sum(weights[m] for m in left)
    bets = dependent_bets(weights, excluded, dependence, 3, 3)
    alpha, sizes = bets.exponents[: len(left)], -bets.signed[1, 0]
    assert np.allclose(alpha * sizes / own, (alpha * sizes / own)[0])
    names = dependence.split(";") if ";" in dependence else ["any"] * 4
    for name in {names[m] for m in left}:
        assert sum(a for a, m in zip(alpha, left, strict=True) if names[m] == name) == pytest.approx(1.0)
    assert sizes.max() == bets.stakes.max() == 1.0
    group = dependent_weights(weights, excluded, dependence)
    assert group[left].max() * sizes == pytest.approx(group[left])


def test_windows_of_one_pull_equal_the_bets_of_independent_clients():
    """For groups of one, exponents are 1 and the bets today's, up to the scale of the stake."""
    weights = (0.5, 0.3, 0.2)
    bets, today = dependent_bets(weights, (), "a;b;c", 4, 3), create_bets(weights, (), 4, 3)
    assert (bets.exponents == 1.0).all()
    assert bets.signed * bets.stakes[0] == pytest.approx(today.signed * today.stakes[0])
    assert effective_clients((0.25,) * 4, "a;b;c;d") == 4
    assert effective_clients((0.25,) * 4, "a;a;b;b") == 2
    assert effective_clients((0.25,) * 4, "any") == 1


@pytest.mark.parametrize("horizon", [1, 30, 5000, 10**9])
def test_windows_grow_within_the_horizon(horizon):
    """The first is the head start, others at least the least, and every length is a cut, times rho too."""
    lengths = window_lengths(horizon, 8)
    assert sum(lengths) <= horizon
    assert lengths[:1] == ((8,) if horizon >= 8 else ())
    assert all(length >= LEAST_WINDOW for length in lengths[1:])
    cuts = window_cuts(lengths, 3, horizon)
    assert set(cuts) == {cut for length in lengths for cut in (length, 3 * length) if cut <= horizon}
    assert len(cuts) < 1000


def play(instance, teacher, T, *, seed=0, mix=("ucb1",)):
    """One run; the clients take turns through the mix."""
    policies = [POLICIES.parse(mix[m % len(mix)]) for m in range(instance.num_clients)]
    return simulate_once(instance, policies, teacher, horizon=T, seed=seed, run=0, checkpoints=np.array([T]))


def test_paper_instance_with_shocks():
    """Five clients that share every shock: right in each of six runs, and in time."""
    instance = replace(load("paper"), rewards=load("paper:rewards=correlated(correlation=0.9)").rewards)
    for seed in range(6):
        outcome = play(instance, BLT(dependence="any"), 20_000, seed=seed)
        assert outcome.target == 4
        assert outcome.decided_in < 15_000


def test_a_state_goes_to_json_and_back():
    """States of windows have fields of their own, and the others none of them."""
    problem = Problem(3, 2, 1000, (1 / 3,) * 3)
    for teacher in (BLT(), BLT(dependence="any")):
        state = teacher.begin(problem, None)
        assert encode_state(decode_state(teacher, encode_state(state))) == encode_state(state)
        assert isinstance(state, WindowState) == (teacher.dependence is not None)
        assert ("leaders" in encode_state(state)) == (teacher.dependence is not None)


def test_too_short_a_horizon():
    """Where the next window does not fit, the teacher says so."""
    for horizon in (5, 60):
        report = play(load("paper"), BLT(dependence="any"), horizon).report
        assert not report.reachable
        assert "horizon" in report.sentence
