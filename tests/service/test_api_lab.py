"""Driven over HTTP a campaign is the lab, round by round, and the plain reference, pull by pull."""

import contextlib
import dataclasses

import numpy as np
import pytest
from tests.reference_live import AsynchronousServer

from tutelage import instances
from tutelage.lab import parse_clients
from tutelage.metrics import pseudo_regret
from tutelage.results import problem_of
from tutelage.seeding import teacher_generator
from tutelage.simulation import simulate_run
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem

MIXED = "2*ucb1,2*eps-greedy,1*ts"
# With gaps so large TAL and TWL settle within the horizon; on the paper's instance they would decide nothing.
MEANS = "0.9,0.2,0.5\n0.8,0.1,0.9\n0.9,0.3,0.1\n0.7,0.2,0.3\n0.9,0.1,0.2\n"
WEIGHTS = (0.3, 0.1, 0.2, 0.15, 0.25)
DECIDING = ("tal(gamma1=0,gamma2=0)", "twl(gamma1=1,gamma2=0)", "watch(teacher=tal)")
OTHERS = ("ng", "none", "known(target=1)", "jun(target=1)", "ace(target=1)")
HORIZON = 500


@pytest.fixture
def instance(tmp_path):
    """Five clients and three arms, far apart."""
    (tmp_path / "means.csv").write_text(MEANS)
    return instances.load(str(tmp_path / "means.csv"))


def created(server, teacher, problem, seed):
    """A running campaign."""
    server.keys_changed()  # the server's loop stood still for as long as the lab played
    made = server.create(
        teacher=teacher,
        horizon=problem.horizon,
        seed=seed,
        clients=[f"m{m}" for m in range(problem.num_clients)],
        arms=[f"k{k}" for k in range(problem.num_arms)],
        weights=[float(weight) for weight in problem.weights],
    )
    assert made.status_code == 201, made.text


def sent(number, m, k, reward, **more):
    """A pull as it is sent."""
    return {"id": str(number), "client": f"m{m}", "arm": f"k{k}", "reward": float(reward)} | more


def events_of(server):
    """Every decision and retirement: round, active arms, target."""
    told, after = [], 0
    while after is not None:
        page = server.call("GET", "/v1/campaigns/c/decisions", params={"after": after, "limit": 300}).json()
        told += page["decisions"]
        after = page["next"]
    return [(one["round"], one["active_arms"], one["target"]) for one in told]


def named(events):
    """Events with arms as the server names them."""
    return [
        (round, [f"k{k}" for k in active], None if target is None else f"k{target}")
        for round, active, target in events
    ]


def check_against_the_lab(server, instance, spec, horizon=HORIZON):
    """Revealed rewards, events, pulls, regret and cost of a run of the lab, bit for bit."""
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
    created(server, spec, problem_of(instance, horizon, teacher), 3)
    for t in range(horizon):
        pulls = [sent(5 * t + m, m, run.trace.arms[m, t], run.trace.observed[m, t]) for m in range(5)]
        told = server.pull(*pulls).json()["pulls"]
        assert [one["reward"] for one in told] == run.trace.revealed[:, t].tolist()
    state = server.call("GET", "/v1/campaigns/c/state").json()
    assert state["costs"] == run.costs[:, -1].tolist()
    assert state["pulls"] == run.pulls[:, -1].tolist()
    gaps = instance.gaps
    regret = pseudo_regret(np.array(state["pulls"]), gaps)
    assert regret.tolist() == pseudo_regret(run.pulls[:, -1], gaps).tolist()
    assert events_of(server) == named((event.round, event.active_arms, event.target) for event in run.events)
    return run


@pytest.mark.parametrize("spec", DECIDING)
def test_a_deciding_teacher_is_the_labs(serve, instance, spec):
    """Round by round, with a decision for the best arm within the horizon."""
    run = check_against_the_lab(serve(), instance, spec)
    assert run.events
    assert run.events[-1].target == 0


@pytest.mark.parametrize("spec", OTHERS)
def test_every_other_teacher_is_the_labs(serve, instance, spec):
    """Those that know or guess their target, or have none."""
    check_against_the_lab(serve(), instance, spec, 100)


def test_with_weights_it_is_the_labs(serve, instance):
    """Unequal weights change the quotas and the bounds, and nothing else."""
    run = check_against_the_lab(serve(), dataclasses.replace(instance, weights=np.array(WEIGHTS)), "twl")
    assert run.events[-1].target == 0


def test_on_postgresql_it_is_the_labs(new_database, instance):
    """Through the other store: numbers come back the same."""
    from tests.service.conftest import Running

    with contextlib.closing(Running(new_database())) as server:
        run = check_against_the_lab(server, instance, "blt", 150)
    assert run.events[-1].target == 0


@pytest.mark.parametrize(
    ("spec", "weights", "steps"),
    [
        ("tal", (1 / 3, 1 / 3, 1 / 3), 340),
        ("twl", (0.5, 0.3, 0.2), 340),
        ("blt", (0.5, 0.3, 0.2), 150),
        ("watch(teacher=blt)", (1 / 3, 1 / 3, 1 / 3), 80),
        ("known(target=0)", (0.5, 0.3, 0.2), 100),
    ],
)
def test_pull_by_pull_it_is_the_reference(serve, spec, weights, steps):
    """Requests of one to six pulls, any clients, some several times, some bypassed; one client retires."""
    rng = np.random.default_rng(11)
    problem = Problem(3, 2, 700, weights)
    reference = AsynchronousServer(TEACHERS.parse(spec), problem, teacher_generator(5, 0))
    server = serve()
    created(server, spec, problem, 5)
    number = 0
    for step in range(steps):
        if step == steps // 2:
            reference.retire(1)
            assert server.call("POST", "/v1/campaigns/c/retire", {"client": "m1"}).status_code == 200
        pulls = []
        for _ in range(rng.integers(1, 7)):
            m, k = int(rng.integers(3)), int(rng.integers(2))
            pulls.append((m, k, float(rng.random() < (0.95, 0.05)[k]), bool(rng.random() < 0.02)))
        expected = reference.step(pulls)
        told = server.pull(
            *(sent(number + n, m, k, x, bypassed=gone) for n, (m, k, x, gone) in enumerate(pulls))
        ).json()["pulls"]
        assert [(one["reward"], one["epoch"]) for one in told] == expected
        number += len(pulls)
    assert events_of(server) == named(reference.events)
    if not spec.startswith("known"):
        assert reference.directive.target == 0
    state = server.call("GET", "/v1/campaigns/c/state").json()
    assert state["costs"] == [reference.costs[m] for m in range(3)]
    assert state["rounds"] == [reference.rounds[m] for m in range(3)]
