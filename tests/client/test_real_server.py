"""The client before a real server that is paused, killed and restarted."""

import contextlib
import signal
import socket
import time

import httpx
import pytest
from tests.cli.commands import running_server
from tests.client.fake_server import emptied

from tutelage.client import Client, ObservedReward, PullRefusal

CAMPAIGN = {"name": "c", "arms": ["x", "y"], "clients": ["anna", "ben"], "horizon": 10**6, "start": True}


def test_no_pull_is_lost_or_counted_twice_whatever_becomes_of_the_server(tmp_path):
    """A real server is paused, killed, restarted and stopped: it has each pull once, as it was shown."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shown = []

    def pull(client, times):
        responses = []
        for _ in range(times):
            arm = "xy"[len(shown + responses) % 2]
            responses.append((client.reveal("anna", arm, 0.5), arm))
        shown.extend(responses)
        return [one.bypassed for one, _ in responses]

    with contextlib.ExitStack() as ended:
        with running_server(tmp_path, port=port) as (address, server):
            made = CAMPAIGN | {"teacher": "known(target=0)"}
            httpx.post(f"{address}/v1/campaigns", json=made).raise_for_status()
            client = Client(address, "c", deadline=0.3, spool=tmp_path / "spool")
            ended.callback(client.close)
            client.reveal("ben", "x", 0.5)
            assert not any(pull(client, 4))
            server.send_signal(signal.SIGSTOP)
            assert all(pull(client, 2))
            server.send_signal(signal.SIGCONT)
            assert emptied(client.spool)
            batch = client.reveal_all([ObservedReward("anna", "y", 0.5)] * 3)
            shown.extend((one, "y") for one in batch)
            assert [one.reward for one in batch] == [0.0] * 3
            with pytest.raises(PullRefusal, match="sent before"):
                client.reveal("anna", "x", 0.5, id=shown[1][0].id)
            server.kill()
            server.wait()
            assert all(pull(client, 2))
        with running_server(tmp_path, port=port) as (address, server):
            assert emptied(client.spool)
            assert not any(pull(client, 2))
            httpx.post(f"{address}/v1/campaigns/c/stop").raise_for_status()
            assert all(pull(client, 2))
            httpx.post(f"{address}/v1/campaigns/c/start").raise_for_status()
            assert not any(pull(client, 2))
            assert emptied(client.spool)
            pulls = [{"id": one.id, "client": "anna", "arm": arm, "reward": 0.5} for one, arm in shown]
            again = httpx.post(f"{address}/v1/campaigns/c/pulls", json={"pulls": pulls}).json()["pulls"]
            assert all(one["replayed"] for one in again)
            assert [one["reward"] for one in again] == [one.reward for one, _ in shown]
            assert httpx.get(f"{address}/v1/campaigns/c").json()["num_pulls"] == len(shown) + 1


def test_what_a_killed_process_bypassed_is_reported_by_the_next(tmp_path, python):
    """SIGKILL right after the response; a missing key neither raises an error nor loses a pull."""
    script = """
import os, signal, sys
from tutelage.client import Client
client = Client("http://127.0.0.1:9", "c", deadline=0.05, spool="spool")
print(client.reveal("anna", "x", 0.5).id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    killed = python("-c", script, cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    with running_server(tmp_path) as (address, _):
        httpx.post(f"{address}/v1/campaigns", json=CAMPAIGN | {"teacher": "none"}).raise_for_status()
        secret = python(
            *("-m", "tutelage", "key", "create", "app", "--role", "reporter", "--campaign", "c"),
            *("--store", "sqlite:///t.db"),
            cwd=tmp_path,
        ).stdout.strip()
        end = time.monotonic() + 30
        while httpx.get(f"{address}/v1/campaigns").status_code != 401 and time.monotonic() < end:
            time.sleep(0.05)
        keyless = Client(address, "c", spool=tmp_path / "spool")
        assert keyless.reveal("ben", "y", 0.5).bypassed
        assert len(keyless.spool) == 2
        keyless.close(seconds=0)
        with Client(address, "c", key=secret, spool=tmp_path / "spool") as client:
            assert emptied(client.spool)
            response = client.reveal("anna", "x", 0.5, id=killed.stdout.strip())
            assert response.reward == 0.5
