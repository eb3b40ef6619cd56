"""Histories of a server that is killed, restarted, overtaken and out of disk, compared with a model of it.

``python -m tests.service.campaigns.crash_histories --histories 3000`` runs many; ``--store postgresql`` does
so on a PostgreSQL server of its own.
"""

import argparse
import contextlib
import functools
import itertools
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from tests.service.campaigns import crash_child
from tests.service.campaigns.crash_child import DEATHS, FAILURES
from tests.stores import cluster

from tutelage.service.campaigns.settings import Settings
from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.stores import open_reader, upgrade
from tutelage.stores.base import EntryRow, PullRow, pages

ROOT = str(Path(__file__).parents[3])
CLIENTS, ARMS = ("a", "b", "c"), ("x", "y")
TEACHERS = ("none", "twl(gamma1=1,gamma2=0)", "tal(gamma1=0.75,gamma2=0.25)", "blt", "change-detector(teacher=blt)")
SECONDS = 30.0  # that an answer may take: a server that hangs fails the test
COUNTS = Counter()  # what all histories have been through


@dataclass
class ExpectedPull:
    """What the model knows about a pull; None where either is possible."""

    stored: bool | None = False
    corrected: bool | None = False  # reported as bypassed, and the report is stored
    first_response: tuple | None = None  # reward, adjustment, directive

    def expect(self, sent, reward, adjustment, directive):
        """Check an answer against all that was said before, and learn from it."""
        observed = sent[3]
        assert adjustment == reward - observed
        if self.corrected:
            assert reward == observed
        if self.first_response is None:
            # A pull that is perhaps corrected may show its first answer later; only its directive is certain.
            self.first_response = (reward, directive)
            return
        assert directive == self.first_response[1]
        if self.corrected is None and reward == observed != self.first_response[0]:
            self.corrected = True
        elif not self.corrected:
            assert reward == self.first_response[0]


def sent_pull(number):
    """The pull of a number: what is sent under its id never changes."""
    reward = ((number * 37) % 16) / 16
    return (f"p{number}", CLIENTS[number % 3], ARMS[number * 5 % 7 % 2], reward)


@dataclass
class Model:
    """One campaign as it must be."""

    status: str = "running"
    excluded: set = field(default_factory=set)
    pulls: dict = field(default_factory=dict)

    def of(self, number):
        """What is known of a pull."""
        return self.pulls.setdefault(number, ExpectedPull())

    def heard(self, request, outcome, committed=True):
        """Check the outcome of a request, None if nobody heard it, and change as it must have changed."""
        kind, content = request
        if kind != "pulls":
            self._acted(kind, content, outcome, committed=committed)
            return
        reported = {number for number, bypassed in content if bypassed}  # which a stopped campaign takes
        new = [number for number, _ in content if number not in reported and not self.of(number).stored]
        if self.status != "running" and new:
            # Those that may be stored make the outcome open; then nothing is learnt from a refusal.
            certain = any(self.of(number).stored is False for number in new)
            if certain or outcome == "stopped":
                assert outcome in (None, "stopped"), outcome
                return
        if outcome is None:
            self._changed(content, committed)
            return
        assert isinstance(outcome, list), outcome
        assert [response[0] for response in outcome] == [sent_pull(number)[0] for number, _ in content]
        seen = set()
        for (number, _), response in zip(content, outcome, strict=True):
            known = self.of(number)
            if known.stored is not None or number in seen:
                assert response[4] == (known.stored or number in seen), f"{response} of {known}"
            seen.add(number)
        self._changed(content, committed)
        for (number, _), response in zip(content, outcome, strict=True):
            self.of(number).expect(sent_pull(number), *response[1:4])

    def _changed(self, content, committed):
        if committed is False:
            return
        for number, bypassed in content:
            known = self.of(number)
            known.stored = True if known.stored else committed
            if bypassed:
                known.corrected = True if known.corrected else committed

    def _acted(self, kind, client, outcome, *, committed):
        if kind == "exclude":
            is_fine = client not in self.excluded and len(self.excluded) < len(CLIENTS) - 1
            assert outcome in (None, [] if is_fine else "not-excludable")
            if is_fine and committed:
                self.excluded.add(client)
        else:
            assert outcome in (None, [])
            if committed:
                self.status = "running" if kind == "start" else "stopped"


class Server:
    """A process that serves."""

    context = multiprocessing.get_context("forkserver")

    def __init__(self, url, address, tuning):
        _begin_nursery()
        self.pipe, other = self.context.Pipe()
        self.process = self.context.Process(
            target=crash_child.live_until_stopped, args=(other, url, address, tuning), daemon=True
        )
        self.process.start()
        other.close()
        assert self.hear() == "open"

    def ask(self, jobs, point=None, part=0.0):
        """The outcomes of a group; None if the server died over it."""
        self.pipe.send((point, part, jobs))
        return self.hear()

    def hear(self):
        """What comes; None if the server has died."""
        assert self.pipe.poll(SECONDS), "the server does not answer"
        try:
            return self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join(SECONDS)
            assert self.process.exitcode < 0, "it was not killed: see its traceback"
            return None

    def close(self):
        """In good order."""
        self.pipe.send(None)
        assert self.hear() == "closed"
        self.process.join(SECONDS)
        self.pipe.close()

    def kill(self):
        """SIGKILL."""
        self.process.kill()
        self.process.join(SECONDS)
        self.pipe.close()


@functools.cache
def _begin_nursery():
    """The process that all servers are forked from has loaded what they need."""
    Server.context.set_forkserver_preload(
        [
            "tests.service.campaigns.crash_child",
            "hypothesis.stateful",
            "tests.stores.cluster",
            "tutelage.service.campaigns.verifying",
        ]
    )
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([ROOT, *sys.path])
    forkserver.ensure_running()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


class Files:
    """Each history has a file of its own."""

    shares = False

    def __init__(self, folder):
        self.folder, self.numbers = folder, itertools.count()
        self.made = folder / "made.db"
        upgrade(f"sqlite:///{self.made}")

    def new(self, *, empty):
        """The address of a store, without its tables if it is to be empty."""
        path = self.folder / f"{next(self.numbers)}.db"
        if not empty:
            shutil.copy(self.made, path)
        return f"sqlite:///{path}"

    def forget(self, url):
        """It is needed no more."""
        for path in self.folder.glob(Path(url).name + "*"):
            path.unlink()

    def end_leases(self, url):
        """A file has none."""


class Databases:
    """Each history has a campaign of its own, or a database if it is to make the tables."""

    shares = True

    def __init__(self, folder):
        self.folder, self.numbers = folder, itertools.count()
        self.main = psycopg.connect(cluster.url(folder, "postgres"), autocommit=True)
        self.made = self.new(empty=True)
        upgrade(self.made)

    def new(self, *, empty):
        """The address of a store, without its tables if it is to be empty."""
        if not empty:
            return self.made
        name = f"h{next(self.numbers)}"
        self.main.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        return cluster.url(self.folder, name)

    def forget(self, url):
        """It is needed no more."""
        if url != self.made:
            name = url.partition("?")[0].rpartition("/")[2]
            self.main.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self):
        """No more databases are made."""
        self.main.close()

    end_leases = staticmethod(cluster.end_leases)


_names = itertools.count()


class Histories(RuleBasedStateMachine):
    """What clients, operators, disks and power cuts do to a campaign, in any order."""

    place: Any = None  # Files or Databases

    def __init__(self):
        super().__init__()
        self.model, self.server, self.fresh = Model(), None, 0
        self.name = f"c{next(_names)}"

    @initialize(
        teacher=st.sampled_from(TEACHERS),
        killed=st.sampled_from([None] * 14 + [0, 1, 5, 11, 13, 15]),
        tuning=st.tuples(st.sampled_from([3, 100]), st.sampled_from([1, 9, 1000]), st.sampled_from([1, 30])),
    )
    def begin(self, teacher, killed, tuning):
        """A store, whose migration may be killed, and a campaign that runs."""
        COUNTS["histories"] += 1
        self.tuning = tuning
        self.url = self.place.new(empty=killed is not None)
        if killed is not None:
            COUNTS["killed in migration"] += 1
            dying = Server.context.Process(target=crash_child.migrate, args=(self.url, killed))
            dying.start()
            dying.join(SECONDS)
            assert dying.exitcode == -9
        self.open()
        settings = Settings(self.name, ARMS, 120, teacher, clients=CLIENTS)
        assert self.server.ask([("create", self.name, settings)]) == [[]]

    def open(self):
        """The next server."""
        self.server = Server(self.url, f"server{next(_names)}", self.tuning)

    def group(self, requests, point=None, part=0.0):
        """What comes of these requests, which share a transaction."""
        jobs = []
        for kind, content in requests:
            if kind == "pulls":
                content = [(*sent_pull(number), bypassed) for number, bypassed in content]  # noqa: PLW2901
            jobs.append((kind, self.name, content))
        return self.server.ask(jobs, point, part)

    def numbers(self, data, most=4):
        """Pulls of a request: new ones and old ones, some reported as bypassed, in any order."""
        kinds = data.draw(st.lists(st.sampled_from(["new", "new", "old", "report"]), min_size=1, max_size=most))
        content = []
        for kind in kinds:
            if kind == "new" or not self.fresh:
                content.append((self.fresh, data.draw(st.integers(0, 5)) == 0))
                self.fresh += 1
            else:
                content.append((data.draw(st.integers(0, self.fresh - 1)), kind == "report"))
        return data.draw(st.permutations(content)) if len(content) > 1 else content

    def requests(self, data):
        """Some requests of pulls."""
        return [("pulls", self.numbers(data)) for _ in range(data.draw(st.integers(1, 3)))]

    @rule(data=st.data())
    def send(self, data):
        """A group like any other."""
        requests = self.requests(data)
        for request, outcome in zip(requests, self.group(requests), strict=True):
            self.model.heard(request, outcome)

    @rule(data=st.data(), rounds=st.integers(1, 12))
    def play(self, data, rounds):
        """Whole rounds, so that teachers come to decide."""
        for _ in range(rounds):
            start = -(-self.fresh // 6) * 6
            self.fresh = start + 6
            request = ("pulls", [(number, False) for number in range(start, start + 6)])
            self.model.heard(request, self.group([request])[0])

    @precondition(lambda self: any(known.stored for known in self.model.pulls.values()))
    @rule(data=st.data())
    def send_other_content(self, data):
        """A reused id is refused, and so is what comes with it."""
        number = data.draw(st.sampled_from([n for n, known in self.model.pulls.items() if known.stored]))
        id, client, arm, reward = sent_pull(number)
        other = (id, client, arm, 1.0 - reward if reward != 0.5 else 0.75, False)
        new = (*sent_pull(self.fresh), False)
        self.fresh += 1
        assert self.server.ask([("pulls", self.name, [new, other])]) == ["conflict"]

    @rule(act=st.sampled_from(["start", "start", "stop", "exclude"]), client=st.sampled_from(CLIENTS))
    def act(self, act, client):
        """An operator's doing."""
        request = (act, client if act == "exclude" else "")
        self.model.heard(request, self.group([request])[0])

    @rule(data=st.data(), point=st.sampled_from(sorted(DEATHS)), part=st.floats(0, 1))
    def crash(self, data, point, part):
        """SIGKILL at a named point."""
        requests = self.requests(data)
        if data.draw(st.integers(0, 3)) == 0:
            requests.append((data.draw(st.sampled_from(["start", "stop"])), ""))
        outcomes = self.group(requests, point, part)
        COUNTS[point if outcomes is None else f"not reached: {point}"] += 1
        for index, request in enumerate(requests):
            if outcomes is None:
                self.model.heard(request, None, DEATHS[point])
            else:  # nothing was to be written, or the log was too short
                self.model.heard(request, outcomes[index])
        if outcomes is None:
            self.server.kill()
            self.place.end_leases(self.url)
            self.open()

    @rule(data=st.data(), point=st.sampled_from(sorted(FAILURES)))
    def fail(self, data, point):
        """A transaction fails; the server lives on, and everybody in the group gets that response."""
        if "lost" in point and not self.place.shares:
            return
        requests = self.requests(data)
        outcomes = self.group(requests, point)
        failed = "unavailable" in outcomes
        COUNTS[point if failed else f"not reached: {point}"] += 1
        for request, outcome in zip(requests, outcomes, strict=True):
            if failed:
                assert outcome == "unavailable"
                self.model.heard(request, None, FAILURES[point])
            else:
                self.model.heard(request, outcome)

    @rule(kill=st.booleans())
    def restart(self, kill):
        """In good order, or killed while idle."""
        COUNTS["killed idle" if kill else "restarted"] += 1
        if kill:
            self.server.kill()
            self.place.end_leases(self.url)
        else:
            self.server.close()
        self.open()

    @rule(data=st.data())
    def change_leader(self, data):
        """Another server takes over while the first lives on, and that one gets nothing in any more."""
        if not self.place.shares:
            return
        COUNTS["leader changes"] += 1
        old = self.server
        self.place.end_leases(self.url)
        self.open()
        self.send(data)
        new, self.server = self.server, old
        number, self.fresh = self.fresh, self.fresh + 1
        outcome = self.group([("pulls", [(number, False)])])[0]
        assert outcome == "not-leading" or (outcome == "stopped" and self.model.status == "stopped"), outcome
        old.kill()
        self.server = new

    def teardown(self):
        """Every answered pull is there once, every answer repeats, and the ledger verifies."""
        if self.server is None:
            return
        try:
            self.check()
        finally:
            self.server.kill()
            self.place.forget(self.url)

    def check(self):
        """The three sentences."""
        if not self.server.process.is_alive():
            return  # a failure that was found already
        answered = [number for number, known in self.model.pulls.items() if known.first_response]
        if answered:
            request = ("pulls", [(number, False) for number in reversed(answered)])
            self.model.heard(request, self.group([request])[0])
        with contextlib.closing(open_reader(self.url)) as reader:
            rows = list(pages(reader, self.name))
            assert verify_ledger(reader, self.name) == (len(rows), [])
        pulls = {row.id: row for row in rows if isinstance(row, PullRow)}
        COUNTS["decisions"] += sum(isinstance(row, EntryRow) and row.kind == "decided" for row in rows)
        COUNTS["pulls"] += len(pulls)
        assert len(pulls) == sum(isinstance(row, PullRow) for row in rows)
        corrected = {row.id for row in rows if isinstance(row, EntryRow) and row.kind == "bypassed"}
        for number, known in self.model.pulls.items():
            id, client, arm, reward = sent_pull(number)
            if known.stored is not None:
                assert (id in pulls) == known.stored, f"{id}: {known}"
            if known.first_response:
                row = pulls[id]
                assert (row.client, row.arm, row.observed) == (CLIENTS.index(client), ARMS.index(arm), reward)
                shown = row.observed if id in corrected else row.revealed
                expected = reward if known.corrected else known.first_response[0]
                assert (shown, row.directive) == (expected, known.first_response[1])
        assert pulls.keys() <= {sent_pull(number)[0] for number in self.model.pulls}


@contextlib.contextmanager
def places(store):
    """Where histories are stored: ``sqlite`` or ``postgresql``."""
    if store == "sqlite":
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - as in cluster.py
        with tempfile.TemporaryDirectory(prefix="tutelage-", dir=shared) as name:
            yield Files(Path(name))
    else:
        with cluster.running(cluster.binaries()) as folder, contextlib.closing(Databases(folder)) as place:
            yield place


def play(machine, place, histories, steps=25, **options):
    """Play this number of histories of a machine; the first that goes wrong is made as short as it can be, and raised.

    Returns ``COUNTS``.
    """
    COUNTS.clear()
    settings = hypothesis.settings(
        max_examples=histories,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        **options,
    )
    run_state_machine_as_test(type(machine.__name__, (machine,), {"place": place}), settings=settings)
    return COUNTS


def play_in_test(machine, store, histories, steps):
    """Play as many histories as hypothesis' profile asks for, ``histories`` in the default one; return ``COUNTS``."""
    if store == "postgresql" and cluster.binaries() is None:
        pytest.skip("no PostgreSQL server is installed: put its initdb on the PATH")
    profile = hypothesis.settings()
    with places(store) as place:
        return play(machine, place, histories * profile.max_examples // 30, steps, derandomize=profile.derandomize)


def play_many(machine, description, histories):
    """The long run, from the command line."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--histories", type=int, default=histories)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    given = parser.parse_args()
    begun = time.monotonic()
    with places(given.store) as place:
        counts = play(machine, place, given.histories, given.steps)
    for what, count in sorted(counts.items()):
        print(f"{count:8d} {what}")  # noqa: T201
    print(f"no fault on {given.store} in {time.monotonic() - begun:.0f} s")  # noqa: T201


if __name__ == "__main__":
    play_many(Histories, __doc__, 3000)
