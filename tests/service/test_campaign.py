"""A campaign in memory: round by round it is the lab, pull by pull the plain reference."""

import numpy as np
import pytest

from tutelage import instances
from tutelage.lab import make_request, parse_clients
from tutelage.registry import Table
from tutelage.results import problem_of
from tutelage.service.campaign import Campaign, Pull, Setup
from tutelage.service.scale import Scale
from tutelage.simulation import simulate_run
from tutelage.teachers import TEACHERS

MIXED = "2*ucb1,2*eps-greedy,1*ts"


def traced(instance, clients, teacher, horizon, seed, **options):
    """A run of the lab with all its pulls."""
    return simulate_run(
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


@pytest.mark.parametrize("spec", ["tal(gamma1=0,gamma2=0)", "twl(gamma1=1,gamma2=0)", "blt", "ng", "none", "known(target=4)", "jun(target=4)", "ace(target=4)", "watch(teacher=blt)"])
def test_round_by_round_it_is_the_lab(spec):
    """A request with one pull of every client gives the lab's revealed rewards, events and cost."""
    instance, horizon = instances.load("paper"), 1500
    teacher = TEACHERS.parse(spec)
    run = traced(instance, MIXED, teacher, horizon, 3)
    campaign = Campaign(Setup(teacher, problem_of(instance, horizon, teacher), Scale(), seed=3))
    events = []
    for round in range(horizon):
        pulls = [Pull(m, int(run.trace.arms[m, round]), float(run.trace.observed[m, round])) for m in range(5)]
        step = campaign.step(pulls)
        assert [answer.reward for answer in step.answers] == run.trace.revealed[:, round].tolist()
        if step.decision:
            events.append((round + 1, step.decision.directive.active_arms, step.decision.directive.target))
    assert events == [(event.round, event.active_arms, event.target) for event in run.events]
    assert [client.cost for client in campaign.clients] == run.costs[:, -1].tolist()
    assert campaign.pulls.tolist() == run.pulls[:, -1].tolist()
    assert campaign.report() == run.report
