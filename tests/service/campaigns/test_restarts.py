"""A campaign whose server is restarted in the middle still equals the simulator, bit for bit."""

import contextlib
import itertools
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.service.conftest import InProcessServer
from tests.service.server_processes import ServerProcess
from tests.service.simulated_runs import HORIZON, SHIFTED, SimulatedRun, far_apart, shifted, turns
from tests.stores import cluster

TEACHERS = ("tal(gamma1=0,gamma2=0)", "twl(gamma1=1,gamma2=0)", SHIFTED)
STOPS = (1, 60, 130, 250, 383, 400)  # rounds; TAL and TWL are consulted in round 384


@pytest.fixture
def instance(tmp_path):
    """Five clients and three arms, far apart."""
    return far_apart(tmp_path)


@pytest.mark.parametrize("spec", TEACHERS)
def test_stopped_and_begun_again_it_is_the_labs(either_url, instance, spec):
    """Six times another application on the same store goes on with it."""
    server = InProcessServer(either_url)
    try:
        play = SimulatedRun(server, shifted(instance) if spec == SHIFTED else instance, spec)
        for first, last in itertools.pairwise((0, *STOPS, HORIZON)):
            play.check_rounds(server, range(first, last))
            server.close()
            server = InProcessServer(either_url)
        play.check_end(server)
    finally:
        server.close()
    assert 0 in turns(event.target for event in play.run.events)


class RestartableServer:
    """A server in a process of its own, which is killed and followed by another on the same store."""

    def __init__(self, url, folder):
        self.url, self.folder = url, folder
        self.served = ServerProcess(url, folder)

    def keys_changed(self):
        """A process finds that out by itself."""

    def call(self, method, path, content=None, **options):
        return self.served.http.request(method, path, json=content, **options)

    def create(self, **content):
        return self.call("POST", "/v1/campaigns", {"name": "c", "start": True} | content)

    def pull(self, *pulls):
        return self.call("POST", "/v1/campaigns/c/pulls", {"pulls": list(pulls)})

    def killed_over(self, *pulls):
        """SIGKILL while it is asked this; its answer if it came to one, and the next server."""
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(self.pull, *pulls)
            self.served.process.kill()
            self.served.process.wait()
            answer = None
            with contextlib.suppress(httpx.TransportError):
                answer = asked.result()
        self.served.end()
        if self.url.startswith("postgresql"):
            cluster.end_leases(self.url)
        self.served = ServerProcess(self.url, self.folder)
        return answer

    def close(self):
        self.served.end()


def test_killed_and_begun_again_it_is_the_labs(either_url, tmp_path, instance):
    """SIGKILL over a request, which is sent again: stored before or not, it gets the simulator's rewards."""
    with contextlib.closing(RestartableServer(either_url, tmp_path)) as server:
        play = SimulatedRun(server, shifted(instance), SHIFTED)
        for first, last in itertools.pairwise((0, 75, 260)):
            play.check_rounds(server, range(first, last - 1))
            answer = server.killed_over(*play.pulls(last - 1))
            if answer is not None:
                play.check_answers(last - 1, answer)
            play.check_rounds(server, range(last - 1, last))
        play.check_rounds(server, range(260, HORIZON))
        play.check_end(server)
    assert turns(event.target for event in play.run.events) == [0, None, 1]
