"""The test for dependence reads ledgers: in the monitor, and as a whole."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from tests.service.factories import learning_view
from tests.service.monitoring.monitored_store import make_settings, run_on_store, update

from tutelage.cli.app import execute
from tutelage.dependence_test import DependenceFinding, describe_finding
from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.writer import PullJob
from tutelage.service.monitoring import dependence_reader
from tutelage.service.monitoring.dependence_reader import DependenceReader, find_dependence_in_ledger
from tutelage.service.monitoring.status import status_of
from tutelage.service.monitoring.status.dependence import dependence

ROUNDS = 400


async def pull_coins(handoff, *, is_shared, rounds=ROUNDS):
    """Clients a and b toss the same coin in each round, or each its own; the arms take turns."""
    coins = np.random.default_rng(1).integers(0, 2, (rounds, 2))
    for round, (first, second) in enumerate(coins.tolist()):
        arm = "xy"[round % 2]
        rewards = first, first if is_shared else second
        pulls = [PullRequest(f"{round}-{m}", m, arm, float(x)) for m, x in zip("ab", rewards, strict=True)]
        await handoff.ask(PullJob("c", pulls=pulls))


@pytest.mark.parametrize("is_shared", [True, False])
def test_the_monitor_notices_what_clients_share(tmp_path, monkeypatch, capsys, is_shared):
    """After some updates the view has the finding, equal to that of the whole ledger, and its status item.

    The command prints the same, and its exit status is 1 if dependence is noticed.
    """
    monkeypatch.setattr(dependence_reader, "MOST_ROWS", 500)

    async def act(store, handoff, monitor):
        await update(monitor)
        await pull_coins(handoff, is_shared=is_shared)
        for _ in range(4):
            monitor._campaigns["c"].sampled = 0.0
            await update(monitor)
        monitor._campaigns["c"].view = None
        return await monitor.view("c"), find_dependence_in_ledger(store, "c")

    view, (num_clients, finding) = run_on_store(tmp_path, act)
    assert num_clients == 2
    assert view.dependence == finding
    assert finding.rounds > 100
    assert (finding.noticed_after is not None) == is_shared
    items = [item for item in status_of(view) if item.kind == dependence.name]
    assert len(items) == is_shared
    command = ["ledger", "dependence", "c", "--store", f"sqlite:///{tmp_path / 'view.db'}"]
    assert execute([*command, "--json"]) == int(is_shared)
    assert json.loads(capsys.readouterr().out) == {"name": "c", "clients": 2} | asdict(finding)
    assert execute(command) == int(is_shared)
    assert capsys.readouterr().out == f"c: {describe_finding(finding, 2)}\n"
    if is_shared:
        assert items[0].severity == "warning"
        assert "correlation within a round is 1;" in items[0].details


def test_rows_far_behind_are_left_out(tmp_path, monkeypatch):
    """A server that finds a long ledger goes on at its end."""
    monkeypatch.setattr(dependence_reader, "MOST_ROWS", 100)
    monkeypatch.setattr(dependence_reader, "FAR_BEHIND", 300)

    async def act(store, handoff, monitor):
        await pull_coins(handoff, is_shared=True, rounds=200)
        reader = DependenceReader(make_settings(), 2)
        last = store.load("c")[0].head.position
        reader.catch_up(store, "c", last)
        return reader.position, last

    position, last = run_on_store(tmp_path, act)
    assert position == last > 400


@pytest.mark.parametrize(
    ("teacher", "num_clients", "compared"),
    [("twl", 4, 4), ("twl(dependence=any)", 4, 1), ("twl(dependence=n;s;n;s)", 4, 2), ("none", 3, 3)],
)
def test_clients_of_one_group_are_not_compared(teacher, num_clients, compared):
    """A teacher that allows for dependence within groups is warned of dependence between them only."""
    settings = make_settings(teacher=teacher, clients=tuple("abcd"[:num_clients]))
    assert DependenceReader(settings, num_clients).num_compared == compared


@pytest.mark.parametrize(
    "finding", [None, DependenceFinding(0, None, 1.0, None), DependenceFinding(5000, 0.01, 3.0, None)]
)
def test_nothing_is_shown_before_it_is_noticed(finding):
    """Neither without a test nor before its evidence suffices is there an item."""
    assert dependence.check(replace(learning_view(), dependence=finding), None) is None
