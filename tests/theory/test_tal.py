"""TAL's theorem, put together by hand for the paper's instance, and what its parts do."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests import paper_epochs

import tutelage
from tutelage import simulator, theory
from tutelage.instances import load
from tutelage.instances.base import Instance, equal_weights
from tutelage.teachers import TEACHERS
from tutelage.theory.client_bounds import WarmStartBound

PAPER = load("paper")
HORIZON = 100_000


def guarantee(instance, teacher, clients, horizon):
    """What the theorems say, from SPECs."""
    policies = simulator.parse_clients(clients, instance.num_clients)
    return theory.guarantee(instance, TEACHERS.parse(teacher), policies, horizon)


def test_ucb1_by_hand():
    """thm:tal_UCB on the paper's instance: F(4) pulls of each arm, then L + 2 of each arm but the best."""
    end = theory.epoch_end(4, 5, HORIZON, (0.2,) * 5)
    found = guarantee(PAPER, "tal(gamma1=1,gamma2=0)", "ucb1", HORIZON)
    means, gaps = PAPER.local_means, [0.4, 0.3, 0.2, 0.1]
    log = 2 * math.log(HORIZON)
    regret = cost = 0.0
    for client in range(5):
        mu = means[client, 4]
        later = ((math.sqrt(log) + math.sqrt(log + 4 * mu * end)) / (2 * mu)) ** 2 - end + 2
        regret += later * sum(gaps)
        cost += later * means[client, :4].sum()
    assert found.theorem == "thm:tal_UCB"
    assert found.regret.learning == pytest.approx(5 * end * sum(gaps))
    assert found.cost.learning == pytest.approx(end * (25 - means.sum()))
    assert found.regret.teaching == pytest.approx(regret)
    assert found.cost.teaching == pytest.approx(cost)
    assert found.regret.remainder == pytest.approx(5 * 0.4)
    assert found.cost.remainder == pytest.approx(5)
    assert found.regret.value == pytest.approx(5 * end + regret + 2)
    assert (found.last_epoch, found.learning_time, found.decides_by) == (4, 5 * end, 5 * end)


def test_eps_greedy_by_hand():
    """thm:tal_epsilon: eta-high(T_1) pulls of each arm, tau' and random pulls of the worst, three events."""
    end = theory.epoch_end(4, 5, HORIZON, (0.2,) * 5)
    found = guarantee(PAPER, "tal(gamma1=0,gamma2=0)", "eps-greedy", HORIZON)
    log = math.log(5 * 5 * HORIZON)
    time = math.ceil(20 / 3 * end + 160 / 9 * log)
    most = 5 * time / 20 + 8 / 3 * log
    later = [
        math.ceil(20 * math.log(2 * HORIZON) / (3 * mu**2) + 160 * math.log(HORIZON) / 9)
        + 4 * (1 + math.log(HORIZON / 5))
        for mu in PAPER.local_means[:, 4]
    ]
    assert found.learning_time == time
    assert found.regret.learning == pytest.approx(5 * most)
    assert found.regret.teaching == pytest.approx(0.4 * sum(later))
    assert found.cost.learning == pytest.approx(most * PAPER.local_means.sum())
    assert found.cost.teaching == pytest.approx(
        sum(each * row[:4].max() for each, row in zip(later, PAPER.local_means, strict=True))
    )
    assert found.regret.remainder == pytest.approx(3 * 5 * 0.4)
    assert found.cost.remainder == pytest.approx(3 * 5)


def test_mixes_lie_between():
    """Client by client: with as many of both, T_1 is the later one and the teaching part is the sum."""
    instance = Instance("two", [[0.2, 0.6]] * 2, equal_weights(2))
    mixed, ucb, eps = (
        guarantee(instance, "tal(gamma1=0,gamma2=0)", clients, 10**6)
        for clients in ("1*ucb1,1*eps-greedy", "ucb1", "eps-greedy")
    )
    assert mixed.theorem == "thm:tal_general"
    assert ucb.learning_time < mixed.learning_time == eps.learning_time
    assert ucb.regret.learning < mixed.regret.learning < eps.regret.learning
    client = theory.ucb1_client(0.6, 0.0, 0.0, 2, 10**6)
    teaching = client.warm_start(math.ceil(mixed.learning_time / 2)).together * 0.4
    assert mixed.regret.teaching == pytest.approx(teaching + eps.regret.teaching / 2)
    assert ucb.regret.remainder < mixed.regret.remainder < eps.regret.remainder


@pytest.mark.parametrize("clients", ["ucb1", "eps-greedy", "2*ucb1,3*eps-greedy"])
def test_equal_gammas_make_twl_tal(clients):
    """gamma1 = gamma2 = 0: the same numbers for TAL and for TWL (remark after thm:twl_UCB)."""
    both = [guarantee(PAPER, f"{name}(gamma1=0,gamma2=0)", clients, HORIZON) for name in ("tal", "twl")]
    assert both[0] == both[1]


def test_learning_may_end_before_its_latest_round():
    """Departs from the paper: a client's history can be shorter than eta-low(T_1) when teaching begins."""
    found = guarantee(PAPER, "tal", "ucb1", HORIZON)
    assert not found.is_vacuous
    data = tutelage.simulate("paper", "tal", "ucb1", horizon=HORIZON, runs=1, seed=1, checkpoints=1)
    decided = int(data.decided_in[0, 0])
    exploration = theory.exploration_of_ucb1(5)
    assert exploration.most(decided) < exploration.least(found.learning_time)


def test_vacuous_bounds_say_so():
    """T = 50,000 on the paper's instance: T_1 is more; it fits from some horizon on, not one round before."""
    found = guarantee(PAPER, "tal", "ucb1", 50_000)
    assert found.learning_time == paper_epochs.learning_time(50_000) > 50_000
    assert found.is_vacuous
    for horizon, is_vacuous in ((found.needed_horizon - 1, True), (found.needed_horizon, False)):
        again = guarantee(PAPER, "tal", "ucb1", horizon)
        assert again.is_vacuous is is_vacuous
        assert again.is_vacuous == (paper_epochs.learning_time(horizon) > horizon)
        assert again.needed_horizon == found.needed_horizon


def test_weights_enter_by_their_squares():
    """The schedule by sum w^2, the gaps by the weighted means, regret and cost by no weight."""
    means = [[0.9, 0.1], [0.2, 0.6], [0.4, 0.4]]
    weights = np.array([0.5, 0.3, 0.2])
    found = guarantee(Instance("weighted", means, weights), "tal", "ucb1", 10**6)
    gap = float(weights @ [0.8, -0.4, 0.0])
    end = theory.epoch_end(theory.separating_epoch(gap), 2, 10**6, tuple(weights))
    log = math.log(4e12) * 0.38
    assert end == sum(math.ceil(2 ** (2 * epoch + 3) * log) for epoch in range(1, found.last_epoch + 1))
    assert found.learning_time == 2 * end
    assert found.regret.learning == pytest.approx(3 * end * gap)
    assert found.cost.learning == pytest.approx(end * (6 - np.sum(means)))


@given(st.integers(0, 10**6), st.sampled_from(["tal", "twl"]), st.integers(100, 10**9))
def test_bounds_grow_with_the_horizon(seed, name, horizon):
    """More rounds, more regret, cost and T_1; and like log T: a thousandfold T adds less than threefold."""
    instance = load(f"uniform:clients=3,arms=4,seed={seed}")
    assume(instance.local_means[:, instance.best_arm].min() >= 0.01)
    short, long = (guarantee(instance, name, "ucb1", rounds) for rounds in (horizon, 1000 * horizon))
    assert short.regret.value <= long.regret.value < 4 * short.regret.value
    assert short.cost.value <= long.cost.value < 4 * short.cost.value
    assert short.decides_by <= long.decides_by
    assert short.needed_horizon == long.needed_horizon


@given(st.floats(0.02, 0.4), st.floats(0.02, 0.4), st.sampled_from(["ucb1", "eps-greedy"]))
def test_a_smaller_gap_takes_longer(one, other, clients):
    """T_1 and the horizon needed do not fall when the gap does."""
    found = [
        guarantee(Instance("gap", [[0.5, 0.5 + gap]] * 4, equal_weights(4)), "tal(gamma1=0,gamma2=0)", clients, 10**5)
        for gap in sorted((one, other))
    ]
    assert found[0].learning_time >= found[1].learning_time
    assert found[0].needed_horizon >= found[1].needed_horizon


def test_more_exploration_costs_more():
    """epsilon-greedy's c and d affect only the random pulls."""
    base, more, tuned = (
        guarantee(PAPER, "tal(gamma1=0,gamma2=0)", f"eps-greedy({arguments})", HORIZON)
        for arguments in ("c=1", "c=3", "c=1,d=0.5")
    )
    assert base.regret.learning == more.regret.learning == tuned.regret.learning
    extra = 0.4 * 5 * (theory.random_pulls(5, HORIZON, 3.0) - theory.random_pulls(5, HORIZON, 1.0))
    assert more.regret.teaching - base.regret.teaching == pytest.approx(extra)
    assert tuned.regret.teaching > more.regret.teaching


def test_pulls_count_as_those_of_the_dearest_arms():
    """At most ``each`` of one arm and ``together`` of all, dearest first."""
    values = [0.1, 0.4, 0.2]
    assert WarmStartBound(10, 30, 0).weighed(values) == pytest.approx(7)
    assert WarmStartBound(10, 10, 0).weighed(values) == pytest.approx(4)
    assert WarmStartBound(10, 15, 0).weighed(values) == pytest.approx(5)


def test_the_general_theorem_takes_any_client():
    """Round robin, then the best arm at once: what thm:tal_general says of it is what it plays."""

    def clients(horizon):
        exploration = theory.exploration_of_ucb1(5)
        return [theory.ClientBound(exploration, lambda history: WarmStartBound(1.0, 1.0, 0.0))] * 5

    setting = theory.setting_of(PAPER, HORIZON)
    found = theory.performance_of_tal(setting, 1.0, 0.0, clients)
    assert found.theorem == "thm:tal_general"
    assert found.regret.learning == pytest.approx(found.learning_time)  # the gaps sum to 1
    assert found.regret.teaching == pytest.approx(5 * 0.4)


def test_expected_adjustments_are_the_largest_of_any_law():
    """delta = E|gamma - X|: exact for zeros and ones, at least that of a constant with the same mean."""
    setting = theory.setting_of(PAPER, 100)
    means = PAPER.local_means
    assert setting.adjustments(1.0) == pytest.approx(1 - means)
    assert setting.adjustments(0.0) == pytest.approx(means)
    for gamma in (0.2, 0.5, 0.9):
        assert setting.adjustments(gamma) == pytest.approx(means * abs(1 - gamma) + (1 - means) * gamma)
        assert (setting.adjustments(gamma) >= abs(gamma - means) - 1e-12).all()


def test_what_a_run_can_bring_at_most():
    """M T Delta_max of regret, and the dearest adjustment in every round."""
    setting = theory.setting_of(PAPER, 1000)
    assert setting.most_regret == pytest.approx(5 * 1000 * 0.4)
    dearest = np.maximum(PAPER.local_means, 1 - PAPER.local_means).max(axis=1)
    assert setting.most_cost(1.0, 0.0) == pytest.approx(1000 * dearest.sum())
