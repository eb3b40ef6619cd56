"""TWL's theorem by hand, how far clients run ahead, and when it ends."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import paper_epochs
from tests.simulated_run import simulate_once

import tutelage
from tutelage import simulator, theory
from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.instances.base import Instance, equal_weights
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS

PAPER = load("paper")


def play(instance, teacher, horizon, run):
    """A run with a trace of every pull, all clients UCB1."""
    clients = [POLICIES.parse("ucb1")] * instance.num_clients
    return simulate_once(
        instance,
        clients,
        TEACHERS.parse(teacher),
        horizon=horizon,
        seed=3,
        run=run,
        checkpoints=np.array([horizon]),
        trace=True,
    )


def pulls_ahead(instance, run, horizon):
    """(epoch, by how many pulls the client furthest ahead exceeds F(psi)) at each consultation."""
    found, active = [], tuple(range(instance.num_arms))
    weights = tuple(instance.weights.tolist())
    for epoch, event in enumerate(run.events, 1):
        past = run.trace.arms[:, : event.round]
        most = max((past == arm).sum(axis=1).max() for arm in active)
        found.append((epoch, int(most) - theory.epoch_end(epoch, instance.num_arms, horizon, weights)))
        active = event.active_arms
    return found


def test_a_client_runs_ahead():
    """Departs from the paper: not every client has F(psi) pulls of an active arm when the epoch ends.

    On the paper's instance at T = 50,000 one has 768 of an arm, where F(2) = 767, as two arms are ruled out
    after epoch 1.
    """
    horizon = 50_000
    assert theory.epoch_end(2, 5, horizon, (0.2,) * 5) == 767
    found = pulls_ahead(PAPER, play(PAPER, "twl(gamma1=1,gamma2=0)", horizon, 0), horizon)
    assert found[:2] == [(1, 0), (2, 1)]
    assert theory.overshoot(2, 5, (0.2,) * 5) >= 1


@pytest.mark.parametrize("teacher", ["twl(gamma1=1,gamma2=0)", "twl(gamma1=0.6,gamma2=0.5)"])
def test_nobody_runs_further_ahead(teacher):
    """In 40 random instances of 3 to 9 arms no client is ahead by more than the number derived."""
    seen = 0
    for seed in range(40):
        num_arms = 3 + seed % 7
        instance = load(f"uniform:clients={2 + seed % 5},arms={num_arms},seed={seed}")
        for epoch, ahead in pulls_ahead(instance, play(instance, teacher, 12_000, 0), 12_000):
            assert 0 <= ahead <= theory.overshoot(epoch, num_arms, tuple(instance.weights.tolist()))
            seen += ahead > 0
    assert seen > 10


def test_overshoot_is_loose():
    """It allows 9 in epoch 4 of five clients and arms, where ten runs show at most 1, as docs/theory.md says."""
    assert theory.overshoot(4, 5, (0.2,) * 5) == 9
    seen = [pulls_ahead(PAPER, play(PAPER, "twl(gamma1=1,gamma2=0)", 50_000, run), 50_000) for run in range(10)]
    assert max(ahead for found in seen for _, ahead in found) == 1


@given(st.integers(2, 40), st.integers(1, 9), st.integers(1, 30))
def test_overshoot_grows_from_zero(num_arms, epoch, num_clients):
    """None while nothing can have been ruled out, or for one client; then it does not fall."""
    weights = (1 / num_clients,) * num_clients
    now, later = (theory.overshoot(each, num_arms, weights) for each in (epoch, epoch + 1))
    assert 0 <= now <= later
    if epoch == 1 or num_clients == 1 or num_arms == 2:
        assert now == 0


def test_overshoot_is_small_beside_an_epoch():
    """Below 1 % of F(psi) for five clients and arms, up to epoch 8."""
    weights = (0.2,) * 5
    for epoch in range(1, 9):
        end = theory.epoch_end(epoch, 5, 50_000, weights)
        assert theory.overshoot(epoch, 5, weights) < 0.01 * end


def test_ucb1_by_hand():
    """thm:twl_UCB on the paper's instance: psi_k = 2, 2, 3, 4; N^1, then N* - N^1 + 2."""
    horizon, weights = 50_000, (0.2,) * 5
    setting = theory.setting_of(PAPER, horizon)
    found = theory.performance_of_twl_with_ucb1(setting)
    epochs = [2, 2, 3, 4]
    active = [theory.epoch_end(e, 5, horizon, weights) + theory.overshoot(e, 5, weights) for e in epochs]
    gaps, log = [0.4, 0.3, 0.2, 0.1], 2 * math.log(horizon)
    regret, cost = np.zeros(2), np.zeros(2)
    for row in PAPER.local_means:
        cost[0] += active[3] * (1 - row[4])
        for pulls, gap, mean in zip(active, gaps, row[:4], strict=True):
            total = ((math.sqrt(log) + math.sqrt(log + 4 * row[4] * pulls)) / (2 * row[4])) ** 2
            regret += gap * np.array([pulls, total - pulls + 2])
            cost += np.array([pulls * (1 - mean), (total - pulls + 2) * mean])
    assert [found.regret.learning, found.regret.teaching] == pytest.approx(regret.tolist())
    assert [found.cost.learning, found.cost.teaching] == pytest.approx(cost.tolist())
    assert (found.regret.remainder, found.cost.remainder) == (pytest.approx(2), pytest.approx(5))
    assert found.theorem == "thm:twl_UCB"


def test_it_ends_before_tal():
    """At T = 50,000 TAL's T_1 = K F(4) does not fit; TWL drops arms and does."""
    found = theory.performance_of_twl_with_ucb1(theory.setting_of(PAPER, 50_000))
    assert found.learning_time == paper_epochs.learning_time(50_000) > 50_000
    assert not found.is_vacuous
    ends = [theory.epoch_end(epoch, 5, 50_000, (0.2,) * 5) for epoch in (2, 3, 4)]
    assert 2 * ends[0] + ends[1] + 2 * ends[2] < found.decides_by < 5 * ends[2]
    assert not theory.performance_of_twl_with_ucb1(theory.setting_of(PAPER, found.needed_horizon)).is_vacuous
    assert theory.performance_of_twl_with_ucb1(theory.setting_of(PAPER, found.needed_horizon - 1)).is_vacuous


def test_it_does_end_by_then():
    """40 random instances with room: decided on the best arm in time, in all runs but one in T."""
    late = ended = 0
    for seed in range(40):
        instance = load(f"planted:clients=5,arms=5,gap=.2,seed={seed}")
        horizon = 20_000
        time = theory.learning_time_of_twl(
            np.delete(instance.gaps, instance.best_arm).tolist(), horizon, (0.2,) * 5, 1.0, 0.0
        )
        assert time <= horizon
        data = tutelage.simulate(instance, "twl", "ucb1", horizon=horizon, runs=1, seed=seed, checkpoints=1)
        late += int(data.decided_in[0, 0]) > time
        ended += int(data.target[0, 0]) == instance.best_arm
    assert late <= 1
    assert ended >= 39


def test_equal_gammas_wait_for_all_arms():
    """Without a difference arms that are ruled out are pulled on as before: T_1."""
    weights, gaps = (0.2,) * 5, [0.4, 0.3, 0.2, 0.1]
    end = theory.epoch_end(4, 5, 50_000, weights)
    assert theory.learning_time_of_twl(gaps, 50_000, weights, 0.5, 0.5) == 5 * end
    times = [theory.learning_time_of_twl(gaps, 50_000, weights, gamma1, 0.0) for gamma1 in (0.01, 0.1, 1.0)]
    assert 5 * end >= times[0] >= times[1] >= times[2]


def test_cost_of_arms_ruled_out_needs_their_own_pulls():
    """Departs from the paper: N^2, not N^1, times delta(0); a client with a low mean pulls longer after."""
    instance = Instance("low", [[0.3, 0.02]] * 5, equal_weights(5))
    horizon = 6000
    run = play(instance, "twl(gamma1=1,gamma2=0)", horizon, 0)
    (decision,) = [event.round for event in run.events if event.target is not None]
    before = (run.trace.arms[:, :decision] == 1).sum(axis=1)
    after = (run.trace.arms[:, decision:] == 1).sum(axis=1)
    assert (after > 1.5 * before).all()
    active = theory.active_pulls_of_twl(0.28, 2, horizon, (0.2,) * 5)
    assert (before <= active).all()
    assert after.mean() <= theory.inactive_pulls_of_twl(active, 0.3, 1.0, 0.0, horizon)


def test_gammas_must_differ():
    """TWL has no theorem of its own for gamma1 <= gamma2."""
    with pytest.raises(InputError, match="gamma1 is above gamma2, not for 0 and 0"):
        theory.performance_of_twl_with_ucb1(theory.setting_of(PAPER, 1000), 0.0, 0.0)


def test_no_worse_than_tal():
    """thm:twl_UCB against thm:tal_UCB: not above it but for what clients run ahead."""
    for seed in range(20):
        instance = load(f"uniform:clients=5,arms=5,seed={seed}")
        setting = theory.setting_of(instance, 10**6)
        tal, twl = theory.performance_of_tal_with_ucb1(setting), theory.performance_of_twl_with_ucb1(setting)
        assert twl.regret.value <= 1.01 * tal.regret.value
        assert twl.cost.value <= 1.01 * tal.cost.value
        assert twl.needed_horizon <= tal.needed_horizon


def test_specs_lead_to_the_theorem():
    """theory.guarantee finds it, with its gammas."""
    policies = simulator.parse_clients("ucb1", 5)
    found = theory.guarantee(PAPER, TEACHERS.parse("twl(gamma1=0.5,gamma2=0.1)"), policies, 50_000)
    assert found == theory.performance_of_twl_with_ucb1(theory.setting_of(PAPER, 50_000), 0.5, 0.1)
