"""Whether learning can end, in closed form."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import paper_epochs

from tutelage import load_instance, simulate
from tutelage.conditions import Conditions
from tutelage.epoch_schedule import confidence_radius, make_schedule
from tutelage.instances.base import Instance, equal_weights
from tutelage.planning.reach import (
    compute_reachability,
    epoch_for,
    likely_horizon,
    likely_round,
    rounds_per_pull,
    sure_horizon,
    sure_round,
)
from tutelage.simulator import parse_clients
from tutelage.teachers import TEACHERS

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
    assert (decided >= reach.likely["twl"].earliest).all()


@given(gap=st.floats(1e-4, 1.0))
def test_epochs_fit_the_radius(gap):
    """Surely: four radii fit into the gap; likely: two; one epoch earlier they do not (psi > 1)."""
    schedule = make_schedule(4, 10**15, (0.25,) * 4)
    sure, likely = epoch_for(gap, sure=True), epoch_for(gap, sure=False)
    slack = 1 + 1e-8
    assert 4 * confidence_radius(schedule, sure) <= gap * slack
    assert 2 * confidence_radius(schedule, likely) <= gap * slack
    if likely > 1:
        assert 2 * 2.0 ** -(likely - 1 + 2) >= gap / slack
        assert likely == sure - 1


def test_a_gap_at_the_border_is_told_despite_rounding():
    """A gap of an eighth less a few rounding errors is still separated in epoch 3."""
    assert epoch_for(0.125 - 1e-14, sure=True) == 3
    assert epoch_for(0.125 - 1e-6, sure=True) == 4


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
