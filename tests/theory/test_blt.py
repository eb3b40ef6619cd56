"""When BLT decides and what it costs, if clients are balanced."""

import math
from pathlib import Path

import numpy as np
import pytest
from tests.simulated_run import simulate_once

from tutelage.errors import InputError
from tutelage.instances import load
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.theory import (
    cost_of_levelling,
    deciding_pulls_of_blt,
    guarantee,
    performance_of_blt,
    performance_of_known_target_with_ucb1,
    pulls_of_blt,
    setting_of,
)

HORIZON = 50_000
PAPER = setting_of(load("paper"), HORIZON)
BLT = TEACHERS.parse("blt")


def play(teacher, clients, horizon=HORIZON, run=0, **options):
    """A run of five such clients on the paper's instance."""
    policies = [POLICIES.parse(clients)] * 5
    return simulate_once(load("paper"), policies, TEACHERS.parse(teacher), horizon=horizon, run=run, **options)


def test_deciding_pulls_are_within_the_theorems_constant():
    """n* <= 8 (1 + 1/rho) (log T + log 20 (K - 1) + log G) / (M gap^2), where a stake is near the best one."""
    pulls = deciding_pulls_of_blt(PAPER, TEACHERS.parse("blt(stakes=14)"))
    needed = math.log(HORIZON) + math.log(20 * 4) + math.log(14)
    closed = 8 * (4 / 3) * needed / (5 * np.array(PAPER.other_gaps) ** 2)
    share = pulls[:4] / closed
    assert (share <= 1.0).all()
    assert (share > 0.8).all()
    assert pulls[4] == 0


@pytest.mark.parametrize("clients", ["ucb1", "eps-greedy", "ts"])
def test_arms_are_ruled_out_by_then(clients):
    """No client of a run has more pulls of an arm when it is ruled out; they are far from it."""
    most, ends = pulls_of_blt(PAPER, BLT), []
    outcome = play("blt", clients, 3000, trace=True)
    active = set(range(5))
    for event in outcome.events:
        for arm in active - set(event.active_arms):
            pulls = (outcome.trace.arms[:, : event.round] == arm).sum(axis=1)
            assert (pulls <= most[arm]).all()
            ends.append((pulls / most[arm]).max())
        active = set(event.active_arms)
    assert len(ends) == 4
    assert max(ends) < 0.5


def test_less_balanced_clients_take_longer():
    """kappa multiplies, beta adds; rho is paid on the best arm."""
    plain, uneven, late = (pulls_of_blt(PAPER, BLT, *balance) for balance in ((1, 0), (2, 0), (1, 10)))
    assert uneven[:4] - 1 == pytest.approx(2 * (plain[:4] - 1))
    assert late[:4] == pytest.approx(plain[:4] + 10)
    assert plain[4] == pytest.approx(3 * (plain[:4].max() - 1) + 8 + 1)
    with pytest.raises(InputError, match="kappa"):
        pulls_of_blt(PAPER, BLT, 0.5)


@pytest.mark.parametrize(("mean", "level"), [(0.5, 0.5), (0.8, 0.45), (0.4, 0.4), (0.95, 0.9), (0.1, 0.45)])
def test_cost_of_levelling(mean, level):
    """At a constant level and unpressed: the mean of 300 games is below the lemma's, and not far below."""
    rng, offset, band, pulls, games = np.random.default_rng(1), 3.0, 1.0, 400, 300
    shown, cost = np.zeros(games), 0.0
    for n in range(1, pulls + 1):
        observed = (rng.random(games) < mean).astype(float)
        line = level * n + offset
        low, high = (np.clip(line + side - shown, 0, 1) for side in (-band, band))
        revealed = np.minimum(np.maximum(observed, low), high)
        cost += np.abs(revealed - observed).sum() / games
        shown += revealed
    assert 0.6 < cost / cost_of_levelling(mean, level, pulls, offset, band) < 1


@pytest.mark.parametrize("clients", ["ucb1", "eps-greedy"])
def test_measured_values_are_below_the_theorem(clients):
    """Regret and cost of BLT on the paper's instance, and the part of learning."""
    bound = guarantee(load("paper"), BLT, [POLICIES.parse(clients)] * 5, HORIZON)
    outcome = play("blt", clients)
    assert (outcome.pulls[:, -1] @ PAPER.gaps).sum() < bound.regret.value
    assert outcome.costs[:, -1].sum() < bound.cost.value
    assert bound.regret.learning == pytest.approx(5 * pulls_of_blt(PAPER, BLT) @ PAPER.gaps)
    assert bound.condition
    assert not bound.is_vacuous
    assert bound.needed_horizon is bound.last_epoch is None


def test_the_page_has_the_bound_of_the_papers_instance():
    """The figures of docs/floors.md are those of the function."""
    page = (Path(__file__).parents[2] / "docs" / "floors.md").read_text(encoding="utf-8")
    bound = performance_of_blt(PAPER, BLT, [POLICIES.parse("ucb1")] * 5).regret
    assert f"the bound on the regret is {bound.value:,.0f}, of which {bound.learning:,.0f} are learning" in page


def test_the_known_target_with_ucb1_is_between_its_floor_and_its_ceiling():
    """2 log T / mu^2 + 2 pulls of each arm, within 15 % of what is measured."""
    bound = performance_of_known_target_with_ucb1(PAPER)
    pulls = 2 * math.log(HORIZON) / np.array(PAPER.best_means) ** 2 + 2
    assert bound.regret.value == pytest.approx(pulls.sum() * PAPER.gaps.sum())
    assert bound.cost.value == pytest.approx(pulls @ PAPER.local_means[:, :4].sum(axis=1))
    outcomes = [play("known", "ucb1", run=run) for run in range(3)]
    regret = np.mean([(outcome.pulls[:, -1] @ PAPER.gaps).sum() for outcome in outcomes])
    assert 0.85 * bound.regret.value < regret < bound.regret.value
    assert np.mean([outcome.costs[:, -1].sum() for outcome in outcomes]) < bound.cost.value


def test_what_is_not_proved_is_refused():
    """A tolerance, other policies and parameters, stakes that are too large, and a target of mean 0."""
    ucb1 = [POLICIES.parse("ucb1")] * 5
    for teacher, clients, sentence in (
        ("blt(tolerance=0.1)", "ucb1", "tolerance of 0"),
        ("blt", "eps-greedy(c=2)", "default parameters"),
        ("blt(stakes=2)", "ucb1", "stakes=40"),
        ("blt", "ts", "no theorem"),
        ("known", "eps-greedy", "no theorem"),
        ("known(target=0)", "ucb1", "no theorem"),
    ):
        with pytest.raises(InputError, match=sentence):
            guarantee(load("paper"), TEACHERS.parse(teacher), [POLICIES.parse(clients)] * 5, HORIZON)
    poor = setting_of(load("planted:clients=2,arms=2,gap=0.5,seed=1"), 1000)
    with pytest.raises(InputError):
        performance_of_blt(poor, BLT, ucb1)
