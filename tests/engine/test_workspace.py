"""Workspaces that one run leaves to the next."""

import threading
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tutelage import simulator
from tutelage.conditions import Conditions, MeanShift
from tutelage.distributions import DISTRIBUTIONS
from tutelage.distributions.base import Samples
from tutelage.engine import run_clients, workspace
from tutelage.engine.agent_group import Cancelled
from tutelage.engine.simulation import simulate_run
from tutelage.policies import POLICIES
from tutelage.teachers import TEACHERS

CLIENTS = "2*ucb1,2*eps-greedy,1*ts"


def simulate_alone(request, teacher, run):
    """Simulate a run whose workspace no other run has used."""
    before, workspace._ALIKE = workspace._ALIKE, {}
    try:
        return simulate_run(replace(request), teacher, run)
    finally:
        workspace._ALIKE = before


def count_unused(request):
    """Return how many workspaces no run of a request uses, by teacher."""
    return [len(workspace._share_arrays(request, teacher).unused) for teacher in range(len(request.teachers))]


def move_means(request, **changes):
    """Return a request that differs in its means and its seed, and in the changes."""
    instance = replace(request.instance, local_means=1 - request.instance.local_means)
    return replace(request, instance=instance, seed=request.seed + 1, **changes)


@pytest.mark.parametrize("engine", ["step", "leap"])
def test_a_run_does_not_depend_on_the_run_before(engine):
    """Runs in any order, one after the other, are those of requests of their own."""
    asked = simulator.make_request(
        "paper", ["twl", "blt"], CLIENTS, horizon=3000, runs=2, seed=4, exclude={1: 900}, engine=engine
    )
    for teacher, run in ((0, 1), (1, 1), (0, 0), (1, 0), (0, 1)):
        again, alone = simulate_run(asked, teacher, run), simulate_alone(asked, teacher, run)
        np.testing.assert_equal(vars(again), vars(alone))
    assert count_unused(asked) == [1, 1]


@pytest.mark.parametrize("engine", ["step", "leap"])
@pytest.mark.parametrize("shift", [(), (MeanShift(700, np.full((5, 5), 0.3)),)], ids=["", "shift"])
def test_runs_of_a_set_of_instances_share_workspaces(engine, shift):
    """A run has its own means and seed, whichever request the run before was of."""
    asked = simulator.make_request("paper", ["twl", "known"], CLIENTS, horizon=3000, runs=2, seed=4, engine=engine)
    conditions = Conditions(shifts=shift)
    asked = replace(asked, instance=replace(asked.instance, conditions=conditions))
    other = move_means(asked)
    for request, teacher, run in ((asked, 0, 1), (other, 0, 1), (asked, 0, 0), (other, 1, 0), (asked, 1, 0)):
        again, alone = simulate_run(request, teacher, run), simulate_alone(request, teacher, run)
        np.testing.assert_equal(vars(again), vars(alone))
    assert count_unused(asked) == [1, 1]
    same_best_arm = asked.instance.best_arm == other.instance.best_arm
    assert [
        workspace._share_arrays(asked, teacher) is workspace._share_arrays(other, teacher) for teacher in (0, 1)
    ] == [True, same_best_arm]  # `known` knows the best arm


def test_requests_that_differ_in_more_than_means_share_no_workspace():
    """Everything that an array of a workspace depends on is compared."""
    asked = simulator.make_request("paper", "twl", CLIENTS, horizon=3000, runs=1, engine="step")
    instance, shared = asked.instance, workspace._share_arrays(asked, 0)
    assert workspace._share_arrays(move_means(asked), 0) is shared
    later = MeanShift(700, instance.local_means)
    for changes in (
        {"policies": asked.policies[::-1]},
        {"engine": "leap"},
        {"checkpoints": np.array([10, 3000])},
        {"horizon": 4000, "checkpoints": np.array([4000])},
        {"teachers": (TEACHERS.parse("twl(gamma2=.5)"),)},
        {"instance": replace(instance, rewards=DISTRIBUTIONS.parse("beta"))},
        {"instance": replace(instance, weights=np.array([0.4, 0.15, 0.15, 0.15, 0.15]))},
        {"instance": replace(instance, conditions=Conditions(delays=(0, 1, 2, 3, 4)))},
        {"instance": replace(instance, conditions=Conditions(activity=(1.0, 0.5, 1.0, 1.0, 1.0)))},
        {"instance": replace(instance, conditions=Conditions(stops=((1, 20),)))},
        {"instance": replace(instance, conditions=Conditions(shifts=(later,)))},
    ):
        assert workspace._share_arrays(replace(asked, **changes), 0) is not shared, changes


class ForeignPolicy(type(POLICIES.parse("ucb1"))):
    """A policy of another package: all are equal and have a hash, whatever they do."""


@dataclass(frozen=True, slots=True)
class SlotsPolicy:
    """A policy of another package whose objects have no dictionary of attributes."""

    choose = staticmethod(POLICIES.parse("ucb1").choose)
    learn = staticmethod(POLICIES.parse("ucb1").learn)

    def parameters(self):
        return (2.0,)

    def state_size(self, num_arms):
        return 0


class ForeignTeacher(type(TEACHERS.parse("twl"))):
    """A teacher of another package, likewise."""


def test_what_may_behave_differently_shares_no_workspace():
    """Policies and teachers of another package, also inside others, and what has no hash, are those of one request."""
    asked = simulator.make_request("paper", "twl", horizon=300, runs=1, engine="step")
    foreign = replace(asked, policies=(ForeignPolicy(),) * 5)
    unhashable, watching = TEACHERS.parse("twl"), TEACHERS.parse("change-detector")
    object.__setattr__(unhashable, "dependence", [])
    object.__setattr__(watching, "_inner", ForeignTeacher())
    assert workspace._describe_shared(asked, 0) is not None
    assert workspace._describe_shared(foreign, 0) is None
    assert workspace._describe_shared(replace(asked, policies=(SlotsPolicy(),) * 5), 0) is None
    for teacher in (ForeignTeacher(), unhashable, watching):
        assert workspace._describe_shared(replace(asked, teachers=(teacher,)), 0) is None
    np.testing.assert_equal(vars(simulate_run(foreign, 0, 0)), vars(simulate_alone(foreign, 0, 0)))
    assert workspace._share_arrays(foreign, 0) is not workspace._share_arrays(replace(foreign), 0)


def test_observed_rewards_share_no_workspace():
    """They are arrays of one instance."""
    asked = simulator.make_request("paper", "none", horizon=30, runs=1)
    samples = Samples(np.arange(26), np.full(25, 0.5), np.ones(25))
    observed = replace(asked, instance=replace(asked.instance, samples=samples))
    assert workspace._describe_shared(asked, 0) is not None
    assert workspace._describe_shared(observed, 0) is None


def test_workspaces_of_many_kinds_are_not_kept(monkeypatch):
    """Those of earlier cells of an experiment are dropped; what a run returns does not change."""
    monkeypatch.setattr(workspace, "_MOST_KINDS", 2)
    workspace._list_latest().clear()
    asked = [simulator.make_request("paper", "none", horizon=horizon, runs=1) for horizon in (301, 302, 303)]
    first = simulate_run(asked[0], 0, 0)
    simulate_run(asked[1], 0, 0)
    assert [count_unused(each) for each in asked[:2]] == [[1], [1]]
    simulate_run(asked[2], 0, 0)
    assert [count_unused(each) for each in asked] == [[0], [0], [1]]
    np.testing.assert_equal(vars(simulate_run(asked[0], 0, 0)), vars(first))


def test_an_outcome_is_not_changed_by_a_later_run():
    """What a run returns does not share memory with its workspace."""
    asked = simulator.make_request("paper", "twl", CLIENTS, horizon=500, runs=2, seed=4)
    first, expected = simulate_run(asked, 0, 0), simulate_alone(asked, 0, 0)
    simulate_run(asked, 0, 1)
    np.testing.assert_equal(vars(first), vars(expected))


def test_a_run_reads_nothing_of_a_workspace_that_it_has_left(monkeypatch):
    """Another thread may take it at once: what it writes changes no outcome of the run before."""
    request = simulator.make_request("paper", "twl", horizon=300, runs=1, seed=3)
    alone, leave = simulate_run(request, 0, 0), workspace.leave_workspace

    def leave_and_write(request, teacher, left):
        leave(request, teacher, left)
        left.record.pulls[...] = -1
        left.record.costs[...] = -1.0
        left.memory.block[...] = 0

    monkeypatch.setattr(run_clients, "leave_workspace", leave_and_write)
    again = simulate_run(request, 0, 0)
    assert (again.pulls == alone.pulls).all()
    assert (again.costs == alone.costs).all()
    assert (again.noticed_in == alone.noticed_in).all()
    assert (again.events, again.decided_in) == (alone.events, alone.decided_in)


def test_a_cancelled_run_leaves_no_workspace():
    """It may still be written where other threads have not ended."""
    asked, cancel = simulator.make_request("paper", "twl", CLIENTS, horizon=500, runs=1), threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        simulate_run(asked, 0, 0, cancel=cancel)
    assert count_unused(asked) == [0]


def test_large_workspaces_are_not_kept(monkeypatch):
    """They would take the memory of many clients until the request is gone."""
    monkeypatch.setattr(workspace, "_MOST_BYTES", 100)
    asked = simulator.make_request("paper", "twl", CLIENTS, horizon=500, runs=1)
    first = simulate_run(asked, 0, 0)
    np.testing.assert_equal(vars(simulate_run(asked, 0, 0)), vars(first))
    assert count_unused(asked) == [0]
