"""Failover: a server leads every running campaign that has no leader, even if no client asks for it."""

import asyncio
import logging
import time
from collections.abc import Callable

from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.campaigns.writer import ReadJob
from tutelage.stores.base import StoreError

LOG = logging.getLogger("tutelage.failover")
TAKEOVER_SECONDS = 3.0  # between two rounds
RETRY_SECONDS = 60.0  # before a campaign that could not be loaded is tried again


class Failover:
    """Takes campaigns over, and remembers which ones other servers lead and which ones could not be loaded."""

    def __init__(self, handoff: Handoff, readers: Readers, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._handoff, self._readers, self.clock = handoff, readers, clock
        self.led_elsewhere: dict[str, str] = {}  # campaigns of other servers, with the leader's address
        self.running: set[str] = set()  # campaigns that need a leader
        self._refused: dict[str, float] = {}

    @property
    def refused(self) -> list[str]:
        """The campaigns that could not be loaded in the last minute."""
        now = self.clock()
        self._refused = {name: at for name, at in self._refused.items() if now - at < RETRY_SECONDS}
        return list(self._refused)

    async def run(self) -> None:
        """Take campaigns over every few seconds until cancelled."""
        while True:
            try:
                await self.take_over()
            except StoreError:
                pass  # the writer's probe reports it
            except Exception:
                LOG.exception("looking for campaigns without a leader failed")
            await asyncio.sleep(TAKEOVER_SECONDS)

    async def take_over(self) -> None:
        """Lead every running campaign that has no leader, or that this server led before a restart."""
        writer, refused = self._handoff.writer, self.refused
        listed = await self._readers.read(lambda reader: reader.campaigns())
        free = (None, writer.address)
        self.led_elsewhere = {one.name: one.leader for one in listed if one.leader and one.leader not in free}
        self.running = {one.name for one in listed if one.status == "running"}
        for one in listed:
            is_waiting = one.status == "running" and one.leader in free and one.name not in writer.sessions
            if is_waiting and one.name not in refused:
                try:
                    await self._handoff.ask(ReadJob(one.name, look=lambda session: None))
                except NotLeader:
                    continue  # another server was faster
                except Refusal as error:
                    if not isinstance(error.__cause__, StoreError):  # which the next round may find mended
                        self._refused[one.name] = self.clock()
