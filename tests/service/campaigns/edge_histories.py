"""Histories of a leader and two edges that are killed, cut off and overtaken, compared with plain Python.

``python -m tests.service.campaigns.edge_histories --histories 1000`` runs many.  The processes are those of
``crash_histories.py``; the messages between them are lost, repeated and re-ordered here.
"""

import contextlib
import dataclasses
import itertools
from collections import Counter, defaultdict
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.service.campaigns.crash_child import DEATHS
from tests.service.campaigns.crash_histories import ARMS, CLIENTS, COUNTS, Server, play_many

from tutelage.service.campaigns.campaign import Campaign
from tutelage.service.campaigns.edge_messages import EdgeClaim
from tutelage.service.campaigns.entry_contents import AssignedContent, DirectedContent, ReportedContent
from tutelage.service.campaigns.settings import Edge, Settings, decode_settings
from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.stores import open_reader, upgrade
from tutelage.stores.base import PullRow, pages

TEACHERS = (
    "none",
    "twl(gamma1=1,gamma2=0)",
    "tal(gamma1=0.75,gamma2=0.25)",
    "blt",
    "blt(dependence=any)",
    "change-detector(teacher=blt)",
)
EDGES = ("e0", "e1")
HORIZON = 150
_names, _sends = itertools.count(), itertools.count()


def reward_of(number):
    """The observed reward of a pull."""
    return ((number * 37) % 16) / 16


class EdgeHistories(RuleBasedStateMachine):
    """What edges, their clients, operators and power cuts do to a campaign, in any order."""

    place: Any = None  # Files or Databases of crash_histories.py

    def __init__(self):
        super().__init__()
        self.servers, self.urls, self.ledgers = {}, {}, defaultdict(list)
        self.sent, self.reports, self.answered = {}, [], {}
        self.fresh, self.name = 0, f"c{next(_names)}"

    @initialize(
        teacher=st.sampled_from(TEACHERS),
        tuning=st.tuples(st.sampled_from([3, 100]), st.sampled_from([1, 9, 1000]), st.sampled_from([1, 30])),
    )
    def begin(self, teacher, tuning):
        """A leader with a campaign that runs, and two edges."""
        COUNTS["histories"] += 1
        self.tuning, self.settings = tuning, Settings(self.name, ARMS, HORIZON, teacher, clients=CLIENTS)
        for who in ("leader", *EDGES):
            self.urls[who] = self.new_store()
            self.open(who)
        assert self.ask("leader", "create", self.settings) == []
        assert self.claim("e0", CLIENTS[:2])
        assert self.claim("e1", CLIENTS[2:])

    def new_store(self):
        """The address of a store of its own, also on a PostgreSQL server, where other histories share one."""
        url = self.place.new(empty=True)
        upgrade(url)
        return url

    def open(self, who):
        """The next process of this server."""
        self.servers[who] = Server(self.urls[who], f"server{next(_names)}", self.tuning)
        self.sent[who] = {}  # it is in the edge's memory

    def ask(self, who, kind, content, point=None):
        """The outcome of a job; None if the process died over it, which is replaced."""
        outcomes = self.servers[who].ask([(kind, self.name, content)], point, 0.5)
        if outcomes is None:
            COUNTS[f"killed {point}: {'leader' if who == 'leader' else 'edge'}, {kind}"] += 1
            self.restart(who)
            return None
        return outcomes[0]

    def restart(self, who):
        """SIGKILL, and a new process."""
        self.servers[who].kill()
        self.place.end_leases(self.urls[who])
        self.open(who)

    def draw_point(self, data):
        """Where the next process dies, mostly nowhere."""
        return data.draw(st.sampled_from([None] * 21 + sorted(DEATHS)))

    def claim(self, edge, clients, points=(None, None)):
        """What an edge does before it answers the first pull of clients; whether it was done."""
        answer = self.ask("leader", "claim", (EdgeClaim(edge, list(clients)),), points[0])
        if answer is None:
            return False
        claimed = copied(answer[1])
        held = self.ask(edge, "held", ())
        if held == "unknown-campaign":
            settings = dataclasses.replace(decode_settings(claimed.settings), edge=Edge(edge, claimed.created))
            if self.ask(edge, "create", settings) is None:
                return False
        return self.ask(edge, "hold", (claimed,), points[1]) is not None

    @rule(data=st.data(), edge=st.sampled_from(EDGES), clients=st.sets(st.sampled_from(CLIENTS), min_size=1))
    def pull(self, data, edge, clients):
        """Clients send pulls to an edge, which claims those that it does not hold."""
        held = self.ask(edge, "held", ())
        missing = clients - (held[1] if isinstance(held, tuple) else set())
        points = self.draw_point(data), self.draw_point(data)
        if missing and not self.claim(edge, sorted(missing), points):
            return
        self.send(edge, clients, data.draw(st.integers(1, 8)), self.draw_point(data))

    def send(self, who, clients, rounds, point=None):
        """Pulls of each arm by each of these clients, as one request; the outcome.

        Every other time an edge gets them as the short path gives it those of many requests.
        """
        pulls = []
        for client, arm, _ in itertools.product(sorted(clients), ARMS, range(rounds)):
            pulls.append((f"p{self.fresh:06}", client, arm, reward_of(self.fresh), False))
            self.fresh += 1
        outcome = "not all new"
        if who != "leader" and next(_sends) % 2:
            outcome = self.ask(who, "new pulls", pulls, point)
            COUNTS["answered together"] += isinstance(outcome, list)
        if outcome == "not all new":
            outcome = self.ask(who, "pulls", pulls, point)
        if isinstance(outcome, list):
            self.answered |= {id: (who, reward) for id, reward, *_ in outcome}
        else:
            assert outcome in (None, "moved", "stopped", "unknown-campaign"), outcome
        return outcome

    @rule(data=st.data(), edge=st.sampled_from(EDGES))
    def report(self, data, edge):
        """An edge reports; the answer may be lost, or one of the two may die over it."""
        made = self.collect(edge)
        if made is not None:
            points = self.draw_point(data), self.draw_point(data)
            self.deliver(edge, *made, is_lost=data.draw(st.booleans()), points=points)

    def collect(self, edge):
        """The report that an edge makes now, and what it has sent then; None without a copy of the campaign."""
        made = self.ask(edge, "collect", (self.sent[edge],))
        if not isinstance(made, tuple):
            return None
        report = copied(made[1][0])
        self.reports.append(report)
        return report, made[1][1]

    def deliver(self, edge, report, new, *, is_lost=False, points=(None, None)):
        """Give a report to the leader, and its answer to the edge; return the answer."""
        answer = self.ask("leader", "report", (report,), points[0])
        if answer is None or is_lost:
            return None
        answer = copied(answer[1])
        refused = {one.client for one in answer.lost}.union(answer.behind)
        sent = self.sent[edge] | new
        self.sent[edge] = {client: known for client, known in sent.items() if client not in refused}
        self.ask(edge, "follow", (answer,), points[1])
        return answer

    @rule(data=st.data())
    def repeat(self, data):
        """An old report arrives again, after newer ones."""
        if self.reports:
            report = data.draw(st.sampled_from(self.reports))
            COUNTS["repeated reports"] += 1
            self.ask("leader", "report", (report,), self.draw_point(data))

    @rule(client=st.sampled_from(CLIENTS), edge=st.sampled_from(["", *EDGES]))
    def move(self, client, edge):
        """An operator moves a client to an edge, or to the leader, whose pulls are then sent there."""
        COUNTS["moves"] += 1
        known = self.ask("leader", "record", (CLIENTS.index(client),))[1][1]
        is_elsewhere = (known.edge if known else "") != edge
        assert self.ask("leader", "assign", (client, edge)) == ("done", is_elsewhere)
        if edge == "":
            assert self.send("leader", {client}, 2) != "moved"

    @rule(act=st.sampled_from(["start", "start", "stop", "exclude"]), client=st.sampled_from(CLIENTS))
    def act(self, act, client):
        """An operator's doing."""
        outcome = self.ask("leader", act, client if act == "exclude" else "")
        assert outcome in ([], "not-excludable"), outcome

    @rule(rounds=st.integers(2, 8))
    def play(self, rounds):
        """All clients pull where they are, and all is reported after each round, so that teachers come to decide."""
        for _ in range(rounds):
            for edge in EDGES:
                held = self.ask(edge, "held", ())
                if isinstance(held, tuple) and held[1]:
                    self.send(edge, held[1], 3)
                    self.deliver(edge, *self.collect(edge))

    @rule(rounds=st.integers(2, 8))
    def play_more(self, rounds):
        """As often again."""
        self.play(rounds)

    @rule(who=st.sampled_from(["leader", *EDGES]), is_disk_lost=st.integers(0, 3))
    def kill(self, who, is_disk_lost):
        """SIGKILL while idle; an edge may begin with an empty disk, and what it had not reported is lost."""
        if who == "leader" or is_disk_lost:
            COUNTS["killed idle"] += 1
            self.restart(who)
            return
        COUNTS["lost disks"] += 1
        self.servers[who].kill()
        self.ledgers[who].append(read_rows(self.urls[who], self.name))
        self.urls[who] = self.new_store()
        self.open(who)

    @rule(edge=st.sampled_from(EDGES), rounds=st.integers(1, 3))
    def change_leader(self, edge, rounds):
        """Another server of the leader's database takes over while the first lives on, which stores nothing more."""
        if not self.place.shares:
            return
        COUNTS["leader changes"] += 1
        old = self.servers["leader"]
        held = self.ask(edge, "held", ())
        if isinstance(held, tuple) and held[1]:
            self.send(edge, held[1], rounds)
        self.place.end_leases(self.urls["leader"])
        self.open("leader")
        assert isinstance(self.ask("leader", "record", (0,)), tuple)  # leads from now on
        if made := self.collect(edge):
            outcome = old.ask([("report", self.name, made[:1])])[0]
            COUNTS["reports refused"] += outcome == "not-leading"
            self.deliver(edge, *made)
        outcomes = [old.ask([(act, self.name, "")])[0] for act in ("stop", "start")]
        assert "not-leading" in outcomes, outcomes
        old.kill()

    def teardown(self):
        """Everything that is said of edges is so."""
        if len(self.servers) < 1 + len(EDGES):
            return
        try:
            self.check()
        finally:
            for who, server in self.servers.items():
                server.kill()
                self.place.forget(self.urls[who])

    def check(self):
        """All is reported at last; then the ledgers agree."""
        if not all(server.process.is_alive() for server in self.servers.values()):
            return  # a failure that was found already
        for edge in EDGES * 2:  # also without news of clients: the second time the leader's newest directive is held
            while (made := self.collect(edge)) and (answer := self.deliver(edge, *made)) and made[0].clients:
                if {one.client for one in made[0].clients} <= {one.client for one in answer.lost}:
                    break
        for number in range(len(CLIENTS)):
            self.check_same(number)
        for who, server in self.servers.items():
            assert server.process.is_alive()
            rows = read_rows(self.urls[who], self.name)
            if rows:
                with contextlib.closing(open_reader(self.urls[who])) as reader:
                    assert verify_ledger(reader, self.name) == (len(rows), [])
            self.ledgers[who].append(rows)
        Comparison(self.settings, self.ledgers).check()
        kept = {
            row.id: (who, row.revealed)
            for who in self.ledgers
            for rows in self.ledgers[who]
            for row in rows
            if isinstance(row, PullRow)
        }
        assert self.answered.items() <= kept.items()

    def check_same(self, number):
        """The leader knows of a client what the edge that holds it knows."""
        record, known = self.ask("leader", "record", (number,))[1]
        if known is None or not known.edge:
            return
        made = self.ask(known.edge, "record", (number,))
        if isinstance(made, tuple) and made[1][1] and made[1][1][:2] == known[:2]:
            record.is_left_out = made[1][0].is_left_out
            assert made[1][0] == record
            COUNTS["records compared"] += 1


def copied(message):
    """A message as it arrives."""
    return msgspec.json.decode(msgspec.json.encode(message), type=type(message))


def read_rows(url, name):
    """All rows of a campaign, none if it is not there."""
    with contextlib.closing(open_reader(url)) as reader:
        return list(pages(reader, name))


class Comparison:
    """The ledgers of edges in plain Python, and a leader that sees their pulls."""

    def __init__(self, settings, ledgers):
        self.campaign = Campaign(settings.setup(settings.clients))
        self.cuts, self.sums, self.pulls = self.campaign.cuts, {}, defaultdict(list)
        self.leader = ledgers["leader"][0]
        for edge in EDGES:
            for rows in ledgers[edge]:
                self.read_edge(edge, rows)

    def read_edge(self, edge, rows):
        """Cut the pulls of an edge's ledger into segments, one after the other."""
        size = range(len(ARMS))
        period, fences, left_out = (0, 0), {}, set()
        counts, sums = defaultdict(lambda: [0 for _ in size]), defaultdict(lambda: [0.0 for _ in size])
        rounds, step, pulled = Counter(), 0, set()
        for row in rows:
            if row.step != step:  # of a window, the first step in which a client pulls is left out
                left_out, step, pulled = left_out - pulled, row.step, set()
            if isinstance(row, PullRow):
                rounds[row.client] += 1
                pulled.add(row.client)
                is_evidence = rounds[row.client] <= HORIZON and row.client not in left_out
                key = (edge, row.client, fences[row.client])
                self.pulls[key].append((row.position, period, row.arm, row.observed, is_evidence))
                if is_evidence:
                    counts[row.client][row.arm] += 1
                    sums[row.client][row.arm] += row.observed
                    if counts[row.client][row.arm] in self.cuts:
                        segment = self.cuts.index(counts[row.client][row.arm])
                        self.sums[(*key, row.arm, segment, period)] = sums[row.client][row.arm]
                        sums[row.client][row.arm] = 0.0
            elif row.kind == "assigned":
                content = msgspec.json.decode(row.content, type=AssignedContent)
                client = CLIENTS.index(content.client)
                fences[client] = content.fence
                pulled.discard(client)
                if content.record is not msgspec.UNSET:
                    rounds[client] = content.record.rounds
                    counts[client], sums[client] = list(content.record.counts), list(content.record.sums)
                    left_out = left_out | {client} if period[1] else left_out
            elif row.kind == "directed":
                directive = msgspec.json.decode(row.content, type=DirectedContent).directive
                if (directive.restarts, directive.windows) != period:
                    left_out = set(range(len(CLIENTS))) if directive.windows > period[1] else left_out
                    period = (directive.restarts, directive.windows)
                    counts.clear(), sums.clear()

    def check(self):
        """Every reported sum is that of the pulls, reported once; a leader that saw them decides the same."""
        campaign, seen, until, fences, decision = self.campaign, set(), Counter(), {}, None
        steps = itertools.groupby(self.leader, key=lambda row: isinstance(row, PullRow) and row.step)
        for is_step, rows in steps:
            group = list(rows)
            if is_step:
                found = [(row.client, row.arm, row.observed, row.bypassed) for row in group]
                decision = campaign.step(*zip(*found, strict=True)).decision
                continue
            for row in group:
                if row.kind == "assigned":
                    content = msgspec.json.decode(row.content, type=AssignedContent)
                    fences[CLIENTS.index(content.client)] = (content.edge, content.fence)
                elif row.kind == "excluded":
                    campaign.exclude(CLIENTS.index(msgspec.json.decode(row.content)["client"]))
                elif row.kind == "reported":
                    content = msgspec.json.decode(row.content, type=ReportedContent)
                    decision = self.observe(content, seen, until, fences)
                elif row.kind == "decided":
                    assert decision is not None
                    content = msgspec.json.decode(row.content)
                    assert content["evidence"] == [sums.tolist() for sums in decision.evidence.sums]
                    assert content["active_arms"] == [ARMS[arm] for arm in decision.directive.active_arms]
                    assert content["directive"] == campaign.consultations
                    COUNTS["decisions"] += 1
                    decision = None
            assert decision is None  # the leader decided, too

    def observe(self, content, seen, until, fences):
        """Observe the pulls behind a report; the decision that follows."""
        campaign, has_evidence = self.campaign, False
        for one in content.clients:
            key = (content.edge, one.client, one.fence)
            assert fences[one.client] == (content.edge, one.fence)
            period = (one.record.restarts, one.record.windows)
            for arm, sums in enumerate(one.closed):
                for segment, total in enumerate(sums, one.record.segments[arm] - len(sums)):
                    place = (*key, arm, segment, period)
                    assert place not in seen
                    assert self.sums[place] == total
                    seen.add(place)
                    COUNTS["sums"] += 1
            for position, made_in, arm, observed, is_evidence in self.pulls[key]:
                if until[key] < position <= content.position:
                    campaign.rounds[one.client] += 1
                    if is_evidence and made_in == (campaign.restarts, campaign.windows):
                        campaign.collected.observe(one.client, arm, observed)
                        has_evidence = True
            until[key] = content.position
            if period == (campaign.restarts, campaign.windows) and not one.record.is_left_out:
                campaign.left_out.discard(one.client)
        return campaign.consult() if has_evidence else None


if __name__ == "__main__":
    play_many(EdgeHistories, __doc__, 1000)
