"""A fake server for the client, and what the client's tests share."""

import json
import time

import httpx

from tutelage.client import Client


class FakeServer:
    """Answers with 1 - reward, except where ``faults`` has something else for the next requests."""

    def __init__(self, *faults):
        self.faults, self.pulls = list(faults), []

    def __call__(self, request):
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        if fault is not None:
            return fault
        pulls = json.loads(request.content)["pulls"]
        self.pulls += pulls
        answers = [
            {"id": pull["id"], "reward": pull["reward"], "adjustment": 0.0, "directive": 1, "replayed": False}
            if pull.get("bypassed")
            else {
                "id": pull["id"],
                "reward": 1 - pull["reward"],
                "adjustment": 1 - 2 * pull["reward"],
                "directive": 1,
                "replayed": False,
            }
            for pull in pulls
        ]
        return httpx.Response(200, json={"pulls": answers})


def client_of(server, kind=Client, **options):
    """A client whose requests go to ``server``."""
    return kind("http://server", "c", transport=httpx.MockTransport(server), **options)


def emptied(spool):
    """Whether all reports are delivered in the end."""
    end = time.monotonic() + 30
    while len(spool) and time.monotonic() < end:
        time.sleep(0.01)
    return not len(spool)


def problem(kind, status=409, detail="What is wrong.", **headers):
    """A refusal as the server words it."""
    content = {"type": f"urn:tutelage:problem:{kind}", "status": status, "detail": detail}
    return httpx.Response(status, json=content, headers={name.replace("_", "-"): headers[name] for name in headers})


def report(id, arm="a"):
    """A pull as it waits in a spool."""
    return {"id": id, "client": "anna", "arm": arm, "reward": 0.5, "bypassed": True}
