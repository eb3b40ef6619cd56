"""Workspaces that one run leaves to the next."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from tutelage import simulator
from tutelage.engine import run_clients, workspace
from tutelage.engine.agent_group import Cancelled
from tutelage.engine.simulation import simulate_run

CLIENTS = "2*ucb1,2*eps-greedy,1*ts"


def find_unused(request):
    """Return the workspaces that no run of a request uses, by teacher."""
    return workspace._share_arrays(request).unused


@pytest.mark.parametrize("engine", ["step", "leap"])
def test_a_run_does_not_depend_on_the_run_before(engine):
    """Runs in any order, one after the other, are those of requests of their own."""
    asked = simulator.make_request(
        "paper", ["twl", "blt"], CLIENTS, horizon=3000, runs=2, seed=4, exclude={1: 900}, engine=engine
    )
    for teacher, run in ((0, 1), (1, 1), (0, 0), (1, 0), (0, 1)):
        again, alone = simulate_run(asked, teacher, run), simulate_run(replace(asked), teacher, run)
        np.testing.assert_equal(vars(again), vars(alone))
    assert {teacher: len(unused) for teacher, unused in find_unused(asked).items()} == {0: 1, 1: 1}


def test_an_outcome_is_not_changed_by_a_later_run():
    """What a run returns does not share memory with its workspace."""
    asked = simulator.make_request("paper", "twl", CLIENTS, horizon=500, runs=2, seed=4)
    first, expected = simulate_run(asked, 0, 0), simulate_run(replace(asked), 0, 0)
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
    assert not find_unused(asked)


def test_large_workspaces_are_not_kept(monkeypatch):
    """They would take the memory of many clients until the request is gone."""
    monkeypatch.setattr(workspace, "_MOST_BYTES", 100)
    asked = simulator.make_request("paper", "twl", CLIENTS, horizon=500, runs=1)
    first = simulate_run(asked, 0, 0)
    np.testing.assert_equal(vars(simulate_run(asked, 0, 0)), vars(first))
    assert not find_unused(asked)
