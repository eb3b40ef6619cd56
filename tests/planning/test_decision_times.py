"""Whether learning can end, in closed form."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import paper_epochs

from tutelage import load_instance, simulate
from tutelage.conditions import Conditions
from tutelage.distributions.base import Samples, reward_variances
from tutelage.distributions.empirical import Empirical
from tutelage.epoch_schedule import confidence_radius, make_schedule
from tutelage.instances.base import Instance, equal_weights
from tutelage.planning.decision_times import (
    compute_reachability,
    likely_decision,
    likely_horizon,
    likely_round,
    rounds_per_pull,
    sure_horizon,
    sure_round,
)
from tutelage.simulator import parse_clients
from tutelage.teachers import TEACHERS
from tutelage.teachers.separation import Separation, average
from tutelage.theory import separating_epoch

PAPER = load_instance("paper")
BOTH = [TEACHERS.parse("tal"), TEACHERS.parse("twl")]
UCB1S = parse_clients("ucb1", 5)


def test_the_paper_instance_at_its_horizon():
    """Pulls are F(psi), rounds K F(psi); TAL likely ends in psi = 3, and psi_max = 4 needs more than T."""
    reach = compute_reachability([PAPER], 50_000, BOTH, UCB1S)
    assert [(each.pulls, each.round, each.in_time) for each in reach.epochs] == [
        (paper_epochs.last_round(epoch), 5 * paper_epochs.last_round(epoch), epoch <= 3) for epoch in (1, 2, 3, 4)
    ]
    assert 5 * paper_epochs.last_round(3) <= 50_000 < paper_epochs.learning_time()
    likely, sure = reach.likely["tal"], reach.sure["tal"]
    assert (likely.epoch, likely.latest, likely.in_time) == (3, 5 * paper_epochs.last_round(3), True)
    assert (sure.epoch, sure.latest, sure.in_time) == (4, paper_epochs.learning_time(), False)


def test_twl_drops_arms_on_the_way():
    """Gaps .4 and .3 go in epoch 1, .2 in epoch 2, .1 in epoch 3, which the best arm has to reach too."""
    ends = make_schedule(5, 50_000, (0.2,) * 5).ends
    reach = compute_reachability([PAPER], 50_000, BOTH, UCB1S).likely["twl"]
    assert reach.latest == 2 * ends[0] + ends[1] + 2 * ends[2]


LATE = Instance("late", np.tile([0.2, 0.2, 0.2, 0.575, 0.7], (5, 1)), equal_weights(5))


@pytest.mark.parametrize("spec", ["twl(gamma1=1,gamma2=0)", "twl(gamma1=0.5,gamma2=0.25)", "twl(gamma1=0,gamma2=0)"])
def test_the_sure_round_is_not_exceeded(spec):
    """Clients go back to arms that are ruled out: no run of TWL ends later than what is called sure."""
    horizon = 30_000
    decided = simulate(LATE, spec, "ucb1", horizon=horizon, runs=10).decided_in.values
    reach = compute_reachability([LATE], horizon, [TEACHERS.parse(spec)], UCB1S)
    assert (decided > 0).all()
    assert (decided <= reach.sure["twl"].latest).all()
    assert np.median(decided) >= reach.likely["twl"].earliest


NINE = Instance("nine", np.array([[0.35] * 9 + [0.6]] * 2), equal_weights(2))


def test_nine_arms_at_the_likely_gap_are_rarely_separated_at_once():
    """Epoch 1 separates each arm half of the time, and all nine in about a tenth of the runs, not in most.

    200 runs, of which 1/10 end in epoch 1: 8 to 34 of them but with probability below 1e-3.  TWL's median is
    between the round in which one arm remains and the one in which all do.
    """
    horizon, runs = 20_000, 200
    assert NINE.min_gap == pytest.approx(0.25)
    tal, twl = BOTH
    assert likely_decision(tal, NINE, horizon) == (2, 18_250)
    ends = simulate(NINE, "tal", "ucb1", horizon=horizon, runs=runs).decided_in.values.ravel()
    assert 8 <= (ends == 3_650).sum() <= 34
    assert np.median(ends) == 18_250
    epoch, round = likely_decision(twl, NINE, horizon)
    ends = np.sort(simulate(NINE, "twl", "ucb1", horizon=horizon, runs=runs).decided_in.values.ravel())
    assert epoch == 2
    assert ends[runs // 4] <= round <= ends[3 * runs // 4]


def test_chances_of_an_epoch_are_those_of_simulated_estimates():
    """E prod_k Phi(...) against 200,000 Gaussian estimates, and against two equal arms by hand."""
    gaps, variances = np.array([0.25, 0.27, 0.3]), np.array([0.1, 0.12, 0.0])
    separation = Separation(gaps, variances, 0.11, 20_000, (0.5, 0.5))
    pulls = separation.pulls(1)
    diameter = 2 * confidence_radius(make_schedule(4, 20_000, (0.5, 0.5)), 1)
    draws = np.random.default_rng(0).standard_normal((200_000, 4)) * np.sqrt(np.append(variances, 0.11) / pulls)
    share = (gaps + draws[:, 3:] - draws[:, :3] >= diameter).all(axis=1).mean()
    found = float(average(separation.chances(1).prod(axis=1)))
    assert found == pytest.approx(share, abs=6 * 0.5 / 200_000**0.5)
    sure = Separation(np.array([0.3, 0.2]), np.zeros(2), 0.0, 20_000, (0.5, 0.5))
    assert average(sure.chances(1)).tolist() == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("rewards", ["bernoulli", "beta(20)", "constant", "empirical"])
def test_variances_are_those_of_drawn_rewards(rewards):
    """Each cell's variance is that of 20,000 draws within five standard errors of rewards in [0, 1]."""
    instance = load_instance(f"uniform:clients=2,arms=2,seed=1,rewards={rewards.replace('empirical', 'bernoulli')}")
    if rewards == "empirical":  # one value, two, three and one in the four cells
        values = np.array([0.3, 0.1, 0.9, 0.0, 0.5, 1.0, 1.0])
        shares = np.array([1.0, 0.25, 1.0, 0.5, 0.75, 1.0, 1.0])
        samples = Samples(np.array([0, 1, 3, 6, 7]), values, shares)
        means = np.array([[0.3, 0.7], [0.375, 1.0]])
        instance = dataclasses.replace(instance, local_means=means, rewards=Empirical(), samples=samples)
    arrays = instance.reward_arrays()
    stream = np.random.Generator(np.random.SFC64(1))
    found = reward_variances(instance.rewards, arrays)
    assert found.shape == instance.local_means.shape
    for client, arm in np.ndindex(2, 2):
        drawn = [instance.rewards.draw(arrays, client, arm, stream) for _ in range(20_000)]
        assert np.var(drawn) == pytest.approx(found[client, arm], abs=5 * 0.5 / 20_000**0.5)


@given(gap=st.floats(1e-4, 1.0))
def test_epochs_fit_the_radius(gap):
    """Surely: four radii fit into the gap; likely: two; one epoch earlier they do not (psi > 1)."""
    schedule = make_schedule(4, 10**15, (0.25,) * 4)
    sure = separating_epoch(gap)
    likely = max(1, sure - 1)
    slack = 1 + 1e-8
    assert 4 * confidence_radius(schedule, sure) <= gap * slack
    assert 2 * confidence_radius(schedule, likely) <= gap * slack
    if likely > 1:
        assert 2 * 2.0 ** -(likely - 1 + 2) >= gap / slack
        assert likely == sure - 1


def test_a_gap_at_the_border_is_told_despite_rounding():
    """A gap of an eighth less a few rounding errors is still separated in epoch 3."""
    assert separating_epoch(0.125 - 1e-14) == 3
    assert separating_epoch(0.125 - 1e-6) == 4


@given(
    horizon=st.integers(1, 10**6),
    gap=st.sampled_from([0.02, 0.1, 0.3]),
    kind=st.sampled_from(["tal", "twl"]),
    sure=st.booleans(),
)
def test_the_horizon_that_remedies_is_the_least(horizon, gap, kind, sure):
    """The decision is in time at this horizon and at no shorter one (the round grows only with log T)."""
    instance = load_instance(f"planted:clients=3,arms=4,gap={gap},seed=5")
    teacher = TEACHERS.parse(kind)
    if sure:
        enough = sure_horizon(teacher, UCB1S[:3], instance)
        decision = sure_round(teacher, UCB1S[:3], instance, horizon)
    else:
        enough, decision = likely_horizon(teacher, instance), likely_round(teacher, instance, horizon)
    assert (decision <= horizon) == (horizon >= enough)


def test_slow_clients_take_longer():
    """A client that acts in a tenth of the rounds and waits 5 for each reward takes 15 rounds a pull."""
    slow = dataclasses.replace(PAPER, conditions=Conditions(activity=(1, 1, 0.1, 1, 1), delays=(0, 0, 5, 0, 0)))
    assert rounds_per_pull(PAPER) == 1
    assert rounds_per_pull(slow) == pytest.approx(15)
    assert compute_reachability([slow], 50_000, BOTH, UCB1S).on_average
    assert not compute_reachability([PAPER], 50_000, BOTH, UCB1S).on_average
    assert compute_reachability([slow], 50_000, BOTH, UCB1S).epochs[0].round == pytest.approx(15 * 770, abs=1)


def test_instances_that_vary_give_a_range():
    """TWL's round depends on the other gaps, TAL's does not."""
    instances = [load_instance(f"planted:clients=3,arms=4,gap=0.05,seed={seed}") for seed in range(20)]
    reach = compute_reachability(instances, 10_000, BOTH, UCB1S[:3])
    assert reach.likely["tal"].earliest == reach.likely["tal"].latest
    assert reach.likely["twl"].earliest < reach.likely["twl"].latest <= reach.likely["tal"].latest


def test_tied_arms_have_no_ending():
    """No epoch tells them apart; the epochs themselves are listed all the same."""
    tied = Instance("tied", np.array([[0.5, 0.5, 0.1]]), equal_weights(1))
    reach = compute_reachability([tied], 10_000, BOTH, UCB1S[:1])
    assert reach.likely == reach.sure == {}
    assert reach.epochs[-1].in_time is False


def test_a_horizon_without_any_epoch():
    """The first epoch is listed, as too late."""
    reach = compute_reachability([PAPER], 5, BOTH, UCB1S)
    assert [each.in_time for each in reach.epochs] == [False]
