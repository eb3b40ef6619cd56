"""Driven over HTTP a campaign is the lab, round by round, and the plain reference, pull by pull."""

import numpy as np
import pytest
from tests.reference import ContractServer

from tutelage import instances
from tutelage.lab import parse_clients
from tutelage.seeding import teacher_generator
from tutelage.simulation import simulate_run
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem

MIXED = "2*ucb1,2*eps-greedy,1*ts"
# With gaps so large TAL and TWL settle within the horizon; on the paper's instance they would decide nothing.
MEANS = "0.9,0.2,0.5\n0.8,0.1,0.9\n0.9,0.3,0.1\n0.7,0.2,0.3\n0.9,0.1,0.2\n"


def created(server, teacher, horizon, seed, clients, arms):
    """A running campaign."""
    names = [f"m{m}" for m in range(clients)]
    made = server.create(
        teacher=teacher, horizon=horizon, seed=seed, clients=names, arms=[f"k{k}" for k in range(arms)]
    )
    assert made.status_code == 201, made.text


def sent(number, m, k, reward):
    """A pull as it is sent."""
    return {"id": str(number), "client": f"m{m}", "arm": f"k{k}", "reward": float(reward)}


@pytest.mark.parametrize("spec", ["tal", "twl(gamma1=1,gamma2=0)", "blt"])
def test_round_by_round_it_is_the_lab(serve, spec, tmp_path):
    """Revealed rewards, cost, pulls and target of a run of the lab, bit for bit, through JSON and SQLite."""
    (tmp_path / "means.csv").write_text(MEANS)
    horizon, instance = 700, instances.load(str(tmp_path / "means.csv"))
    teacher = TEACHERS.parse(spec)
    run = simulate_run(
        instance,
        parse_clients(MIXED, 5),
        teacher,
        horizon=horizon,
        seed=3,
        run=0,
        checkpoints=np.array([horizon]),
        trace=True,
    )
    assert run.events
    server = serve()  # not before: its loop must run to keep the keys fresh
    created(server, spec, horizon, 3, 5, instance.num_arms)
    for t in range(horizon):
        pulls = [sent(5 * t + m, m, run.trace.arms[m, t], run.trace.observed[m, t]) for m in range(5)]
        told = server.pull(*pulls).json()["pulls"]
        assert [one["reward"] for one in told] == run.trace.revealed[:, t].tolist()
    state = server.call("GET", "/v1/campaigns/c/state").json()
    assert state["costs"] == run.costs[:, -1].tolist()
    assert state["pulls"] == run.pulls[:, -1].tolist()
    decided = server.call("GET", "/v1/campaigns/c/decisions").json()["decisions"]
    told = [(one["round"], one["active_arms"], one["target"]) for one in decided]
    assert told == [
        (
            event.round,
            [f"k{k}" for k in event.active_arms],
            None if event.target is None else f"k{event.target}",
        )
        for event in run.events
    ]


@pytest.mark.parametrize("spec", ["twl", "blt"])
def test_pull_by_pull_it_is_the_reference(server, spec):
    """Steps of any clients in any order: the reference takes a step with that subset of clients."""
    rng = np.random.default_rng(11)
    horizon, clients, arms = 2_000, 3, 2
    problem = Problem(clients, arms, horizon, (1 / clients,) * clients)
    teacher = TEACHERS.parse(spec)
    reference = ContractServer(teacher, problem, teacher_generator(5, 0))
    created(server, spec, horizon, 5, clients, arms)
    number = 0
    for step in range(1, 801):
        acting = sorted(rng.choice(clients, size=rng.integers(1, clients + 1), replace=False))
        pi, x = [None] * clients, [None] * clients
        for m in acting:
            pi[m] = int(rng.integers(arms))
            x[m] = float(rng.random() < (0.9, 0.1)[pi[m]])
        shown = reference.round(step, pi, x)
        told = server.pull(*(sent(number + m, m, pi[m], x[m]) for m in acting)).json()["pulls"]
        assert [one["reward"] for one in told] == [shown[m] for m in acting]
        number += clients
    assert reference.events
    decided = server.call("GET", "/v1/campaigns/c/decisions").json()["decisions"]
    assert len(decided) == len(reference.events)
    assert [one["target"] for one in decided] == [
        None if target is None else f"k{target}" for _, _, target in reference.events
    ]
