"""Driven over HTTP a campaign is the simulator, round by round, and the plain reference, pull by pull."""

import contextlib
import dataclasses

import numpy as np
import pytest
from tests.reference_live_server import ReferenceLiveServer
from tests.service.conftest import InProcessServer
from tests.service.simulated_runs import (
    SHIFTED,
    check_against_the_lab,
    created,
    events_of,
    far_apart,
    named,
    sent,
    shifted,
    turns,
)

from tutelage.seeding import teacher_generator
from tutelage.teachers import TEACHERS
from tutelage.teachers.base import Problem

EARLY = 'change-detector(teacher="blt(rho=2)",growth=0.2)'  # decides early enough for a restart in a few hundred pulls
EQUAL, UNEQUAL = (1 / 3, 1 / 3, 1 / 3), (0.5, 0.3, 0.2)
WEIGHTS = (0.3, 0.1, 0.2, 0.15, 0.25)
DECIDING = ("tal(gamma1=0,gamma2=0)", "twl(gamma1=1,gamma2=0)", "blt", "change-detector(teacher=tal)")
OTHERS = tuple(
    f"{name}(target=1)" if TEACHERS.parse(name).needs_best_arm else name
    for name in TEACHERS
    if not TEACHERS.parse(name).simulation_only and not any(spec.startswith(name) for spec in DECIDING)
)


@pytest.fixture
def instance(tmp_path):
    """Five clients and three arms, far apart."""
    return far_apart(tmp_path)


@pytest.fixture
def server(either_url):
    """A server on a store of either kind."""
    with contextlib.closing(InProcessServer(either_url)) as running:
        yield running


def test_no_teacher_is_left_out():
    """Every teacher of the table that the live server can run is driven below."""
    driven = {spec.partition("(")[0] for spec in DECIDING + OTHERS}
    assert driven == {name for name in TEACHERS if not TEACHERS.parse(name).simulation_only}
    assert {"ng", "none", "known", "jun", "ace"} <= driven


@pytest.mark.parametrize("spec", DECIDING)
def test_a_deciding_teacher_is_the_labs(server, instance, spec):
    """Round by round, with a decision for the best arm within the horizon."""
    run = check_against_the_lab(server, instance, spec)
    assert run.events
    assert run.events[-1].target == 0


@pytest.mark.parametrize("spec", OTHERS)
def test_every_other_teacher_is_the_labs(server, instance, spec):
    """Those that know or guess their target, or have none."""
    check_against_the_lab(server, instance, spec, 100)


def test_with_weights_it_is_the_labs(server, instance):
    """Unequal weights change the quotas and the bounds, and nothing else."""
    run = check_against_the_lab(server, dataclasses.replace(instance, weights=np.array(WEIGHTS)), "twl")
    assert run.events[-1].target == 0


def test_a_watch_that_begins_anew_is_the_labs(server, instance):
    """Means shift after the decision: it is withdrawn, learning starts again, and another arm is found."""
    run = check_against_the_lab(server, shifted(instance), SHIFTED)
    assert turns(event.target for event in run.events) == [0, None, 1]


class ServerAndReference:
    """A campaign on a server and the plain reference of it, which take the same steps."""

    def __init__(self, server, spec, problem):
        self.server, self.problem, self.number = server, problem, 0
        self.reference = ReferenceLiveServer(TEACHERS.parse(spec), problem, teacher_generator(5, 0))
        created(server, spec, problem, 5)

    def exclude(self, m):
        """Exclude a client from the evidence."""
        self.reference.exclude(m)
        assert self.server.call("POST", "/v1/campaigns/c/exclude", {"client": f"m{m}"}).status_code == 200

    def check_step(self, pulls):
        """The same answers to a request of (client, arm, reward, bypassed)."""
        expected = self.reference.step(pulls)
        responses = self.server.pull(
            *(sent(self.number + n, m, k, x, bypassed=gone) for n, (m, k, x, gone) in enumerate(pulls))
        ).json()["pulls"]
        assert [(one["reward"], one["directive"]) for one in responses] == expected
        self.number += len(pulls)

    def check_end(self):
        """The same decisions, costs and rounds; gives the state."""
        reference, clients = self.reference, range(self.problem.num_clients)
        assert events_of(self.server) == named(reference.events)
        state = self.server.call("GET", "/v1/campaigns/c/totals").json()
        assert state["costs"] == [reference.costs[m] for m in clients]
        assert state["rounds"] == [reference.rounds[m] for m in clients]
        return state


def drawn(rng, means, clients=(0, 1, 2), most=6):
    """One pull or more, any of these clients, some several times, some bypassed."""
    pulls = []
    for _ in range(rng.integers(1, most + 1)):
        m, k = int(rng.choice(clients)), int(rng.integers(2))
        pulls.append((m, k, float(rng.random() < means[k]), bool(rng.random() < 0.02)))
    return pulls


@pytest.mark.parametrize(
    ("spec", "weights", "steps"),
    [
        ("tal", EQUAL, 340),
        ("twl", UNEQUAL, 340),
        ("blt", UNEQUAL, 150),
        ("blt(dependence=any)", UNEQUAL, 300),
        ("change-detector(teacher=blt)", EQUAL, 80),
        ("known(target=0)", UNEQUAL, 100),
    ],
)
def test_pull_by_pull_it_is_the_reference(serve, spec, weights, steps):
    """Requests of any pulls in any order; one client excludes."""
    rng, both = np.random.default_rng(11), ServerAndReference(serve(), spec, Problem(3, 2, 700, weights))
    for step in range(steps):
        if step == steps // 2:
            both.exclude(1)
        both.check_step(drawn(rng, (0.95, 0.05)))
    both.check_end()
    if not spec.startswith("known"):
        assert both.reference.directive.target == 0


def test_pull_by_pull_a_watch_that_begins_anew_is_the_reference(server):
    """The target becomes the worst arm: evidence starts again with the step that found it."""
    problem = Problem(3, 2, 400, UNEQUAL)
    rng, both = np.random.default_rng(11), ServerAndReference(server, EARLY, problem)
    for step in range(320):
        both.check_step(drawn(rng, (1.0, 0.6) if step < 120 else (0.0, 0.95)))
    both.check_end()
    assert both.reference.directive.restarts == 1
    assert turns(target for _, _, target in both.reference.events) == [0, None, 1]


@pytest.mark.parametrize(("spec", "horizon"), [("blt", 40), ("tal", 400), ("twl", 400)])
def test_beyond_the_horizon_it_is_the_reference(serve, spec, horizon):
    """The arm that a teacher waits for is pulled often only beyond the horizon; those pulls are not evidence."""
    rng, both = np.random.default_rng(2), ServerAndReference(serve(), spec, Problem(3, 2, horizon, UNEQUAL))
    rounds = both.reference.rounds
    while min(rounds.get(m, 0) for m in range(3)) < 1.5 * horizon:
        pulls = []
        for m in rng.choice((0, 0, 1, 2), 12).tolist():
            k = int(rng.random() < (0.05 if rounds.get(m, 0) < horizon else 0.8))
            pulls.append((m, k, float(rng.random() < (0.9, 0.1)[k]), bool(rng.random() < 0.02)))
        both.check_step(pulls)
    state = both.check_end()
    assert np.all(np.array(state["pulls"]) >= state["quota"]["counts"])  # they would have met the quota
    assert both.reference.directive.target is None


def test_evidence_begins_anew_without_what_is_beyond_the_horizon(server):
    """The step in which a change detector restarts holds pulls beyond the horizon of their client."""
    problem = Problem(3, 2, 400, UNEQUAL)
    rng, both = np.random.default_rng(4), ServerAndReference(server, EARLY, problem)
    for _ in range(140):
        means = (1.0, 0.6) if both.number < 500 else (0.0, 0.95)
        both.check_step(drawn(rng, means, clients=(0, 0, 1, 2), most=24))
    both.check_end()
    assert both.reference.directive.restarts == 1
