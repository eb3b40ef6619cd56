"""Clients of several servers: each sends one pull after another, repeating each until a server answers."""

import contextlib
import itertools
import threading
import time

import httpx
from tests.service.server_processes import pull

from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.stores import open_reader
from tutelage.stores.base import PullRow, pages

PATIENCE = 120.0  # seconds after which a test gives up; none is decided by it


def until(condition):
    """Wait until it is so."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.02)


class Senders:
    """Four threads; ``answers`` are those to each pull's number.  ``addresses`` may be changed meanwhile."""

    def __init__(self, *servers):
        self.addresses = [server.address for server in servers]
        self.answers, self.refusals, self.odd = {}, [], []
        self._numbers, self._stopping = itertools.count(), threading.Event()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(4)]
        for thread in self._threads:
            thread.start()

    def _send(self):
        with httpx.Client(timeout=1.0, trust_env=False) as http:
            while not self._stopping.is_set() and not self.odd:
                number = next(self._numbers)
                while number not in self.answers and not self.odd:
                    for address in self.addresses:
                        self._try(http, address, number)

    def _try(self, http, address, number):
        try:
            response = http.post(f"{address}/v1/campaigns/c/pulls", json=pull(number))
        except httpx.TransportError:
            return
        if response.is_success:
            response_body = response.json() | {"replayed": True}
            if self.answers.setdefault(number, response_body) != response_body:
                self.odd.append((response_body, self.answers[number]))
        elif response.status_code == 503:
            self.refusals.append(response.json()["detail"])
            time.sleep(0.02)
        else:
            self.odd.append(response.text)

    def wait(self, more=40):
        """Until so many more pulls have been answered."""
        most = len(self.answers) + more
        until(lambda: len(self.answers) >= most or self.odd)
        assert not self.odd

    def stop(self):
        """No more pulls, once all that were sent are answered."""
        self._stopping.set()
        until(lambda: not any(thread.is_alive() for thread in self._threads))
        assert not self.odd

    def check_kept(self, url, *others):
        """These pulls, those of ``others`` and no more are in the ledger, each once, and it verifies."""
        with contextlib.closing(open_reader(url)) as reader:
            rows = list(pages(reader, "c"))
            assert verify_ledger(reader, "c") == (len(rows), [])
        ids = [row.id for row in rows if isinstance(row, PullRow)]
        assert sorted(ids) == sorted(f"p{number}" for number in [*self.answers, *others])

    def check_replays(self, server):
        """Every answer repeats."""
        all_numbers = list(self.answers)
        for start in range(0, len(all_numbers), 1000):
            numbers = all_numbers[start : start + 1000]
            assert server.pull(*numbers).json()["pulls"] == [self.answers[number] for number in numbers]
