"""Which pulls the cache holds for replays, and which ids need no query of the store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.service.campaigns import pull_cache
from tutelage.service.campaigns.pull_cache import PullCache
from tutelage.stores.base import PullRow


def row(id):
    """A pull with this id."""
    return PullRow(1, 1, 0, 0, 0, 1, 0.25, 0.5, 1, False, 1, id)


def add(memory, ids):
    """Remember pulls with these ids."""
    memory.add({id: row(id) for id in ids})


@pytest.fixture
def few(monkeypatch):
    """Two pulls are enough to forget older ones."""
    monkeypatch.setattr(pull_cache, "MIN_CACHED", 2)


def test_the_newest_pulls_are_cached(few):
    """As many as are promised, and at most twice as many; the rest may be in the store."""
    memory = PullCache()
    for first in "acegi":
        add(memory, [first, chr(ord(first) + 1)])
        memory.drop_oldest()
        assert len(memory) <= 4
    assert [id for id in "abcdefghij" if memory.get(id)] == list("ij")
    assert memory.find_uncertain("abcdefghijk") == list("abcdefgh")


def test_a_new_campaign_asks_for_nothing():
    """No pull of it is stored, so that every id is new, whatever it is."""
    memory = PullCache()
    assert memory.find_uncertain(["a", "\0", "\U0010ffff"]) == []
    assert not memory.has_any(["a"])


def test_after_a_start_the_store_knows_up_to_its_last_id():
    """Ids up to it may be stored; those behind it are new, in the order of bytes."""
    memory = PullCache("m")
    add(memory, ["c", "x"])
    assert memory.find_uncertain(["a", "c", "m", "m0", "n", "x", "M", "é"]) == ["a", "m", "M"]


def test_a_correction_is_cached_with_its_pull(few):
    """It moves to the newest, and goes with them."""
    memory = PullCache()
    add(memory, ["a", "b"])
    memory.drop_oldest()
    memory.correct(row("a"))
    assert memory.get("a").corrected
    assert not memory.get("b").corrected
    for ids in ("cd", "ef"):
        add(memory, ids)
        memory.drop_oldest()
    assert memory.get("a") is None
    assert "a" in memory.find_uncertain(["a"])
    add(memory, ["a"])  # as it was stored: the store tells that it was corrected
    assert not memory.get("a").corrected


@given(st.lists(st.lists(st.text(max_size=3), max_size=6)), st.text(max_size=3), st.integers(1, 4))
def test_no_stored_pull_is_taken_for_new(groups, last, size):
    """For any ids in any order, each that was ever added is cached or looked up in the store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pull_cache, "MIN_CACHED", size)
        memory, stored = PullCache(last), {last}
        for group in groups:
            add(memory, group)
            stored.update(group)
            memory.drop_oldest()
            asked = set(memory.find_uncertain(stored))
            assert all(memory.get(id) or id in asked for id in stored)
