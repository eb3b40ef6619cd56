"""Measure a server with many campaigns after a restart: its start, lists and pages, its memory, and its end.

    python benchmarks/server_restart.py [--campaigns 1000] [--pulls 10000] [--steps 200] [--behind 20] [--store URL]

The store is filled first, unless its campaigns exist: each campaign has that many pulls in that many steps, a
minute apart, and a snapshot some steps before its end.  Then a server starts, and the list of campaigns, the page
of all campaigns and the metrics are asked for three times: at once, after the server has loaded the campaigns, and
30 seconds later.
Needs /proc.
"""

import re
import signal
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import httpx
from arguments import make_parser
from live_server import ServerProcess

from tutelage.service.campaigns.actions import start
from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import RULES_VERSION, Settings
from tutelage.service.campaigns.snapshot_format import decode_snapshot, encode_snapshot
from tutelage.stores import open_store
from tutelage.stores.base import Change, Head, Snapshot, StoredCampaign

CLIENTS, ARMS, STEP_MICROSECONDS = 5, 5, 60_000_000


def make_step(first: int, size: int) -> list[PullRequest]:
    """Return pulls of rising ids: each client in turn pulls each arm."""
    return [
        PullRequest(f"{number:012}", f"m{number % CLIENTS}", f"k{number // CLIENTS % ARMS}", number % 3 / 2, False)
        for number in range(first, first + size)
    ]


def make_settings(name: str) -> Settings:
    """Return the settings of a campaign."""
    arms, clients = (tuple(f"{letter}{n}" for n in range(count)) for letter, count in (("k", ARMS), ("m", CLIENTS)))
    return Settings(name=name, arms=arms, clients=clients, horizon=10**9, teacher="blt")


def play(pulls: int, steps: int, behind: int) -> tuple[list[Change], Snapshot]:
    """Return the changes of a campaign that ends now, a step in each, and the snapshot ``behind`` steps before."""
    begun = time.time_ns() // 1000 - steps * STEP_MICROSECONDS
    session = Session(StoredCampaign("c", make_settings("c").encode(), RULES_VERSION, begun, Head(0, 0, "", "")), 0)
    changes: list[Change] = []
    size = pulls // steps
    for step in range(steps + 1):
        if step == 0:
            start(session, begun, "")
        else:
            session.answer(make_step((step - 1) * size, size), {}, begun + step * STEP_MICROSECONDS)
        change = session.pending_change()
        assert change is not None  # noqa: S101 - each step has pulls
        changes.append(change)
        session.mark_committed()
        if step == steps - behind:
            snapshot = Snapshot(session.position, session.dump())
    changes[-1] = replace(changes[-1], head=session.head)
    return changes, snapshot


def fill(url: str, campaigns: int, pulls: int, steps: int, behind: int) -> None:
    """Create the campaigns that do not exist: copies of one, each with the hashes of its own name."""
    store = open_store(url)
    try:
        existing = {one.name for one in store.campaigns()}
        names = [name for name in (f"c{number:04}" for number in range(campaigns)) if name not in existing]
        if not names:
            return
        changes, snapshot = play(pulls, steps, behind)
        content = decode_snapshot(snapshot.content)
        for name in names:
            store.create(name, make_settings(name).encode(), RULES_VERSION, changes[0].entries[0].time, "")
            session = Session(store.load(name)[0], 0)
            for change in changes:
                for rows in (change.pulls, *change.entries):
                    if rows:
                        session._extend_digest(rows)  # noqa: SLF001
                if change.head.position == snapshot.position:
                    content.digest = session.digest
            head = replace(changes[-1].head, digest=session.digest.hex())
            rows = [row for change in changes for row in change.pulls], [row for one in changes for row in one.entries]
            token = store.lead(name, "")
            assert token is not None  # noqa: S101 - nobody else leads it
            copied = Snapshot(snapshot.position, encode_snapshot(content))
            store.append([Change(name, token, 0, head, *rows, copied)])
            store.release([name])
    finally:
        store.close()


def ask(http: httpx.Client, server: ServerProcess) -> str:
    """Return the seconds, and the server's processor time, for the list, the page of all campaigns and the metrics."""
    found = []
    for path in ("/v1/campaigns", "/", "/metrics"):
        begun, used = time.monotonic(), server.processor_seconds()
        http.get(path).raise_for_status()
        found.append(f"{path} {time.monotonic() - begun:.2f} s ({server.processor_seconds() - used:.2f} s)")
    return ", ".join(found)


def measure(url: str, campaigns: int) -> None:
    """Start a server on the store and print what it takes."""
    with tempfile.TemporaryDirectory() as folder:
        server = ServerProcess(["tutelage", "serve", "--store", url], Path(folder))
        print(f"start: {server.start():.2f} s, {server.memory():.0f} MiB", flush=True)
        begun = time.monotonic()
        try:
            with httpx.Client(base_url=server.address, timeout=300.0) as http:
                print(f"at once: {ask(http, server)}", flush=True)
                while len(re.findall(r"tutelage_leads{.*} 1", http.get("/metrics").text)) < campaigns:
                    time.sleep(1.0)
                print(f"loaded after {time.monotonic() - begun:.1f} s: {ask(http, server)}", flush=True)
                time.sleep(30.0)
                print(f"30 s later: {ask(http, server)}, {server.memory():.0f} MiB", flush=True)
            used = server.processor_seconds()
            before = time.monotonic()
            server.send_signal(signal.SIGTERM)
            print(f"end: {time.monotonic() - before:.2f} s; processor time before it {used:.0f} s", flush=True)
        finally:
            server.kill()


def main() -> None:
    """Fill the store and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("--campaigns", type=int, default=1_000)
    parser.add_argument("--pulls", type=int, default=10_000, help="pulls of each campaign")
    parser.add_argument("--steps", type=int, default=200, help="steps of each campaign")
    parser.add_argument("--behind", type=int, default=20, help="steps after the newest snapshot")
    parser.add_argument("--store", metavar="URL", help="a store that stays; by default one in a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = given.store or f"sqlite:///{folder}/restart.db"
        fill(url, given.campaigns, given.pulls, given.steps, given.behind)
        measure(url, given.campaigns)


if __name__ == "__main__":
    main()
