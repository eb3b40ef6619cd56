"""Two server processes on one PostgreSQL: whichever is asked, the leader answers."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

PATIENCE = 120.0  # seconds, so that the test ends: the lease lasts 10 of the database's clock
CAMPAIGN = {"name": "c", "arms": ["x", "y"], "clients": ["a", "b"], "horizon": 1_000, "teacher": "none"}


def free_ports(count):
    """Ports that nobody has."""
    with contextlib.ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]


class Servers:
    """Server processes on a database."""

    def __init__(self, folder, url):
        self.folder, self.url, self.processes = folder, url, []

    def begin(self, port, *arguments):
        """Start one; its address and its process, once it answers."""
        address = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "tutelage", "serve", "--store", self.url, "--port", str(port)]
        with (self.folder / f"log{port}").open("wb") as log:
            process = subprocess.Popen([*command, "--advertise", address, *arguments], cwd=self.folder, stderr=log)
        self.processes.append(process)
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{address}/healthz")
                return address, process
            assert process.poll() is None, (self.folder / f"log{port}").read_text()
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def servers(tmp_path, new_database):
    """Starts servers on a new database."""
    found = Servers(tmp_path, new_database())
    yield found
    found.end()


def pull(number, reward=0.5):
    """A pull as it is sent."""
    return {"id": str(number), "client": "ab"[number % 2], "arm": "xy"[number // 2 % 2], "reward": reward}


@pytest.fixture
def http():
    """Sends with no key."""
    with httpx.Client(timeout=20) as client:
        yield client


def test_a_killed_leader_is_replaced(servers, http):
    """The follower passes requests on; SIGKILL: it leads once the lease has ended, and no answer is lost."""
    first_port, second_port = free_ports(2)
    first, leader = servers.begin(first_port)
    second, _ = servers.begin(second_port)
    http.post(f"{first}/v1/campaigns", json=CAMPAIGN | {"start": True}).raise_for_status()
    answered = {}

    def send(address, number):
        response = http.post(f"{address}/v1/campaigns/c/pulls", json=pull(number))
        if response.is_success:
            answered[number] = response.json()
        return response

    for number in range(20):
        assert send((first, second)[number % 2], number).status_code == 200
    state = [http.get(f"{address}/v1/campaigns/c/totals").json() for address in (first, second)]
    assert state[0] == state[1]
    assert http.get(f"{second}/readyz").status_code == 200
    with ThreadPoolExecutor(4) as pool:
        sending = [pool.submit(send, second, number) for number in range(20, 60)]
        leader.kill()
        leader.wait()
        killed = time.monotonic()
        for each in sending:
            response = each.result()
            assert response.status_code in {200, 503}
            if response.status_code == 503:
                assert int(response.headers["retry-after"]) > 0
    assert http.get(f"{second}/readyz").status_code == 200  # what it cannot forward is refused by itself
    while send(second, 1_000).status_code == 503:
        assert time.monotonic() - killed < PATIENCE
        time.sleep(0.1)
    assert http.get(f"{second}/readyz").status_code == 200
    counts = re.findall(
        r"^(tutelage_forwarded\w+|tutelage_lease\w+|tutelage_leads)\{(.*)\} (.*)$",
        http.get(f"{second}/metrics").text,
        re.MULTILINE,
    )
    counts = {(name, labels): float(value) for name, labels, value in counts}
    assert counts["tutelage_forwarded_requests_total", 'outcome="answered"'] >= 10
    assert counts["tutelage_forwarded_requests_total", 'outcome="failed"'] >= 1
    assert counts["tutelage_lease_changes_total", 'change="acquired"'] == 1
    assert counts["tutelage_leads", 'campaign="c"'] == 1
    for number, response in list(answered.items()):
        assert send(second, number).json() == response | {"replayed": True}
    rows = [row["id"] for row in http.get(f"{second}/v1/campaigns/c/ledger").json()["rows"] if row["kind"] == "pull"]
    assert len(rows) == len(set(rows))
    assert {str(number) for number in answered} <= set(rows)
    log = servers.folder / f"log{second_port}"
    while "leadership taken" not in log.read_text():  # it is logged within two seconds
        assert time.monotonic() - killed < PATIENCE
        time.sleep(0.1)
    taken = [line for line in map(json.loads, log.read_text().splitlines()) if line["message"] == "leadership taken"]
    assert [line["campaigns"] for line in taken] == ["c"]


def test_acts_and_keys_go_along(servers):
    """Excluding, stopping, exporting and deleting by way of the follower, under the sender's key.

    The leader checks it, and its name is in the ledger and in the audit log, as if the leader had been asked.
    """
    from tutelage.service.api.access import make_key
    from tutelage.stores import open_keys

    with contextlib.closing(open_keys(servers.url)) as keys:
        admin, row = make_key("root", "admin", None, (), 1)
        keys.create_key(row)
        reporter, row = make_key("r", "reporter", "c", ("a",), 1)
        keys.create_key(row)
    first_port, second_port = free_ports(2)
    first, _ = servers.begin(first_port)
    second, _ = servers.begin(second_port, "--root-path", "/t")
    with httpx.Client(headers={"Authorization": f"Bearer {admin}"}, timeout=20) as http:
        http.post(f"{first}/v1/campaigns", json=CAMPAIGN | {"start": True}).raise_for_status()
        response = http.post(f"{second}/t/v1/campaigns/c/pulls", json={"pulls": [pull(0), pull(1)]})
        assert [one["id"] for one in response.json()["pulls"]] == ["0", "1"]
        assert response.headers.get_list("x-request-id") == [response.headers["x-request-id"]]
        own = {"Authorization": f"Bearer {reporter}"}
        assert httpx.post(f"{second}/v1/campaigns/c/pulls", json=pull(2), headers=own).status_code == 200
        assert httpx.post(f"{second}/v1/campaigns/c/pulls", json=pull(3), headers=own).status_code == 403
        assert httpx.post(f"{second}/v1/campaigns/c/stop", headers=own).status_code == 403
        assert httpx.post(f"{second}/v1/campaigns/c/stop").status_code == 401
        marked = {"X-Tutelage-Forwarded": "1"}
        assert http.post(f"{second}/v1/campaigns/c/stop", headers=marked).status_code == 503
        refused = http.post(f"{second}/v1/campaigns/c/pulls", json=pull(2, reward=0.25))
        assert refused.status_code == 409
        assert refused.headers["content-type"] == "application/problem+json"
        assert http.post(f"{second}/v1/campaigns/c/exclude", json={"client": "b"}).json()["excluded"] == ["b"]
        assert http.post(f"{second}/v1/campaigns/c/stop").json()["status"] == "stopped"
        rows = http.get(f"{first}/v1/campaigns/c/ledger").json()["rows"]
        acts = [(row["kind"], row["key"]) for row in rows if row["kind"] != "pull"]
        assert acts == [("started", "root"), ("excluded", "root"), ("stopped", "root")]
        assert http.delete(f"{second}/v1/campaigns/c").status_code == 409
        lines = http.get(f"{second}/v1/campaigns/c/export").text.splitlines()
        assert lines == http.get(f"{first}/v1/campaigns/c/export").text.splitlines()[: len(lines)]
        assert http.delete(f"{second}/v1/campaigns/c").status_code == 204
        assert http.get(f"{first}/v1/campaigns/c").status_code == 404
        records = http.get(f"{second}/v1/audit").json()["records"]
        assert [(one["action"], one["actor"], one["campaign"]) for one in records] == [
            (f"{act}", "root", "c")
            for act in (
                "create campaign",
                "start campaign",
                "exclude client",
                "stop campaign",
                "export campaign",
                "export campaign",
                "delete campaign",
            )
        ]


def test_the_database_goes_and_comes_back(servers, http):
    """One error line and one line at the end; requests are refused meanwhile, and readiness comes back at once."""
    (port,) = free_ports(1)
    address, _ = servers.begin(port)
    http.post(f"{address}/v1/campaigns", json=CAMPAIGN | {"start": True}).raise_for_status()
    http.post(f"{address}/v1/campaigns/c/pulls", json=pull(1)).raise_for_status()
    name = psycopg.conninfo.conninfo_to_dict(servers.url)["dbname"]

    def allow(allowed):
        with psycopg.connect(servers.url, dbname="template1", autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}")
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))

    def wait_for(status):
        begun = time.monotonic()
        while http.get(f"{address}/readyz").status_code != status:
            assert time.monotonic() - begun < PATIENCE
            time.sleep(0.05)
        return time.monotonic() - begun

    allow("false")
    wait_for(503)
    refused = http.post(f"{address}/v1/campaigns/c/pulls", json=pull(2))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    time.sleep(3)  # keys are read every second, and each reading fails
    allow("true")
    assert wait_for(200) < 10  # two seconds on a machine that has time
    while not http.post(f"{address}/v1/campaigns/c/pulls", json=pull(2)).is_success:
        time.sleep(0.1)
    lines = [json.loads(line) for line in (servers.folder / f"log{port}").read_text().splitlines()]
    of_store = [(line["level"], line["message"]) for line in lines if line["logger"] == "tutelage.store"]
    assert of_store == [("error", "the store fails"), ("info", "the store works again")]
    assert "leadership lost" not in {line["message"] for line in lines}
