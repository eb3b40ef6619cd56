"""The good events of the paper's appendices: how often they fail, compared with the claimed probability.

An event is claimed to fail with probability 1/T at most, T the horizon, so horizons here are as short as the
schedule allows: failures could be seen.  R runs may show as many failures as happen by chance once in a
million times where the claim is true.  Windows and pulls are counted from the trace of every pull, not
taken from the teacher.
"""

import functools
import math

import numpy as np
import pytest
from scipy import stats
from tests.simulated_run import simulate_once

from tutelage.epoch_schedule import confidence_radius, make_schedule
from tutelage.instances import load
from tutelage.instances.base import Instance, equal_weights
from tutelage.measurement.warm_start import warm_start_pulls
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS
from tutelage.theory.eps_greedy import rounds_to_first_reward
from tutelage.theory.twl import overshoot

RARE = 1e-6
HALVES = Instance("halves", np.full((8, 2), 0.5), equal_weights(8))  # rewards vary most; no arm is best
UNEQUAL = Instance("unequal", np.full((8, 2), 0.5), np.array([3.0] * 2 + [1.0] * 6) / 12)
LADDER = Instance("ladder", np.tile([0.4, 0.9, 0.65], (8, 1)), equal_weights(8))


def allowed(runs, chance):
    """So many failures are seen once in a million times if each run fails with this chance."""
    return int(stats.binom.isf(RARE, runs, chance))


@functools.cache
def play(instance, teacher, policies, horizon, runs, first=0):
    """Runs with a trace of every pull; ``policies`` are dealt to the clients in turn."""
    clients = [POLICIES.parse(policies[m % len(policies)]) for m in range(instance.num_clients)]
    return [
        simulate_once(
            instance,
            clients,
            TEACHERS.parse(teacher),
            horizon=horizon,
            seed=4,
            run=first + run,
            checkpoints=np.array([horizon]),
            trace=True,
        )
        for run in range(runs)
    ]


def schedule_for(instance, horizon):
    """The epochs of a problem."""
    return make_schedule(instance.num_arms, horizon, tuple(instance.weights.tolist()))


def deviations(run, instance, schedule):
    """{(epoch, arm): nu-hat - nu} of every window that all clients have filled."""
    found = {}
    for arm in range(instance.num_arms):
        rewards = [row[arms == arm] for row, arms in zip(run.trace.observed, run.trace.arms, strict=True)]
        start = 0
        for epoch, end in enumerate(schedule.ends, 1):
            if min(map(len, rewards)) < end:
                break
            estimate = sum(w * row[start:end].mean() for w, row in zip(instance.weights, rewards, strict=True))
            found[epoch, arm] = estimate - instance.global_means[arm]
            start = end
    return found


@pytest.mark.parametrize(
    ("instance", "policies", "horizon", "epochs"),
    [
        (HALVES, ("ucb1",), 90, 1),
        (HALVES, ("ucb1",), 600, 2),
        (HALVES, ("ucb1", "eps-greedy"), 700, 2),
        (UNEQUAL, ("ucb1",), 130, 1),
    ],
)
def test_estimates_stay_within_their_intervals(instance, policies, horizon, epochs):
    """Lemma tal_good_event: |nu-hat - nu| > CB(psi) with chance 1 / (K T^2) at most for each epoch and arm.

    CB is that of the rounded f, at most the paper's 2^-(psi + 2).  Within half of it they do not stay.
    """
    runs, schedule = 500, schedule_for(instance, horizon)
    outside, outside_half, seen = 0, 0, 0
    for run in play(instance, "tal(gamma1=1,gamma2=0)", policies, horizon, runs):
        found = deviations(run, instance, schedule)
        seen += len(found)
        within = [(abs(value), confidence_radius(schedule, epoch)) for (epoch, _), value in found.items()]
        assert all(radius <= 2.0 ** -(epoch + 2) for (epoch, _), (_, radius) in zip(found, within, strict=True))
        outside += any(value > radius for value, radius in within)
        outside_half += any(value > radius / 2 for value, radius in within)
    assert seen > 0.9 * runs * 2 * epochs
    claimed = epochs / horizon**2
    assert claimed <= 1 / horizon
    assert outside <= allowed(runs, claimed) < outside_half


@pytest.mark.parametrize(("gap", "horizon"), [(0.5, 90), (0.25, 600)])
def test_learning_ends_on_the_best_arm_in_time(gap, horizon):
    """Lemma tal_learning_general: by T_1 = K F(psi_max) with UCB1 clients, but with chance 1/T."""
    instance = Instance("gap", np.tile([0.5 - gap / 2, 0.5 + gap / 2], (8, 1)), equal_weights(8))
    last = math.ceil(math.log2(1 / gap))
    deadline = 2 * schedule_for(instance, horizon).ends[last - 1]
    assert deadline <= horizon
    outcomes = play(instance, "tal(gamma1=1,gamma2=0)", ("ucb1",), horizon, 500)
    failed = sum(run.target != 1 or run.decided_in > deadline for run in outcomes)
    assert failed <= allowed(500, 1 / horizon)
    assert any(run.decided_in == deadline for run in outcomes)


def test_learning_on_the_papers_instance_ends_in_time():
    """The same on the paper's instance with a horizon that has room for psi_max = 4."""
    instance, horizon, runs = load("paper"), 100_000, 12
    deadline = 5 * schedule_for(instance, horizon).ends[3]
    assert deadline <= horizon
    for run in play(instance, "tal(gamma1=1,gamma2=0)", ("ucb1",), horizon, runs):
        assert run.target == 4
        assert run.decided_in <= deadline
    assert allowed(runs, 1 / horizon) == 1  # so a single failure would still be by chance


def eliminations(run):
    """{arm: (epoch, round) in which it was ruled out} and the active arms left."""
    active, out = set(range(run.pulls.shape[2])), {}
    for epoch, event in enumerate(run.events, 1):
        out |= dict.fromkeys(active - set(event.active_arms), (epoch, event.round))
        active = set(event.active_arms)
    return out, active


@pytest.mark.parametrize(("policies", "horizon"), [(("ucb1",), 1000), (("ucb1", "eps-greedy"), 1500)])
def test_arms_are_ruled_out_in_time(policies, horizon):
    """Lemma twl_arm_elim: arm k by the end of epoch psi_k, the best never, but with chance 1/T."""
    runs, failed, met = 300, 0, 0
    for run in play(LADDER, "twl(gamma1=1,gamma2=0)", policies, horizon, runs):
        out, active = eliminations(run)
        late = 0
        for arm in (0, 2):
            due = math.ceil(math.log2(1 / LADDER.gaps[arm]) - 1e-9)
            met += len(run.events) >= due
            late += len(run.events) >= due and out.get(arm, (due + 1, 0))[0] > due
        failed += late > 0 or 1 not in active
    assert met > runs
    assert failed <= allowed(runs, 1 / horizon)


def test_ucb1_clients_are_a_pull_apart_when_an_arm_is_ruled_out():
    """Lemma twl_learning_UCB says F(psi) pulls of every client for an arm ruled out in epoch psi.

    Some clients have one more.  The proof takes all to see the same rewards.  In the round of a decision,
    which is revealed under the new rules (Alg. 2), those whose pull is of the arm just ruled out see gamma2,
    the others gamma1.  From then on their counts differ, and the last to meet the quota lets the others pull
    on.
    """
    many = Instance("many", np.tile(LADDER.local_means[0], (20, 1)), equal_weights(20))
    ends = schedule_for(many, 900).ends
    beyond = []
    for run in play(many, "twl(gamma1=1,gamma2=0)", ("ucb1",), 900, 60):
        for arm, (epoch, round) in eliminations(run)[0].items():
            pulls = (run.trace.arms[:, :round] == arm).sum(axis=1)
            assert pulls.min() == ends[epoch - 1]
            beyond.append((epoch, pulls.max() - ends[epoch - 1]))
    weights = tuple(many.weights.tolist())
    assert {more for epoch, more in beyond if epoch == 1} == {overshoot(1, 3, weights)} == {0}
    assert {more for epoch, more in beyond if epoch == 2} == {0, 1}
    assert overshoot(2, 3, weights) >= 1


def test_twl_rules_out_in_time_on_random_instances():
    """Lemma twl_arm_elim on 60 uniform instances, mixed clients."""
    failed, horizon = 0, 20_000
    for seed in range(60):
        instance = load(f"uniform:clients=5,arms=5,seed={seed}")
        (run,) = play(instance, "twl(gamma1=1,gamma2=0)", ("ucb1", "eps-greedy"), horizon, 1)
        out, active = eliminations(run)
        for arm in set(range(5)) - {instance.best_arm}:
            due = math.ceil(math.log2(1 / instance.gaps[arm]))
            failed += len(run.events) >= due and out.get(arm, (due + 1, 0))[0] > due
        failed += bool(run.events) and instance.best_arm not in active
    assert failed <= allowed(60, 1 / horizon)


@pytest.mark.parametrize("mean", [0.2, 0.5])
def test_a_first_reward_comes_in_time(mean):
    """Lemma tal_teaching_epsilon: n' pulls of the target hold a reward, and tau' rounds n' of its pulls.

    Each but with chance 1 / (2 T), T the horizon: until then every mean is 0 and all arms are pulled alike.
    """
    horizon, num_arms, runs = 3000, 3, 500
    enough = math.ceil(math.log(2 * horizon) / (2 * mean**2))
    rounds = rounds_to_first_reward(mean, num_arms, horizon)
    assert rounds <= horizon
    seen = warm_start_pulls("eps-greedy", 50, [mean] * num_arms, horizon, gamma1=0.0, runs=runs, checkpoints=[rounds])
    failed = (seen.pulls[:, 0, 0] < enough).sum()
    assert failed <= allowed(runs, 1 / horizon)
