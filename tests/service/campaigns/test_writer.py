"""The writer on SQLite: all cases of bypass, groups, failures, and rebuilding from the ledger."""

import contextlib
from dataclasses import replace

import msgspec
import pytest
from tests.service.campaigns.writer_bench import WriterBench, sent

from tutelage.service.api.summaries import summarize, summarize_stored
from tutelage.service.campaigns import pull_cache
from tutelage.service.campaigns import writer as writer_module
from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.campaigns.pull_cache import PullCache
from tutelage.service.campaigns.rebuilding import Disagreement, rebuild
from tutelage.service.campaigns.session import SNAPSHOT_SECONDS
from tutelage.service.campaigns.snapshot_format import decode_snapshot, dump_campaign
from tutelage.service.campaigns.verifying import verify_ledger
from tutelage.service.campaigns.writer import ActionJob, PullJob, ReadJob
from tutelage.stores import open_reader
from tutelage.stores.base import Snapshot, StoreError, StoreFull, pages


@pytest.fixture
def bench(tmp_path):
    """A bench with a running campaign."""
    bench = WriterBench(tmp_path / "t.db")
    bench.create()
    yield bench
    bench.store.close()


def refusal(bench, job):
    """Why a job is refused."""
    with pytest.raises(Refusal) as refused:
        bench.do(job)
    return refused.value.reason


def test_a_group_is_one_transaction_and_never_one_step(bench):
    """Three requests are one append and three steps; they are delivered together.

    Without a consultation the teacher's state in the store stays as it is, and is not encoded.
    """
    appended = []
    append = bench.store.append
    bench.store.append = lambda changes: (appended.append([one.head.state for one in changes]), append(changes))
    before = len(bench.groups)
    jobs = bench.group(*(PullJob("c", pulls=[sent(n)]) for n in range(3)))
    assert appended == [[None]]
    assert bench.groups[before:] == [list(jobs)]
    rows = [row for row in bench.store.read("c", 0, 10) if hasattr(row, "arm")]
    assert [(row.step, row.index) for row in rows] == [(1, 0), (2, 0), (3, 0)]
    bench.verify()


def test_a_refused_request_leaves_its_group_alone(bench):
    """The others of the group are answered."""
    good, bad, more = bench.group(
        PullJob("c", pulls=[sent(1)]), PullJob("c", pulls=[sent(2), sent(1, arm="y")]), PullJob("c", pulls=[sent(3)])
    )
    assert (good.error, more.error) == (None, None)
    assert bad.error.reason == "conflict"
    assert bench.look(lambda session: session.campaign.pulls.sum()) == 2


def test_a_duplicate_in_one_group_is_a_replay(bench):
    """It waits for the commit of the first and equals its answer."""
    first, second = bench.group(PullJob("c", pulls=[sent(1)]), PullJob("c", pulls=[sent(1)]))
    assert [one.replayed for one in (first.result[0], second.result[0])] == [False, True]
    assert first.result[0].reward == second.result[0].reward == 1.0


def test_bypassed_before_it_was_stored(bench):
    """Recorded where the report arrives, revealed as observed; the original afterwards is a replay."""
    (response,) = bench.pull(sent(1, bypassed=True))
    assert (response.reward, response.adjustment, response.replayed) == (0.25, 0.0, False)
    (late,) = bench.pull(sent(1))
    assert (late.reward, late.adjustment, late.replayed) == (0.25, 0.0, True)
    assert bench.look(lambda session: session.campaign.cost) == 0
    assert bench.look(lambda session: session.bypassed) == 1
    bench.verify()


def test_bypassed_after_an_adjusted_answer(bench):
    """Cost and revealed sum are corrected once; the evidence and all later answers are as observed."""
    bench.pull(sent(1))
    assert bench.look(lambda session: session.campaign.cost) == 0.75
    for _ in range(2):
        (response,) = bench.pull(sent(1, bypassed=True))
        assert (response.reward, response.adjustment, response.replayed) == (0.25, 0.0, True)
    assert bench.pull(sent(1))[0].reward == 0.25
    client = bench.look(lambda session: session.campaign.clients[0])
    assert (client.cost, client.revealed[0], client.observed[0], client.pulls[0]) == (0, 0.25, 0.25, 1)
    kinds = [row.kind for row in bench.store.entries("c", 0, 10)]
    assert kinds == ["started", "bypassed"]
    bench.verify()
    bench.pull(sent(2, bypassed=True))
    bench.store.append([bench.writer.sessions["c"].save()])
    bench.begin()  # from the snapshot
    assert bench.look(lambda session: session.bypassed) == summarize_stored(bench.store, "c").bypassed == 2


def test_bypassed_without_an_adjustment(tmp_path):
    """There is nothing to take back, and nothing is written."""
    bench = WriterBench(tmp_path / "t.db")
    bench.create(teacher="none")
    bench.pull(sent(1))
    before = bench.look(lambda session: session.position)
    assert bench.pull(sent(1, bypassed=True))[0].reward == 0.25
    assert bench.look(lambda session: session.position) == before
    bench.store.close()


def test_pull_and_report_in_one_request(bench):
    """The same content once: it counts once, as bypassed."""
    responses = bench.pull(sent(1), sent(1, bypassed=True))
    assert [(one.reward, one.replayed) for one in responses] == [(0.25, False), (0.25, True)]
    assert bench.look(lambda session: session.campaign.pulls.sum()) == 1


def test_a_report_of_other_content_is_a_conflict(bench):
    """The report must be of the same pull."""
    bench.pull(sent(1))
    assert refusal(bench, PullJob("c", pulls=[sent(1, reward=0.5, bypassed=True)])) == "conflict"


def test_a_stopped_campaign_takes_reports_and_replays(bench):
    """New pulls are refused until it is started again; one that was bypassed has been, and is recorded."""
    bench.pull(sent(1))
    bench.do(ActionJob("c", act="stop"))
    assert bench.pull(sent(1, bypassed=True))[0].reward == 0.25
    assert bench.pull(sent(1))[0].replayed
    assert refusal(bench, PullJob("c", pulls=[sent(2)])) == "stopped"
    assert refusal(bench, PullJob("c", pulls=[sent(3, bypassed=True), sent(2)])) == "stopped"
    assert not bench.pull(sent(3, bypassed=True))[0].replayed
    bench.do(ActionJob("c", act="start"))
    assert not bench.pull(sent(2))[0].replayed
    bench.verify()


def test_replays_survive_a_restart(bench):
    """The response is the first one, also for a pull whose adjustment was undone."""
    first = bench.pull(sent(1), sent(2), sent(3, "b", "y", 0.5))
    bench.pull(sent(2, bypassed=True))
    bench.begin()
    again = bench.pull(sent(1), sent(2), sent(3, "b", "y", 0.5))
    assert all(one.replayed for one in again)
    assert [one.reward for one in again] == [first[0].reward, 0.25, first[2].reward]
    bench.writer.sessions["c"].cache = PullCache("3")  # as if long forgotten: the store is asked
    assert [one.reward for one in bench.pull(sent(1), sent(2))] == [first[0].reward, 0.25]


@pytest.mark.parametrize("failure", [StoreFull("there is no room"), StoreError("no connection")])
def test_a_failed_transaction_changes_nothing(bench, failure):
    """Every request of its group is unavailable; the next one finds what was committed before."""
    bench.pull(sent(1))
    append = bench.store.append

    def fail(changes):
        raise failure

    bench.store.append = fail
    jobs = bench.group(PullJob("c", pulls=[sent(2)]), PullJob("c", pulls=[sent(1)]), ActionJob("c", act="stop"))
    assert [job.error.reason for job in jobs] == ["unavailable"] * 3
    bench.store.append = append
    assert not bench.pull(sent(2))[0].replayed
    assert bench.look(lambda session: (session.status, session.step)) == ("running", 2)
    assert bench.writer.failure is None
    bench.verify()


def test_an_exclusion_is_a_step(bench):
    """It is written with its decision, and rebuilt."""
    bench.pull(sent(1), sent(2, "b", "y", 0.5))
    bench.do(ActionJob("c", act="exclude", client="a"))
    assert refusal(bench, ActionJob("c", act="exclude", client="b")) == "not-excludable"
    bench.pull(sent(3))
    assert [row.kind for row in bench.store.entries("c", 0, 10)] == ["started", "excluded"]
    assert bench.verify().campaign.excluded == [0]


def test_decisions_are_rebuilt(tmp_path):
    """A campaign that decides many times comes out of its ledger the same, snapshot or not."""
    bench = WriterBench(tmp_path / "t.db")
    bench.create(horizon=60, teacher="blt")
    for number in range(60):
        rewards = {"x": 0.75, "y": 0.125}
        bench.pull(*(sent(f"{number}{m}", m, arm := "xy"[number % 2], rewards[arm]) for m in "ab"))
    decided = [row for row in bench.store.entries("c", 0, 1000) if row.kind == "decided"]
    assert len(decided) > 2
    bench.verify()
    stored, snapshot = bench.store.load("c")
    assert snapshot is not None
    behind = rebuild(stored, 0, snapshot, pages(bench.store, "c", snapshot.position))
    assert dump_campaign(behind.campaign) == dump_campaign(bench.writer.sessions["c"].campaign)
    bench.store.close()


def test_a_ledger_that_was_changed_is_found_out(bench):
    """Another revealed reward, a row that is missing: both disagree."""
    bench.pull(sent(1))
    bench.pull(sent(2))
    stored, _ = bench.store.load("c")
    rows = list(pages(bench.store, "c"))
    for broken in (rows[:1] + rows[2:], [rows[0], rows[1]._replace(revealed=0.5), rows[2]], rows[:2]):
        with pytest.raises(Disagreement):
            rebuild(stored, 0, None, broken)


def test_who_was_halted_asks_whether_it_leads(bench):
    """Replays never come upon the fence: after a lease's time the store is asked first."""
    bench.pull(sent(1))
    bench.writer.renewed -= 9
    assert bench.pull(sent(1))[0].replayed  # still the leader
    bench.writer.renewed -= 9
    bench.store.renew = lambda names, address: []
    bench.store.lead = lambda name, address: None
    with pytest.raises(NotLeader):
        bench.pull(sent(1))


def test_everything_led_is_given_up(bench):
    """Also a campaign whose memory was dropped after a failed transaction."""
    bench.pull(sent(1))
    bench.writer.sessions.clear()
    bench.writer.give_up()
    assert bench.store.load("c")[0].leader is None


def test_many_campaigns_are_given_up_in_one_transaction(bench):
    """An end takes as long with many campaigns as with one."""
    names = ["c", *(f"d{number}" for number in range(20))]
    for name in names[1:]:
        bench.create(name=name)
    committed = []
    bench.store._connection.set_trace_callback(lambda text: committed.append(text) if text == "COMMIT" else None)
    bench.writer.give_up()
    assert len(committed) == 1
    assert {one.name: one.leader for one in bench.store.campaigns()} == dict.fromkeys(names)


def test_a_quiet_campaign_gets_a_snapshot_of_its_end(bench, tmp_path):
    """Once, five seconds after the last one; it is then loaded and listed without reading any row."""
    writer, url = bench.writer, f"sqlite:///{tmp_path / 't.db'}"
    bench.pull(*(sent(f"{client}{arm}{n}", client, arm, n / 9) for n in range(9) for client in "ab" for arm in "xy"))
    bench.do(ActionJob("c", act="exclude", client="b"))
    bench.pull(sent(1))
    assert not writer.save_snapshots(SNAPSHOT_SECONDS)
    writer.sessions["c"].snapshot_time -= SNAPSHOT_SECONDS
    assert writer.save_snapshots(SNAPSHOT_SECONDS)
    assert not writer.save_snapshots(0.0)
    stored, snapshot = bench.store.load("c")
    assert snapshot.position == stored.head.position == writer.sessions["c"].position
    assert verify_ledger(bench.store, "c") == (stored.head.position, [])
    expected = summarize(writer.sessions["c"])
    assert (expected.num_pulls, expected.excluded) == (37, ["b"])
    with contextlib.closing(open_reader(url)) as reader:
        reader.read = None  # a call fails
        assert summarize_stored(reader, "c") == expected
    bench.pull(sent(2))
    with contextlib.closing(open_reader(url)) as reader:
        assert summarize_stored(reader, "c") == summarize(writer.sessions["c"]) != expected


def test_a_list_in_a_hurry_reads_no_rows(bench, monkeypatch):
    """It shows the newest snapshot, with its position, even if there are rows after it."""
    bench.pull(sent(1))
    session = bench.writer.sessions["c"]
    bench.store.append([session.save()])
    saved = summarize(session)
    bench.pull(sent(2))
    assert summarize_stored(bench.store, "c") == summarize(session) != saved
    monkeypatch.setattr(bench.store, "read", None)  # a call fails
    assert summarize_stored(bench.store, "c", is_exact=False) == saved


def test_a_snapshot_without_a_standing_is_listed_from_its_session(bench):
    """It was stored by an older release, and is verified like any other."""
    bench.pull(sent(1))
    session = bench.writer.sessions["c"]
    change = session.save()
    old = decode_snapshot(change.snapshot.content)
    old.standing = None
    older = msgspec.msgpack.encode(msgspec.structs.astuple(old)[:-1])
    bench.store.append([replace(change, snapshot=Snapshot(change.after, older))])
    assert summarize_stored(bench.store, "c") == summarize(session)
    assert verify_ledger(bench.store, "c")[1] == []


def test_an_end_leaves_snapshots(tmp_path):
    """Of the newest rows too, but it does not wait for more than some seconds."""
    bench = WriterBench(tmp_path / "t.db")
    bench.create()
    bench.pull(sent(1))
    bench.writer.start()
    bench.writer.stop()
    stored, snapshot = bench.store.load("c")
    assert snapshot.position == stored.head.position == 2
    bench.store.close()


def test_a_replay_that_is_just_being_forgotten(bench, monkeypatch):
    """A pull that was in the cache at the start of a group stays there until the end of the group."""
    monkeypatch.setattr(pull_cache, "MIN_CACHED", 1)
    bench.pull(sent(1))
    bench.pull(sent(2))
    new, old = bench.group(PullJob("c", pulls=[sent(3)]), PullJob("c", pulls=[sent(1)]))
    assert (new.error, old.error) == (None, None)
    assert [new.result[0].replayed, old.result[0].replayed] == [False, True]
    cache = bench.writer.sessions["c"].cache
    assert [bool(cache.get(id)) for id in "123"] == [False, False, True]


def test_the_caches_of_all_campaigns_have_one_bound(bench):
    """The campaign that was least recently pulled forgets first, reads do not count, and replays still answer."""
    bench.writer.most_cached = 5
    for name in "de":
        bench.create(name=name)
    answers = {name: bench.do(PullJob(name, pulls=[sent(f"{name}{n}") for n in range(2)])) for name in "dce"}
    bench.look(lambda session: session.position)  # of c, which pulled before e
    cached = {name: len(session.cache) for name, session in bench.writer.sessions.items()}
    assert cached == {"c": 2, "d": 0, "e": 2}
    for name in "dce":
        again = bench.do(PullJob(name, pulls=[sent(f"{name}{n}") for n in range(2)]))
        assert [(pull.id, pull.reward) for pull in again] == [(pull.id, pull.reward) for pull in answers[name]]
        assert all(pull.replayed for pull in again)
    bench.do(PullJob("d", pulls=[sent("d3")]))
    bench.do(PullJob("d", pulls=[sent("d4")]))
    assert {name: len(session.cache) for name, session in bench.writer.sessions.items()} == {"c": 0, "d": 2, "e": 2}


@pytest.mark.parametrize("is_stopped", [True, False], ids=["stopped", "ended"])
def test_a_campaign_that_is_over_holds_no_pulls(bench, is_stopped):
    """Also one that ran to its horizon; both still know their pulls."""
    bench.create(name="d", horizon=3)
    pulls = [sent(f"{client}{n}", client=client) for client in "ab" for n in range(3)]
    bench.do(PullJob("d", pulls=pulls[:-1]))
    assert len(bench.writer.sessions["d"].cache) == 5
    bench.do(ActionJob("d", act="stop") if is_stopped else PullJob("d", pulls=pulls[-1:]))
    assert len(bench.writer.sessions["d"].cache) == 0
    assert all(pull.replayed for pull in bench.do(PullJob("d", pulls=pulls[:-1])))


@pytest.mark.parametrize("ids", [range(100, 130), range(130, 100, -1)], ids=["rising", "falling"])
def test_only_ids_that_may_be_stored_are_looked_up(bench, monkeypatch, ids):
    """After a start the store is asked about ids up to its last one; rising ids cost no look."""
    asked = []
    find = bench.store.find
    monkeypatch.setattr(bench.store, "find", lambda name, ids: asked.extend(ids) or find(name, ids))
    first, *rest = map(str, ids)
    bench.pull(sent(first))
    bench.begin()  # a new server on the same store
    for id in rest:
        assert not bench.pull(sent(id))[0].replayed
    assert asked == ([] if first < rest[0] else rest)
    assert bench.pull(sent(first))[0].replayed


def test_a_campaign_in_trouble_does_not_drag_others_along(bench):
    """Its rows do not agree: its requests are unavailable, those of its group are answered."""
    bench.create(name="d")
    bench.do(ActionJob("d", act="start"))
    bench.writer.sessions.clear()
    load = bench.store.load

    def damaged(name):
        stored, snapshot = load(name)
        return (replace(stored, rules_version=99) if name == "d" else stored), snapshot

    bench.store.load = damaged
    good, bad = bench.group(PullJob("c", pulls=[sent(1)]), PullJob("d", pulls=[sent(1)]))
    assert good.error is None
    assert bad.error.reason == "unavailable"


def test_who_cannot_start_is_told_alone(bench):
    """A start that the teacher refuses does not affect the rest of its group."""
    bench.create(name="d", clients=(), open_registration=True, start=False)
    good, bad = bench.group(PullJob("c", pulls=[sent(1)]), ActionJob("d", act="start"))
    assert good.error is None
    assert bad.error.reason == "not-startable"


def test_a_pull_from_before_a_restart_costs_only(tmp_path):
    """Evidence and sums started again: the correction changes only the cost, not S."""
    bench = WriterBench(tmp_path / "t.db")
    bench.create(horizon=4000, teacher="change-detector(teacher=known(target=0))")
    bench.pull(sent(0, arm="y", reward=0.75))
    campaign = bench.writer.sessions["c"].campaign
    campaign.clients = [type(client)(2, client.cost) for client in campaign.clients]  # as a restart does
    cost = campaign.cost
    assert cost > 0
    assert bench.pull(sent(0, arm="y", reward=0.75, bypassed=True))[0].reward == 0.75
    assert (campaign.clients[0].revealed, campaign.cost) == ([0.0, 0.0], 0.0)
    bench.store.close()


def test_a_clock_that_steps_back(bench):
    """Times in the ledger go back with it; order, answers and what is rebuilt do not mind."""
    bench.pull(sent(1))
    bench.time = -(10**9)
    bench.pull(sent(2), sent(1))
    bench.pull(sent(1, bypassed=True))
    rows = bench.store.read("c", 0, 10)
    assert [row.position for row in rows] == [1, 2, 3, 4]
    assert rows[2].time < rows[1].time
    bench.verify()


def test_replays_are_answered_while_the_disk_is_full(bench):
    """The campaign is loaded again without a write: its token is still the last."""
    bench.pull(sent(1))

    def full(*_arguments):
        raise StoreFull("there is no room")

    append, lead = bench.store.append, bench.store.lead
    bench.store.append = bench.store.lead = full
    for _ in range(2):
        assert refusal(bench, PullJob("c", pulls=[sent(2)])) == "unavailable"
        assert bench.pull(sent(1))[0].replayed
    bench.store.append, bench.store.lead = append, lead
    assert not bench.pull(sent(2))[0].replayed
    bench.verify()


def test_who_only_looks_is_answered_on_a_full_disk(bench, monkeypatch):
    """In the same group with pulls that cannot be written: what is seen is what is on disk."""
    bench.pull(sent(1))
    monkeypatch.setattr(bench.store, "append", _full)
    before, refused, after = bench.group(
        ReadJob("c", look=_position), PullJob("c", pulls=[sent(2)]), ReadJob("c", look=_position)
    )
    assert (before.error, after.error) == (None, None)
    assert before.result == after.result == 2
    assert refused.error.reason == "unavailable"


def _position(session):
    return session.position


def _full(_):
    raise StoreFull("there is no room")


def test_a_campaign_that_cannot_be_read_now_fails_alone(bench, monkeypatch):
    """The store does not give one campaign: the others of its group are committed."""
    bench.create(name="d")
    bench.writer.sessions.clear()
    load = bench.store.load

    def loaded(name):
        if name == "d":
            raise StoreError("it cannot be read")
        return load(name)

    monkeypatch.setattr(bench.store, "load", loaded)
    bad, good = bench.group(PullJob("d", pulls=[sent(1)]), PullJob("c", pulls=[sent(1)]))
    assert (bad.error.reason, good.error) == ("unavailable", None)
    assert bench.verify().position == 2


def test_a_probe_that_fits_does_not_end_a_full_disk(bench, monkeypatch):
    """With room only for a heartbeat, pulls are refused until some succeed."""
    writer = bench.writer
    with monkeypatch.context() as full:
        full.setattr(bench.store, "append", _full)
        assert bench.group(PullJob("c", pulls=[sent(1)]))[0].error.reason == "unavailable"
    writer._probe()
    assert writer.failure == "there is no room"
    bench.pull(sent(1))
    assert writer.failure is None
    writer.fail(StoreFull("there is no room"))
    monkeypatch.setattr(writer_module, "STILL_FULL_SECONDS", 0.0)  # nobody has tried for as long
    writer._probe()
    assert writer.failure is None
