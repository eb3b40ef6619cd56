"""The series of the charts: the same from a snapshot and from the ledger."""

import msgspec
import numpy as np
import pytest

from tutelage.service.campaigns import actions
from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.rebuilding import rebuild
from tutelage.service.campaigns.series import FINE_POINTS, MOST_POINTS, SECOND, Series, StoredSeries
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import RULES_VERSION, Settings
from tutelage.stores.base import Head, StoredCampaign


def stored(head):
    """A campaign as a store has it."""
    settings = Settings(name="c", arms=("x", "y"), horizon=5000, teacher="twl", clients=("a", "b"))
    return StoredCampaign("c", settings.encode(), RULES_VERSION, 0, head)


def played(steps):
    """A campaign after some steps, bypass reports among them, with rows and snapshots as they were stored."""
    session, rows, snapshots = Session(stored(Head(0, 0, "registering", "")), 1), [], []
    random, now = np.random.default_rng(3), 1_000 * SECOND
    actions.start(session, now)
    for step in range(steps):
        now += int(random.choice([0, 1_000, 300_000, SECOND, 90 * SECOND, -5 * SECOND]))
        pulls = [PullRequest(f"{step}-{client}", client, "xy"[random.integers(2)], random.random()) for client in "ab"]
        session.answer(pulls, {}, now)
        if step % 7 == 0:
            late = pulls[0]
            session.answer([PullRequest(late.id, late.client, late.arm, late.reward, bypassed=True)], {}, now + 2)
        if step % 10 == 3:
            session.snapshot_time = -1e9  # one is due
        change = session.pending_change()
        rows += sorted([*change.pulls, *change.entries], key=lambda row: row.position)
        snapshots += [change.snapshot] if change.snapshot else []
        session.mark_committed()
    return session, stored(session.head), rows, snapshots


def test_charts_are_the_same_from_ledger_and_from_every_snapshot():
    """Bit for bit, with stalls, bypassed pulls and a clock that is set back."""
    session, stored, rows, snapshots = played(120)
    wanted = session.series.dump()
    assert rebuild(stored, 1, None, rows).series.dump() == wanted
    assert len(snapshots) >= 10
    for snapshot in snapshots:
        again = rebuild(stored, 1, snapshot, rows[snapshot.position :])
        assert again.series.dump() == wanted
    times, _, pulls = session.series.points
    assert pulls[-1].sum() <= session.begun.pulls.sum()
    assert times.tolist() == sorted(times)


def test_a_trail_is_read_back_equal():
    """Through the bytes of a snapshot, whatever the size of its numbers."""
    for growth in (1, 300, 70_000, 2**40):
        series = Series(3)
        for second in range(5):
            time = (1 + second) * SECOND
            assert series.is_due(time)
            series.keep(time, second / 3, np.array([0, second, growth * second]))
            series.change(time)
        again = Series(3)
        again.load(msgspec.msgpack.decode(msgspec.msgpack.encode(series.dump()), type=StoredSeries))
        assert again.dump() == series.dump()
        assert again.points.pulls.tolist() == series.points.pulls.tolist()
        before, was = again.points, again.points.times.tolist()
        again.keep(9 * SECOND, 1.0, np.zeros(3))
        assert (before.times.tolist(), again.num_points) == (was, series.num_points + 1)
    empty = Series(3)
    empty.load(Series(3).dump())
    assert empty.num_points == 0


def grown(seconds, num_arms=2):
    """A trail of a change every half second, 10 pulls each."""
    series = Series(num_arms)
    for half in range(2 * seconds):
        time = (1_000 + half // 2) * SECOND + half % 2 * SECOND // 2
        if series.is_due(time):
            series.keep(time, half / 4, np.full(num_arms, 5 * half))
        series.change(time)
    return series


def test_a_long_trail_stays_small_and_keeps_its_ends():
    """A day of seconds is at most 2,000 points, the last ten minutes of them whole, the first among them."""
    points = grown(86_400).points
    assert FINE_POINTS < len(points.times) <= MOST_POINTS
    assert points.times[0] == 1_000 * SECOND
    apart = np.diff(points.times)
    assert (apart > 0).all()
    assert (apart[-FINE_POINTS + 10 :] <= 1.5 * SECOND).all()


@pytest.mark.parametrize("num_arms", [1, 500, 10_000])
def test_a_trail_of_many_arms_is_shorter(num_arms):
    """A million numbers in all, or a hundred points."""
    points = grown(2_500, num_arms).points
    assert points.pulls.size <= max(1_000_000, 100 * num_arms)


def test_a_stall_is_flat():
    """Before the pull that ends it there are points at both of its ends, with the same counters."""
    series = Series(1)
    for number, time in enumerate((0, 400_000, 1_200_000, 2_000_000, 300 * SECOND)):
        if series.is_due(SECOND + time):
            series.keep(SECOND + time, 0.0, np.array([number]))
        series.change(SECOND + time)
    (flat,) = np.flatnonzero(np.diff(series.points.times) > 100 * SECOND)
    assert series.points.pulls[flat : flat + 2].tolist() == [[4], [4]]
