"""The client of a live server, for a platform that delivers rewards; it never waits longer than its deadline.

:class:`Client` and :class:`AsyncClient` send observed rewards and return the rewards to reveal.  Within the
deadline they repeat a request after every failure that may pass.  Then they return the observed reward and
report later that the pull was bypassed, so that the server's totals stay right; while the server is down they
do so at once.  With a spool, a file of
reports that are not delivered yet, reports outlive the process.

This package needs only httpx and imports no other part of the project.  docs/client.md describes it.
"""

from tutelage.client.agent_play import play, play_async
from tutelage.client.async_client import AsyncClient
from tutelage.client.blocking_wrapper import Client
from tutelage.client.counters import Counters
from tutelage.client.pull_messages import CheckFailure, ObservedReward, PullRefusal, RevealedReward, new_id
from tutelage.client.spool import Spool

__all__ = [
    "AsyncClient",
    "CheckFailure",
    "Client",
    "Counters",
    "ObservedReward",
    "PullRefusal",
    "RevealedReward",
    "Spool",
    "new_id",
    "play",
    "play_async",
]
