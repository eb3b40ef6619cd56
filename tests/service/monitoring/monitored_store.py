"""A handoff and a monitor at work on a store, and clients that pull."""

import asyncio
import contextlib

from tutelage.service.campaigns.failover import Failover
from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.settings import Settings
from tutelage.service.campaigns.writer import CreateJob, PullJob
from tutelage.service.monitoring.campaign_view import ServerHealth
from tutelage.service.monitoring.followers import Follower
from tutelage.service.monitoring.monitor import Monitor
from tutelage.stores import open_store

MEANS = (0.1, 0.9)


def make_settings(**changes):
    """Settings of a campaign that decides after some hundred pulls."""
    given = {"name": "c", "arms": ("x", "y"), "clients": ("a", "b"), "horizon": 2000, "teacher": "twl"}
    return Settings(**given | changes)


@contextlib.asynccontextmanager
async def run_monitor(store, address=""):
    """Run a handoff and a monitor on a store."""
    handoff, readers = Handoff(store, address=address), Readers(store)
    handoff.start()
    monitor = Monitor(handoff, readers, Failover(handoff, readers), name="here")
    yield handoff, monitor
    await handoff.stop()
    readers.close()


async def update(monitor):
    """Take campaigns over, and update the monitor."""
    await monitor._failover.take_over()
    await monitor.update()


async def pull_rounds(handoff, rounds, *, start=0, name="c", clients=("a", "b"), arms=("x", "y"), means=MEANS):
    """Let every client pull the arms in turn, with one request per round."""
    for round in range(start, start + rounds):
        arm = round % len(arms)
        sent = [PullRequest(f"{round}-{client}", client, arms[arm], means[arm]) for client in clients]
        await handoff.ask(PullJob(name, pulls=sent))


def follow(store, name):
    """Return the view of a server that does not lead the campaign."""
    stored, snapshot = store.load(name)
    return Follower(store, stored, snapshot, 0.0).view(ServerHealth(leads=False), 0.0)


def run_on_store(tmp_path, act):
    """Run ``act(store, handoff, monitor)`` on a new store with a campaign that has started."""

    async def run():
        store = open_store(f"sqlite:///{tmp_path / 'view.db'}")
        try:
            async with run_monitor(store) as (handoff, monitor):
                await handoff.ask(CreateJob("c", settings=make_settings(), start=True))
                return await act(store, handoff, monitor)
        finally:
            store.close()

    return asyncio.run(run())
