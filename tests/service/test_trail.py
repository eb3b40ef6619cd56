"""What the charts are drawn from: kept with the snapshot, and the same if made from the ledger anew."""

import itertools

import msgspec
import numpy as np
import pytest

from tutelage.service.campaigns.live import Live
from tutelage.service.campaigns.messages import SentPull
from tutelage.service.campaigns.rebuilding import rebuilt
from tutelage.service.campaigns.settings import Settings
from tutelage.service.campaigns.trail import FINE_POINTS, MOST_POINTS, SECOND, KeptTrail, Trail
from tutelage.stores.base import Head, Stored


def stored(head):
    """A campaign as a store has it."""
    settings = Settings(name="c", arms=("x", "y"), horizon=5000, teacher="twl", clients=("a", "b"))
    return Stored("c", settings.encode(), 1, 0, head)


def played(steps):
    """A campaign after some steps, bypass reports among them, with rows and snapshots as they were stored."""
    live, rows, snapshots = Live(stored(Head(0, 0, "enrolling", "")), 1), [], []
    random, now = np.random.default_rng(3), 1_000 * SECOND
    live.start(now)
    for step in range(steps):
        now += int(random.choice([0, 1_000, 300_000, SECOND, 90 * SECOND, -5 * SECOND]))
        pulls = [
            SentPull(f"{step}-{client}", client, "xy"[random.integers(2)], random.random()) for client in "ab"
        ]
        live.take(pulls, {}, now)
        if step % 7 == 0:
            late = pulls[0]
            live.take([SentPull(late.id, late.client, late.arm, late.reward, bypassed=True)], {}, now + 2)
        if step % 10 == 3:
            live.snapshot_time = -1e9  # one is due
        change = live.drafted()
        rows += sorted([*change.pulls, *change.entries], key=lambda row: row.position)
        snapshots += [change.snapshot] if change.snapshot else []
        live.begin_draft()
    return live, stored(change.head), rows, snapshots


def test_charts_are_the_same_from_ledger_and_from_every_snapshot():
    """Bit for bit, with stalls, bypassed pulls and a clock that is set back."""
    live, kept, rows, snapshots = played(120)
    wanted = live.trail.dump()
    assert rebuilt(kept, 1, None, rows).trail.dump() == wanted
    assert len(snapshots) >= 10
    for snapshot in snapshots:
        again = rebuilt(kept, 1, snapshot, rows[snapshot.position :])
        assert again.trail.dump() == wanted
    assert live.trail.points[-1].pulls.sum() <= live.begun.pulls.sum()
    times = [point.time for point in live.trail.points]
    assert times == sorted(times)


def test_a_trail_is_read_back_equal():
    """Through the bytes of a snapshot, whatever the size of its numbers."""
    for growth in (1, 300, 70_000, 2**40):
        trail = Trail(3)
        for second in range(5):
            time = (1 + second) * SECOND
            assert trail.is_due(time)
            trail.keep(time, second / 3, np.array([0, second, growth * second]))
            trail.change(time)
        again = Trail(3)
        again.load(msgspec.msgpack.decode(msgspec.msgpack.encode(trail.dump()), type=KeptTrail))
        assert again.dump() == trail.dump()
        assert [point.pulls.tolist() for point in again.points] == [
            point.pulls.tolist() for point in trail.points
        ]
    empty = Trail(3)
    empty.load(Trail(3).dump())
    assert empty.points == []


def grown(seconds, num_arms=2):
    """A trail of a change every half second, 10 pulls each."""
    trail = Trail(num_arms)
    for half in range(2 * seconds):
        time = (1_000 + half // 2) * SECOND + half % 2 * SECOND // 2
        if trail.is_due(time):
            trail.keep(time, half / 4, np.full(num_arms, 5 * half))
        trail.change(time)
    return trail


def test_a_long_trail_stays_small_and_keeps_its_ends():
    """A day of seconds is at most 2,000 points, the last ten minutes of them whole, the first among them."""
    points = grown(86_400).points
    assert FINE_POINTS < len(points) <= MOST_POINTS
    assert points[0].time == 1_000 * SECOND
    apart = np.diff([point.time for point in points])
    assert (apart > 0).all()
    assert (apart[-FINE_POINTS + 10 :] <= 1.5 * SECOND).all()


@pytest.mark.parametrize("num_arms", [1, 500, 10_000])
def test_a_trail_of_many_arms_is_shorter(num_arms):
    """A million numbers in all, or a hundred points."""
    points = grown(2_500, num_arms).points
    assert len(points) * num_arms <= max(1_000_000, 100 * num_arms)


def test_a_stall_is_flat():
    """Before the pull that ends it there are points at both of its ends, with the same counters."""
    trail = Trail(1)
    for number, time in enumerate((0, 400_000, 1_200_000, 2_000_000, 300 * SECOND)):
        if trail.is_due(SECOND + time):
            trail.keep(SECOND + time, 0.0, np.array([number]))
        trail.change(SECOND + time)
    flat = [(one, two) for one, two in itertools.pairwise(trail.points) if two.time - one.time > 100 * SECOND]
    assert [(one.pulls.tolist(), two.pulls.tolist()) for one, two in flat] == [([4], [4])]
