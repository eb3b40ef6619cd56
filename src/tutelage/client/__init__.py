"""For a platform that delivers rewards: asks a live server what to show, and never waits too long.

:class:`Client` and :class:`AsyncClient` answer each observed reward with the reward to show.  Within their
deadline they try again after every failure that may pass.  Then they give the observed reward back, so that
nobody waits, and report later that this pull was bypassed: the server's account stays right.  With a spool,
a file of reports not yet delivered, that holds across restarts of the platform.

This package needs httpx alone; it imports no other part of the project.  docs/client.md is its page.
"""

from tutelage.client.asking import AsyncClient
from tutelage.client.blocking import Client
from tutelage.client.messages import Observed, PullRefused, Revealed, new_id
from tutelage.client.spool import Spool

__all__ = ["AsyncClient", "Client", "Observed", "PullRefused", "Revealed", "Spool", "new_id"]
