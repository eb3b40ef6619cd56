"""Edges and their leader, message by message, on two writers whose groups the test makes itself."""

import dataclasses

import msgspec
import pytest
from tests.service.campaigns.writer_bench import WriterBench, sent

from tutelage.service.campaigns import edges
from tutelage.service.campaigns.edge_messages import EdgeClaim, read_record
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.settings import Edge, decode_settings
from tutelage.service.campaigns.writer import ActionJob, CreateJob, EdgeJob, PullJob

CLIENTS = ("a", "b")


class LinkedEdge:
    """A leader's bench and an edge's; messages between them pass through JSON."""

    def __init__(self, leader, path, name="north"):
        self.leader, self.bench, self.name, self.sent = leader, WriterBench(path), name, {}

    def claim(self, *clients):
        response = copied(act(self.leader, edges.claim, EdgeClaim(self.name, list(clients))))
        if "c" not in [one.name for one in self.bench.store.campaigns()]:
            edge = Edge(self.name, response.created)
            settings = dataclasses.replace(decode_settings(response.settings), edge=edge)
            self.bench.do(CreateJob("c", settings=settings))
        act(self.bench, edges.hold, response)
        return [client for client, *_ in response.held]

    def collect(self, *, is_full=True):
        report, new = self.bench.look(lambda session: edges.collect(session, self.sent, 1_000, is_full=is_full))
        return copied(report), new

    def report(self):
        report, new = self.collect()
        response = copied(act(self.leader, edges.report, report))
        self.sent |= new
        act(self.bench, edges.follow, response)
        return response


def act(bench, what, content):
    """What edges do, as a job."""
    return bench.do(EdgeJob("c", act=lambda session, now, _: what(session, content, now)))


def copied(message):
    """A message as it arrives."""
    return msgspec.json.decode(msgspec.json.encode(message), type=type(message))


def play(bench, rounds, begin=0, clients=CLIENTS):
    """A request for each round, with a pull of each client; y is the better arm."""
    for round in range(begin, begin + rounds):
        arm = "xy"[round % 2]
        pulls = [
            sent(f"{round:05}{client}", client, arm, (round % 5) / (10 if arm == "x" else 4)) for client in clients
        ]
        bench.pull(*pulls)


def decisions(bench):
    """The evidence, the active arms and the number of each consultation in the ledger."""
    entries = [msgspec.json.decode(row.content) for row in bench.store.entries("c", 0, 10_000) if row.kind == "decided"]
    return [(one["directive"], one["active_arms"], one["target"], one["evidence"]) for one in entries]


@pytest.fixture
def leader(tmp_path):
    """The leader of a campaign with BLT."""
    bench = WriterBench(tmp_path / "leader.db")
    bench.create(teacher="blt")
    return bench


@pytest.fixture
def edge(leader, tmp_path):
    """An edge that holds both clients."""
    edge = LinkedEdge(leader, tmp_path / "edge.db")
    assert edge.claim(*CLIENTS) == [0, 1]
    return edge


@pytest.mark.parametrize("teacher", ["blt", "change-detector(teacher=blt)", "twl"])
def test_decisions_equal_those_of_a_leader_that_sees_the_pulls(tmp_path, teacher):
    """With a report after each round, each consultation has the evidence that a single server has."""
    seeing, leader = WriterBench(tmp_path / "seeing.db"), WriterBench(tmp_path / "leader.db")
    for bench in (seeing, leader):
        bench.create(teacher=teacher, horizon=3000)
    edge = LinkedEdge(leader, tmp_path / "edge.db")
    edge.claim(*CLIENTS)
    for round in range(300 if teacher != "twl" else 50):
        play(seeing, 1, round)
        play(edge.bench, 1, round)
        edge.report()
    assert decisions(leader) == decisions(seeing)
    assert len(decisions(leader)) > (10 if teacher != "twl" else -1)
    for client in range(2):
        of_leader, of_edge = (one.look(lambda s: read_record(s.campaign, client)) for one in (leader, edge.bench))  # noqa: B023
        assert of_leader == of_edge
    leader.verify()
    edge.bench.verify()


def test_new_pulls_of_several_requests_are_one_step(leader, edge):
    """Answered together if all are new, valid and of clients that are here; otherwise nothing changes."""
    play(edge.bench, 1)
    before = edge.bench.look(lambda session: (session.position, session.step, session.tally.conflicts))

    def answer(*pulls):
        return edge.bench.do(PullJob("c", pulls=pulls, are_new=True))

    for pulls in (
        [sent(1), sent(1)],
        [sent(1), sent("00000a", reward=0.9)],
        [sent(1), sent(2, arm="z")],
        [sent(1), sent(2, client="z")],
        [sent(1), sent(2, reward=1.5)],
        [sent(1), sent("n" * 200)],
    ):
        assert answer(*pulls) is None
    assert edge.bench.look(lambda session: (session.position, session.step, session.tally.conflicts)) == before
    responses = answer(sent(1, "a", "x", 0.25), sent(2, "b", "y", 0.5), sent(3, "a", "x", 0.75))
    assert [one.id for one in responses] == ["1", "2", "3"]
    rows = edge.bench.store.read("c", before[0], 100)
    assert [(row.step, row.index, row.number) for row in rows] == [
        (before[1] + 1, 0, 2),
        (before[1] + 1, 1, 1),
        (before[1] + 1, 2, 3),
    ]
    leader.do(EdgeJob("c", act=lambda session, now, _: edges.assign(session, "a", "south", now)))
    edge.report()
    assert answer(sent(4, "b"), sent(5, "a")) is None
    assert answer(sent(4, "b"))[0].id == "4"
    edge.bench.verify()


def test_assigning_a_client_to_where_it_is_changes_nothing(leader, edge):
    """Neither the fence nor the ledger, at the leader or at an edge."""

    def assign(client, place):
        return leader.do(EdgeJob("c", act=lambda session, now, _: edges.assign(session, client, place, now)))

    before = leader.look(lambda session: session.position)
    assert not assign("a", "north")
    assert leader.look(lambda session: session.position) == before
    assert assign("a", "")
    assert not assign("a", "")
    assert leader.look(lambda session: session.position) == before + 1


def test_repeated_and_older_reports_change_nothing(leader, edge):
    """Reports may arrive twice and in any order; the last one has all sums that the leader lacks."""
    reports = []
    for round in range(0, 40, 10):
        play(edge.bench, 10, round)
        reports.append(edge.collect()[0])  # the leader confirms none: each has all sums
    newest = act(leader, edges.report, reports[2])
    for report in (reports[2], reports[0], reports[1]):
        assert act(leader, edges.report, report) == newest
    act(leader, edges.report, reports[3])
    for client in range(2):
        of_leader, of_edge = (one.look(lambda s: read_record(s.campaign, client)) for one in (leader, edge.bench))  # noqa: B023
        assert of_leader == of_edge
    assert [row.kind for row in leader.store.entries("c", 0, 100)].count("reported") == 2


def test_a_round_of_reports_has_each_client_once(edge):
    """Also while its clients keep pulling: what is too much for one report follows in the next."""
    play(edge.bench, 10)
    found, done = [], set()
    for round in range(10, 14):
        report, new = edge.bench.look(lambda s: edges.collect(s, edge.sent, 1, is_full=True, done=done))
        found.append([one.client for one in report.clients])
        edge.sent |= new
        done.update(new)
        play(edge.bench, 1, round)
    assert found == [[0], [1], [], []]


def test_a_report_with_a_gap_waits_for_the_sums_between(leader, edge):
    """A leader that was restored from a backup gets all sums of the period again."""
    play(edge.bench, 10)
    _, edge.sent = edge.collect()  # the edge believes that the leader has it
    play(edge.bench, 10, 10)
    report, _ = edge.collect()
    response = act(leader, edges.report, report)
    assert response.behind == [0, 1]
    edge.sent.clear()
    edge.report()
    assert leader.look(lambda session: session.campaign.rounds) == [20, 20]


def test_a_moved_client_continues_at_the_new_edge(leader, edge, tmp_path):
    """The fence rises; the old edge's pulls and reports are refused; what it had not reported does not count."""
    play(edge.bench, 20)
    edge.report()
    play(edge.bench, 2, 20)
    other = LinkedEdge(leader, tmp_path / "other.db", "south")
    assert other.claim("a") == []  # a claim does not move it
    leader.do(EdgeJob("c", act=lambda session, now, _: edges.assign(session, "a", "south", now)))
    assert other.claim("a") == [0]
    assert [(one.client, one.edge) for one in edge.report().lost] == [(0, "south")]
    with pytest.raises(Refusal, match="'a' are answered by the edge 'south', not here"):
        edge.bench.pull(sent("late", "a"))
    with pytest.raises(Refusal, match="answered by the edge 'south'"):
        leader.pull(sent("late", "a"))
    play(other.bench, 3, 30, clients="a")
    other.report()
    assert leader.look(lambda session: session.campaign.rounds) == [23, 22]
    for bench in (leader, edge.bench, other.bench):
        bench.verify()


def test_a_client_moves_to_the_leader_and_back(leader, edge):
    """The leader continues from the last report, and the edge from where the leader was."""
    play(edge.bench, 20)
    edge.report()
    leader.do(EdgeJob("c", act=lambda session, now, _: edges.assign(session, "b", "", now)))
    leader.pull(sent("new", "b", "x", 0.5))
    leader.do(EdgeJob("c", act=lambda session, now, _: edges.assign(session, "b", "north", now)))
    edge.report()
    assert edge.claim("b") == [1]
    play(edge.bench, 2, 50, clients="b")
    edge.report()
    assert leader.look(lambda session: session.campaign.rounds) == [20, 23]
    leader.verify()


def test_an_edge_without_its_disk_begins_at_its_last_report(leader, edge, tmp_path):
    """What was not reported is lost, and the old disk's reports are refused."""
    play(edge.bench, 20)
    edge.report()
    play(edge.bench, 5, 20)
    new = LinkedEdge(leader, tmp_path / "new.db")
    assert new.claim(*CLIENTS) == [0, 1]
    assert new.bench.look(lambda session: session.campaign.rounds) == [20, 20]
    assert [one.client for one in edge.report().lost] == [0, 1]
    with pytest.raises(Refusal) as refusal:
        edge.bench.pull(sent("late", "a"))
    assert refusal.value.reason == "moved"


def test_stop_exclusion_and_horizon(leader, edge):
    """A stop arrives with a response; an excluded client is still answered; beyond the horizon all is shown."""
    play(edge.bench, 20)
    leader.do(ActionJob("c", act="exclude", client="b"))
    leader.do(ActionJob("c", act="stop"))
    assert edge.report().status == "stopped"
    assert leader.look(lambda session: session.campaign.rounds) == [20, 20]  # pulls from before the stop count
    with pytest.raises(Refusal, match="is stopped"):
        edge.bench.pull(sent("late", "a"))
    leader.do(ActionJob("c", act="start"))
    edge.report()
    play(edge.bench, 981, 20)
    edge.report()
    assert leader.look(lambda session: session.campaign.beyond_horizon) == 2
    leader.verify()
    with pytest.raises(Refusal, match="This server is an edge"):
        edge.bench.do(ActionJob("c", act="stop"))


def test_a_report_after_the_export_makes_another_necessary(leader, edge):
    """Otherwise a campaign could be deleted with sums that nobody has a copy of."""
    play(edge.bench, 3)
    leader.do(ActionJob("c", act="stop"))
    leader.do(ActionJob("c", act="exported"))
    edge.report()
    with pytest.raises(Refusal, match="has not been exported"):
        leader.do(ActionJob("c", act="delete"))
    leader.do(ActionJob("c", act="exported"))
    leader.do(ActionJob("c", act="delete"))


def test_both_continue_after_a_restart(leader, edge):
    """From their ledgers alone; the edge holds its clients and reports all sums again, which the leader knows."""
    play(edge.bench, 40)
    edge.report()
    for bench in (leader, edge.bench):
        bench.writer.sessions.clear()
    edge.sent.clear()
    play(edge.bench, 10, 40)
    assert edge.report().behind == []
    assert leader.look(lambda session: session.campaign.rounds) == [50, 50]
    leader.verify()
    edge.bench.verify()


def test_a_campaign_that_was_created_again_is_another(leader, edge, tmp_path):
    """The edge neither reports to it nor holds its clients."""
    play(edge.bench, 3)
    report, _ = edge.collect()
    report.created += 1
    with pytest.raises(Refusal, match="created again"):
        act(leader, edges.report, report)
    response = act(leader, edges.claim, EdgeClaim("north", []))
    response.created += 1
    with pytest.raises(Refusal, match="created the campaign c again"):
        act(edge.bench, edges.hold, response)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda one: one.record.pulls.pop(), "one number for each arm"),
        (lambda one: one.record.memory.rule_state.pop(), "one number for each arm"),
        (lambda one: one.record.counts.__setitem__(0, -1), "negative count"),
        (lambda one: one.record.pulls.__setitem__(0, 99), "other pulls in all"),
        (lambda one: one.record.segments.__setitem__(0, 9), "sums that its pulls cannot have"),
        (lambda one: one.closed[0].__setitem__(0, 7.0), "sums that its pulls cannot have"),
        (lambda one: one.closed[0].extend([0.5] * 9), "sums that its pulls cannot have"),
    ],
)
def test_an_impossible_report_is_refused(leader, edge, change, what):
    """It changes nothing, and the sentence names the client."""
    play(edge.bench, 20)
    report, _ = edge.collect()
    change(report.clients[0])
    with pytest.raises(Refusal, match=what):
        act(leader, edges.report, report)
    assert leader.look(lambda session: session.campaign.rounds) == [0, 0]


def test_a_report_has_what_is_new(edge):
    """Clients with completed segments, or all that changed; nothing twice."""
    play(edge.bench, 20)
    edge.report()
    assert edge.collect()[0].clients == []
    rounds = edge.bench.look(lambda session: session.campaign.rounds[0])
    edge.bench.pull(sent("one", "a", "x", 0.5))
    changed = [one.client for one in edge.collect()[0].clients]
    assert (rounds, changed) == (20, [0])


def test_names_of_edges_are_checked(leader):
    """As names of campaigns are."""
    with pytest.raises(Refusal, match="Invalid name 'no rth' of an edge"):
        act(leader, edges.claim, EdgeClaim("no rth", []))
    with pytest.raises(Refusal, match="Unknown client 'z'"):
        leader.do(EdgeJob("c", act=lambda session, now, _: edges.assign(session, "z", "north", now)))
