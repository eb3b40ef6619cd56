"""Two servers lead one campaign at once on PostgreSQL: the first is halted, overtaken and continued."""

import contextlib
import http.client
import json
import os
import signal
import time

import psycopg
import pytest
from tests.service.campaigns import crash_histories
from tests.service.campaigns.senders import Senders, until
from tests.service.server_processes import ServerProcess, pull
from tests.stores import cluster

from tutelage.service.campaigns.settings import Settings
from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.stores import open_reader
from tutelage.stores.base import PullRow, pages

TUNING = (1000, 1000, 1000)


@pytest.fixture
def place():
    """A PostgreSQL server."""
    if cluster.binaries() is None:
        pytest.skip("no PostgreSQL server is installed: put its initdb on the PATH")
    with crash_histories.places("postgresql") as place:
        yield place


def pulls(name, numbers):
    """A request of these pulls."""
    return ("pulls", name, [(*crash_histories.sent_pull(number), False) for number in numbers])


def test_a_halted_leader_writes_nothing_after_the_takeover(place):
    """Whatever it had in hand when SIGSTOP came, its rows end where the new leader's begin."""
    url, served = place.new(empty=False), []
    with contextlib.ExitStack() as stack:

        def begin(address):
            server = crash_histories.Server(url, address, TUNING)
            stack.callback(server.kill)
            served.append(server)
            return server

        settings = Settings("c", crash_histories.ARMS, 1000, "twl(gamma1=1,gamma2=0)", clients=crash_histories.CLIENTS)
        leader = begin("server0")
        assert leader.ask([("create", "c", settings)]) == [[]]
        responses, number = {}, 0
        for turn in range(1, 7):
            old = leader
            for _ in range(3):
                responses |= {one[0]: one for one in old.ask([pulls("c", [number, number + 1])])[0]}
                number += 2
            in_hand = (number, number + 1)
            old.pipe.send((None, 0.0, [pulls("c", in_hand)]))
            time.sleep(turn % 3 * 0.002)
            os.kill(old.process.pid, signal.SIGSTOP)
            leader = begin(f"server{turn}")
            deadline = time.monotonic() + 60
            number += 2
            while (outcome := leader.ask([pulls("c", [number])])[0]) == "not-leading":
                place.end_leases(url)  # as if ten seconds had passed
                assert time.monotonic() < deadline
            responses |= {one[0]: one for one in outcome}
            number += 1
            os.kill(old.process.pid, signal.SIGCONT)
            heard = old.hear()[0]
            if isinstance(heard, str):  # refused: not-leading, or its session was ended while it was halted
                assert leader.ask([pulls("c", in_hand)])[0][0][4] is False
            else:  # it was quicker than the signal
                assert leader.ask([pulls("c", in_hand)])[0] == [(*one[:4], True) for one in heard]
            assert isinstance(old.ask([pulls("c", [number])])[0], str)
            assert old.ask([pulls("c", [number])])[0] == "not-leading"
            number += 1
        ids = sorted(responses)
        again = leader.ask([pulls("c", [int(id[1:]) for id in ids])])[0]
        assert again == [(*responses[id][:4], True) for id in ids]
    with contextlib.closing(open_reader(url)) as reader:
        rows = list(pages(reader, "c"))
        assert verify_ledger(reader, "c") == (len(rows), [])
    assert len({row.id for row in rows if isinstance(row, PullRow)}) == len(rows) - 1


def head(url):
    """The token and the leader of the only campaign."""
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT token, leader FROM heads").fetchone()


def sent_on(server, number):
    """A request that lies in a server's socket; it must not pass it on."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {"Content-Type": "application/json", "X-Tutelage-Forwarded": "1"}
    connection.request("POST", "/v1/campaigns/c/pulls", json.dumps(pull(number)), headers)
    return connection


def test_of_two_servers_that_lead_at_once_the_later_alone_is_heard(new_database, tmp_path):
    """SIGSTOP under load, a takeover once the lease has ended, SIGCONT: nothing that was in hand enters."""
    url = new_database()
    with contextlib.ExitStack() as stack:
        old, new = (ServerProcess(url, tmp_path, advertise=True) for _ in range(2))
        stack.callback(old.end, signal.SIGKILL)
        stack.callback(new.end, signal.SIGKILL)
        old.create(horizon=100_000, teacher="twl(gamma1=1,gamma2=0)")
        first = head(url)
        assert first[1] == old.address
        senders = Senders(old, new)
        senders.wait()
        old.process.send_signal(signal.SIGSTOP)
        in_hand = range(10**6, 10**6 + 20)
        waiting = [sent_on(old, number) for number in in_hand]
        until(lambda: head(url)[1] == new.address)
        senders.wait()
        later = head(url)
        assert later[0] > first[0]
        old.process.send_signal(signal.SIGCONT)
        for connection in waiting:
            assert connection.getresponse().status == 503
            connection.close()
        senders.wait()
        assert old.pull(in_hand[0]).json()["pulls"][0]["replayed"] is False  # handed on
        senders.stop()
        assert head(url) == later
        senders.check_kept(url, in_hand[0])
        for server in (new, old):
            senders.check_replays(server)
