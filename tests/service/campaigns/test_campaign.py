"""A campaign in memory equals the simulator, round by round."""

import msgspec
import numpy as np
import pytest
from tests.simulated_run import simulate_once

from tutelage import instances
from tutelage.distributions import parse_distribution
from tutelage.instances.base import Instance, equal_weights
from tutelage.request import make_problem
from tutelage.service.campaigns.campaign import Campaign, CampaignSetup, RewardScale
from tutelage.service.campaigns.snapshot_format import StoredState, dump_campaign, restore_campaign
from tutelage.simulator import parse_clients
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem

MIXED = "2*ucb1,2*eps-greedy,1*ts"


def traced(instance, clients, teacher, horizon, seed, **options):
    """Simulate a run of the simulator and keep all its pulls."""
    return simulate_once(
        instance,
        parse_clients(clients, instance.num_clients),
        teacher,
        horizon=horizon,
        seed=seed,
        run=0,
        checkpoints=np.array([horizon]),
        trace=True,
        **options,
    )


# With gaps so large every teacher settles that can: on the paper's instance none would in so few rounds.
MEANS = "0.9,0.2,0.5\n0.8,0.1,0.9\n0.9,0.3,0.1\n0.7,0.2,0.3\n0.9,0.1,0.2\n"
KNOWING = ("ng", "none", "known(target=1)", "jun(target=1)", "ace(target=1)")


BETA = "beta(concentration=4)"  # observed rewards are fractions


@pytest.mark.parametrize("spec", ["tal(gamma1=0.5)", "blt", "change-detector(teacher=blt)"])
@pytest.mark.parametrize("rewards", ["bernoulli", BETA])
def test_binary_reveals_are_those_of_the_lab(spec, rewards):
    """Only 0 and 1 are revealed, the same ones as in the simulator, at the same cost."""
    means = np.array([row.split(",") for row in MEANS.split()], dtype=float)
    instance, horizon = Instance("five", means, equal_weights(5), parse_distribution(rewards)), 400
    teacher = TEACHERS.parse(spec)
    run = traced(instance, "ucb1", teacher, horizon, 3, binary_reveals=True)
    problem = make_problem(instance, horizon, teacher)
    campaign = Campaign(CampaignSetup(teacher, problem, RewardScale(), seed=3, binary_reveals=True))
    for round in range(horizon):
        arms, observed = (values[:, round].tolist() for values in (run.trace.arms, run.trace.observed))
        assert campaign.step(range(5), arms, observed, [False] * 5).revealed == run.trace.revealed[:, round].tolist()
    assert set(np.unique(run.trace.revealed)) == {0.0, 1.0}
    assert [client.cost for client in campaign.clients] == run.costs[:, -1].tolist()


def test_a_binary_campaign_rounds_beyond_its_horizon_and_leaves_bypassed_pulls():
    """Every reveal is an end of the range, but a bypassed pull's client has been shown the reward itself."""
    problem = Problem(1, 2, 3, (1.0,))
    campaign = Campaign(CampaignSetup(TEACHERS.parse("none"), problem, RewardScale(-2.0, 6.0), binary_reveals=True))
    steps = [campaign.step([0], [0], [3.0], [False]) for _ in range(60)]
    shown = [step.revealed[0] for step in steps]
    assert steps[-1].directives == [0]
    assert set(shown[:30]) == set(shown[30:]) == {-2.0, 6.0}
    cost = campaign.cost
    assert campaign.step([0], [0], [3.0], [True]).revealed == [3.0]
    assert campaign.cost == cost


@pytest.mark.parametrize("excluded", [{}, {1: 200, 3: 201, 0: 900}])
@pytest.mark.parametrize(
    "spec",
    [
        "tal(gamma1=0,gamma2=0)",
        "twl(gamma1=1,gamma2=0)",
        "blt",
        "blt(dependence=a;a;b;b;c)",
        "change-detector(teacher=tal)",
        "change-detector(teacher=blt)",
        *KNOWING,
    ],
)
def test_round_by_round_it_is_the_lab(spec, excluded, tmp_path):
    """A request with one pull of every client gives the simulator's revealed rewards, events and cost.

    So it does when clients are excluded on the way, after the same rounds.
    """
    (tmp_path / "means.csv").write_text(MEANS)
    instance, horizon = instances.load(str(tmp_path / "means.csv")), 1000
    teacher = TEACHERS.parse(spec)
    run = traced(instance, MIXED, teacher, horizon, 3, exclude=excluded)
    campaign = Campaign(CampaignSetup(teacher, make_problem(instance, horizon, teacher), RewardScale(), seed=3))
    assert excluded or spec in KNOWING or run.target == 0
    events = []
    for round in range(horizon):
        arms, observed = (values[:, round].tolist() for values in (run.trace.arms, run.trace.observed))
        step = campaign.step(range(5), arms, observed, [False] * 5)
        assert step.revealed == run.trace.revealed[:, round].tolist()
        if step.decision:
            events.append((round + 1, step.decision.directive.active_arms, step.decision.directive.target))
        for client in [client for client, last in excluded.items() if last == round + 1]:
            directive = campaign.exclude(client).directive
            events.append((round + 1, directive.active_arms, directive.target))
    assert events == [(event.round, event.active_arms, event.target) for event in run.events]
    assert [client.cost for client in campaign.clients] == run.costs[:, -1].tolist()
    assert campaign.pulls.tolist() == run.pulls[:, -1].tolist()
    assert campaign.report() == run.report


def test_a_window_goes_through_a_snapshot():
    """Restored after every step, a campaign with windows goes on as if nothing had happened."""
    teacher = TEACHERS.parse("blt(dependence=any,hope=inf)")
    setup = CampaignSetup(teacher, Problem(3, 2, 600, (0.5, 0.3, 0.2)), RewardScale())
    rng, whole = np.random.default_rng(5), Campaign(setup)
    restored, some_left_out = Campaign(setup), False
    for _ in range(300):
        clients, arms = rng.integers(0, 3, 4).tolist(), rng.integers(0, 2, 4).tolist()
        rewards = (rng.random(4) < np.array([0.55, 0.45])[arms]).astype(float).tolist()
        bypassed = (rng.random(4) < 0.1).tolist()
        stored = msgspec.msgpack.encode(dump_campaign(restored))
        restored = restore_campaign(setup, msgspec.msgpack.decode(stored, type=StoredState))
        first, second = (each.step(clients, arms, rewards, bypassed) for each in (whole, restored))
        assert (first.revealed, first.directives) == (second.revealed, second.directives)
        assert restored.left_out == whole.left_out
        some_left_out |= 0 < len(whole.left_out) < 3
    assert whole.windows >= 3
    assert some_left_out
    assert restored.collected.pulls.tolist() == whole.collected.pulls.tolist()
    plain = dump_campaign(Campaign(CampaignSetup(TEACHERS.parse("blt"), setup.problem, RewardScale())))
    assert b"windows" not in msgspec.msgpack.encode(plain)  # snapshots of other campaigns are as before
