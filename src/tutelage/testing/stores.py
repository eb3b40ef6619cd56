"""The conformance suite of stores."""

import contextlib
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tutelage import stores
from tutelage.errors import InputError
from tutelage.stores.base import (
    CampaignExists,
    CampaignListing,
    CampaignNotFound,
    Head,
    LeaseLost,
    Snapshot,
    Store,
    StoredCampaign,
    StoreError,
    pages,
)
from tutelage.testing.access_contract import AccessContract
from tutelage.testing.ledger_rows import change, entry, grow, make_key, pull, stop_and_export

Opener = Callable[[Any], Any]
Leading = tuple[Any, Any, list[int]]

# Strings that are easily mangled or confused: accents composed and not, another script, beyond the first
# plane, quotes and escapes of SQL, arrays and patterns, what sorts by language, spaces at the end.
STRANGE = ["é", "e\u0301", "Ω", "🎰", "a'b", 'a"b', "a\\b", "{a,b}", "NULL", "%s", "a_b", "a", "A", "B", "b", "a "]


def _bits(row: Any) -> tuple[bytes, type, type]:
    return struct.pack("dd", row.observed, row.revealed), type(row.observed), type(row.revealed)


class StoreContract(AccessContract):
    """What every store keeps to.  A subclass gives the fixture ``address``: the URL of an empty store."""

    @pytest.fixture
    def address(self) -> str:
        """Return the URL of an empty store, a new one for each test."""
        raise NotImplementedError("define a fixture `address` that returns the URL of an empty store")

    @pytest.fixture
    def opened(self) -> Iterator[Opener]:
        """Register stores, readers and keys, which are closed when the test ends."""
        with contextlib.ExitStack() as stack:

            def register(thing: Any) -> Any:
                stack.callback(thing.close)
                return thing

            yield register

    @pytest.fixture
    def store(self, address: str, opened: Opener) -> Store:
        """Open a store with one campaign, ``c``, that no server leads yet."""
        store: Store = opened(stores.open_store(address))
        store.create("c", '{"arms": ["a", "b"]}', 3, 17, '{"directive": 0}')
        return store

    def test_a_new_campaign_stands_at_the_beginning(self, store: Any) -> None:
        """It comes back as it was created: registering, without rows, a snapshot or a leader."""
        stored, snapshot = store.load("c")
        head = Head(0, 0, "registering", '{"directive": 0}')
        assert stored == StoredCampaign("c", '{"arms": ["a", "b"]}', 3, 17, head, None)
        assert snapshot is None
        assert store.campaigns() == [CampaignListing("c", "registering", None)]
        assert store.read("c", 0, 10) == []

    def test_a_name_is_taken_once(self, store: Any) -> None:
        """A second campaign of the name is refused, and the first stays as it was."""
        with pytest.raises(CampaignExists, match="'c' already"):
            store.create("c", "{}", 1, 1, "{}")
        assert store.load("c")[0].settings == '{"arms": ["a", "b"]}'

    def test_a_missing_campaign_is_named(self, store: Any) -> None:
        """Whatever asks for a campaign that is not there says which."""
        for ask in (store.load, store.delete):
            with pytest.raises(CampaignNotFound, match="'d'"):
                ask("d")
        with pytest.raises(CampaignNotFound, match="'d'"):
            store.lead("d", "here")
        with pytest.raises(CampaignNotFound, match="'d'"):
            store.find("d", ["x"])
        assert store.read("d", 0, 10) == store.entries("d", 0, 10) == []

    def test_rows_come_back_in_order_with_the_head(self, store: Any) -> None:
        """Pulls and entries that were appended together are read by position, and the head has moved."""
        token = store.lead("c", "here")
        rows: list[Any] = [pull(1), entry(2), pull(3), pull(4, bypassed=True), entry(5, "bypassed", id="pull-00000001")]
        store.append([change(token, 0, *rows[:3], state='{"directive": 1}')])
        store.append([change(token, 3, *rows[3:], status="stopped", state='{"directive": 1}')])
        assert store.read("c", 0, 100) == rows
        assert [type(row.bypassed) for row in rows if hasattr(row, "bypassed")] == [bool] * 3
        assert store.read("c", 2, 2) == rows[2:4]
        assert store.entries("c", 0, 100) == [rows[1], rows[4]]
        assert store.entries("c", 2, 1) == [rows[4]]
        assert store.load("c")[0].head == Head(5, 5, "stopped", '{"directive": 1}')

    def test_pages_give_every_row_once(self, store: Any) -> None:
        """Whatever the size of a page, all rows come, in order."""
        token = store.lead("c", "here")
        position = grow(store, token, 0, 57)
        store.append([change(token, position, entry(position + 1))])
        position = grow(store, token, position + 1, 43)
        for size in (1, 7, 58, 1000):
            assert [row.position for row in pages(store, "c", 0, size)] == list(range(1, position + 1))
        assert [row.position for row in pages(store, "c", 90, 3)] == list(range(91, position + 1))

    @pytest.mark.parametrize("num_pulls", [1, 49, 50, 51, 1030])
    def test_find_gives_the_stored_pulls_alone(self, store: Any, num_pulls: int) -> None:
        """Of many ids, those that are stored come back with their pulls, one or thousands."""
        token = store.lead("c", "here")
        rows = [pull(i + 1) for i in range(num_pulls)]
        store.append([change(token, 0, *rows)])
        ids = [row.id for row in rows]
        found = store.find("c", [*ids, *(f"new-{i}" for i in range(1100)), ids[0]])
        assert {id: known.pull for id, known in found.items()} == {row.id: row for row in rows}
        assert not any(known.corrected for known in found.values())
        assert store.find("c", []) == {}
        assert store.find("c", ["new"]) == {}

    def test_the_last_id_is_the_greatest_in_bytes(self, store: Any) -> None:
        """Of one campaign only, whatever came last; nothing if it has no pull."""
        store.create("d", "{}", 1, 1, "{}")
        token, other = store.lead("c", "here"), store.lead("d", "here")
        assert store.last_id("c") == ""
        ids = ["~", *STRANGE, "!"]
        store.append([change(token, 0, *(pull(i + 1, id) for i, id in enumerate(ids)))])
        store.append([change(other, 0, pull(1, "z" * 128), name="d")])
        assert store.last_id("c") == max(ids, key=str.encode)
        assert store.last_id("d") == "z" * 128
        with pytest.raises(CampaignNotFound, match="'e'"):
            store.last_id("e")

    def test_find_tells_which_were_corrected(self, store: Any) -> None:
        """A bypass report behind a pull marks it; an entry of another kind or campaign does not."""
        store.create("d", "{}", 1, 1, "{}")
        token, other = store.lead("c", "here"), store.lead("d", "here")
        store.append([change(token, 0, pull(1, "x"), pull(2, "y"), pull(3, "z"))])
        store.append([change(token, 3, entry(4, "bypassed", "y"), entry(5, "decided", "z"))])
        store.append([change(other, 0, pull(1, "x"), entry(2, "bypassed", "x"), name="d")])
        assert {id: known.corrected for id, known in store.find("c", list("xyz")).items()} == {
            "x": False,
            "y": True,
            "z": False,
        }
        assert store.find("d", list("xyz"))["x"].corrected

    def test_strings_are_compared_byte_by_byte(self, store: Any) -> None:
        """Ids and names that look or sort alike are different ones, and come back unchanged."""
        token = store.lead("c", "here")
        rows = [pull(i + 1, id) for i, id in enumerate(STRANGE)]
        store.append([change(token, 0, *rows)])
        found = store.find("c", [*STRANGE, "É", "ω", "a  "])
        assert {id: known.pull for id, known in found.items()} == dict(zip(STRANGE, rows, strict=True))
        for name in STRANGE:
            store.create(name, f'"{name}"', 1, 1, "{}")
        names = [stored.name for stored in store.campaigns()]
        assert names == sorted([*STRANGE, "c"], key=str.encode)
        assert [store.load(name)[0].settings for name in STRANGE] == [f'"{name}"' for name in STRANGE]

    def test_numbers_come_back_to_the_last_bit(self, store: Any) -> None:
        """Floats at every edge, a zero's sign and the largest integers survive."""
        token = store.lead("c", "here")
        floats = [0.0, -0.0, 5e-324, 2.2250738585072014e-308, 0.1, 1 / 3, -1e308, 1.7976931348623157e308, 1.0, 1e16]
        large = 2**63 - 1
        rows = [
            pull(i + 1, observed=value, revealed=-value, time=large, directive=large - i, number=large)
            for i, value in enumerate(floats)
        ]
        store.append([change(token, 0, *rows)])
        read = store.read("c", 0, 100)
        assert read == rows
        assert [_bits(row) for row in read] == [_bits(row) for row in rows]
        assert [_bits(store.find("c", [row.id])[row.id].pull) for row in rows] == [_bits(row) for row in rows]

    @pytest.fixture
    def leading(self, store: Any) -> Leading:
        """A store, its token and where the campaign stands."""
        return store, store.lead("c", "here"), [0]

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(
            st.tuples(
                st.floats(allow_nan=False, allow_infinity=False),
                st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=128),
            ),
            max_size=60,
            unique_by=lambda pair: pair[1],
        )
    )
    def test_any_pull_comes_back(self, leading: Leading, pairs: list[tuple[float, str]]) -> None:
        """Whatever the numbers and the letters of an id, what is appended is found and read."""
        store, token, at = leading
        name = f"campaign {at[0]}"
        store.create(name, "{}", 1, 1, "{}")
        token = store.lead(name, "here")
        rows = [pull(i + 1, id, observed=value, revealed=-value) for i, (value, id) in enumerate(pairs)]
        store.append([change(token, 0, *rows, name=name)])
        at[0] += 1
        found = store.find(name, [id for _, id in pairs])
        assert [found[row.id].pull for row in rows] == rows == store.read(name, 0, 100)
        assert [_bits(found[row.id].pull) for row in rows] == [_bits(row) for row in rows]

    def test_a_transaction_is_whole_or_nothing(self, store: Any) -> None:
        """If one of several campaigns is refused, none of them has gained anything."""
        store.create("d", "{}", 1, 1, "{}")
        token, other = store.lead("c", "here"), store.lead("d", "here")
        good = change(token, 0, pull(1), entry(2), state='{"directive": 9}', snapshot=Snapshot(2, b"later"))
        before = [store.load(name) for name in "cd"]
        with pytest.raises(LeaseLost) as caught:
            store.append([good, change(other - 1, 0, pull(1), name="d")])
        assert caught.value.name == "d"
        assert [store.load(name) for name in "cd"] == before
        assert before[0][1] is None
        assert store.read("c", 0, 10) == store.read("d", 0, 10) == []
        store.append([good, change(other, 0, pull(1), name="d")])
        assert [len(store.read(name, 0, 10)) for name in "cd"] == [2, 1]
        assert store.load("c") == (store.load("c")[0], Snapshot(2, b"later"))
        assert store.load("c")[0].head.state == '{"directive": 9}'

    def test_a_row_that_clashes_undoes_the_transaction(self, store: Any) -> None:
        """An id that is stored already, or one twice, is refused with everything in the same transaction."""
        token = store.lead("c", "here")
        position = grow(store, token, 0, 3)
        for ids in (["new", "pull-00000002"], ["new", "new"]):
            rows = [pull(position + 1 + i, id) for i, id in enumerate(ids)]
            with pytest.raises(StoreError, match="refused a statement") as caught:
                store.append([change(token, position, *rows)])
            assert type(caught.value) is StoreError
        assert store.load("c")[0].head.position == position == len(store.read("c", 0, 10))
        assert grow(store, token, position, 1, prefix="new") == position + 1

    def test_a_change_must_count_its_rows(self, store: Any) -> None:
        """A head that does not stand behind the last row is the caller's mistake, and writes nothing."""
        token = store.lead("c", "here")
        wrong = change(token, 0, pull(1))
        with pytest.raises(ValueError, match=r"1 rows after position 0 .* not at 2"):
            store.append([type(wrong)("c", token, 0, Head(2, 1, "running", "{}"), wrong.pulls)])
        assert store.read("c", 0, 10) == []

    def test_an_overtaken_leader_is_fenced(self, store: Any) -> None:
        """A takeover ends the earlier token's changes; tokens only grow."""
        first = store.lead("c", "here")
        position = grow(store, first, 0, 2)
        second = store.lead("c", "here")
        assert second > first
        with pytest.raises(LeaseLost, match="Another server now leads"):
            grow(store, first, position, 1)
        assert grow(store, second, position, 1) == 3
        assert len(store.read("c", 0, 10)) == 3

    def test_a_change_goes_on_from_where_the_head_is(self, store: Any) -> None:
        """The right token from another position, before or after the head's, is refused."""
        token = store.lead("c", "here")
        position = grow(store, token, 0, 2)
        for after in (0, 1, 3):
            with pytest.raises(LeaseLost):
                grow(store, token, after, 1, prefix="other")
        with pytest.raises(LeaseLost):
            store.append([change(token, 0, name="nowhere")])
        assert grow(store, token, position, 1) == 3

    def test_the_newest_snapshot_replaces_the_others(self, store: Any) -> None:
        """A snapshot comes back with its position, and the next one takes its place."""
        token = store.lead("c", "here")
        store.append([change(token, 0, pull(1), snapshot=Snapshot(1, bytes(range(256)) * 40))])
        assert store.load("c")[1] == Snapshot(1, bytes(range(256)) * 40)
        grow(store, token, 1, 1)
        assert store.load("c")[1].position == 1
        store.append([change(token, 2, pull(3), snapshot=Snapshot(3, b""))])
        assert store.load("c")[1] == Snapshot(3, b"")
        store.append([change(token, 3, snapshot=Snapshot(2, b"no row"))])
        assert store.load("c")[1] == Snapshot(2, b"no row")

    def test_the_teachers_state_is_the_last_that_was_written(self, store: Any) -> None:
        """A state that goes back to an earlier one, after a failure or a takeover too, is written."""
        token = store.lead("c", "here")
        for position, state in enumerate(['{"a": 1}', '{"a": 2}', '{"a": 1}', '{"a": 1}']):
            grow(store, token, position, 1, state=state)
            assert store.load("c")[0].head.state == state
        with pytest.raises(LeaseLost):
            grow(store, token, 0, 1, state='{"a": 3}')
        again = store.lead("c", "here")
        grow(store, again, 4, 1, state='{"a": 3}')
        assert store.load("c")[0].head.state == '{"a": 3}'
        grow(store, again, 5, 1, state=None)  # leaves it as it is
        assert store.load("c")[0].head.state == '{"a": 3}'

    def test_a_store_opens_as_it_was_closed(self, address: str, opened: Opener) -> None:
        """Everything is there after closing and opening; the new token is larger, and nobody leads."""
        store = opened(stores.open_store(address))
        store.create("c", "{}", 1, 1, "{}")
        token = store.lead("c", "here")
        grow(store, token, 0, 120, snapshot=Snapshot(100, b"x"))
        before, rows = store.load("c"), store.read("c", 0, 200)
        store.release(["c"])
        store.close()
        store.close()
        store = opened(stores.open_store(address))
        assert store.load("c") == (StoredCampaign("c", "{}", 1, 1, before[0].head, None), before[1])
        assert store.read("c", 0, 200) == rows
        assert store.lead("c", "there") > token
        assert store.load("c")[0].leader == "there"

    def test_leases_are_kept_until_they_are_released(self, store: Any) -> None:
        """Only the campaigns that this store leads are renewed, and a released one has no leader."""
        store.create("d", "{}", 1, 1, "{}")
        store.lead("c", "here")
        assert list(store.renew(["c", "d"], "here")) == ["c"]
        assert [stored.leader for stored in store.campaigns()] == ["here", None]
        store.release(["c", "d"])
        assert list(store.renew(["c", "d"], "here")) == []
        assert [stored.leader for stored in store.campaigns()] == [None, None]

    def test_a_reader_sees_what_is_committed(self, store: Any, opened: Opener) -> None:
        """A reader in another thread has its own connection, and sees each transaction once it is done."""
        reader, token, seen = opened(store.reader()), store.lead("c", "here"), []

        def look() -> None:
            seen.append([row.position for row in reader.read("c", 0, 100)])

        for position in range(3):
            grow(store, token, position, 1)
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
        assert seen == [[1], [1, 2], [1, 2, 3]]
        assert reader.load("c") == store.load("c")
        assert reader.campaigns() == store.campaigns()

    def test_readers_and_the_writer_do_not_disturb_each_other(self, store: Any, opened: Opener) -> None:
        """Pages read while rows are appended are whole: no row is left out."""
        reader, token, wrong, done = opened(store.reader()), store.lead("c", "here"), [], threading.Event()

        def look() -> None:
            while not done.is_set():
                positions = [row.position for row in pages(reader, "c", 0, 11)]
                if positions != list(range(1, len(positions) + 1)):
                    wrong.append(positions)

        thread = threading.Thread(target=look)
        thread.start()
        position = 0
        for _ in range(60):
            position = grow(store, token, position, 5)
            store.append([change(token, position, entry(position + 1))])
            position += 1
        done.set()
        thread.join()
        assert wrong == []
        assert len(list(pages(reader, "c"))) == position

    def test_a_campaign_is_deleted_once_it_is_stopped_and_exported(self, store: Any) -> None:
        """Neither a running one goes, nor one with pulls or bypass reports that no export holds."""
        token = store.lead("c", "here")
        store.create("d", "{}", 1, 1, "{}")
        other = store.lead("d", "here")
        grow(store, other, 0, 2, name="d")
        position = grow(store, token, 0, 2)
        with pytest.raises(InputError, match="'c' is running: stop it"):
            store.delete("c")
        store.append([change(token, position, pull(3), status="stopped")])
        with pytest.raises(InputError, match=r"has not been exported by an administrator since it was stopped: export"):
            store.delete("c")
        store.append([change(token, 3, entry(4, "exported"), pull(5), status="stopped")])
        with pytest.raises(InputError, match="since its last pull or bypass report: export"):
            store.delete("c")
        store.append([change(token, 5, entry(6, "exported"), status="stopped")])
        store.append([change(token, 6, entry(7, "bypassed", "pull-00000001"), status="stopped")])
        with pytest.raises(InputError, match=r"since its last pull or bypass report: .* administrator's key"):
            store.delete("c")
        stop_and_export(store, token, 7)
        store.delete("c")
        assert [stored.name for stored in store.campaigns()] == ["d"]
        assert store.read("c", 0, 100) == []
        assert len(store.read("d", 0, 100)) == 2
        with pytest.raises(LeaseLost):
            grow(store, token, 8, 1)

    def test_a_campaign_that_never_started_is_deleted_at_once(self, store: Any) -> None:
        """It holds no pulls, whichever clients have registered."""
        token = store.lead("c", "here")
        store.append([change(token, 0, entry(1, "registered"), status="registering")])
        store.delete("c")
        assert store.campaigns() == []
        assert store.read("c", 0, 10) == []
        store.create("c", "{}", 1, 1, "{}")

    def test_a_deleted_campaigns_name_is_free_again(self, store: Any) -> None:
        """The next of the name has none of the first one's rows, ids, tokens or keys."""
        token = store.lead("c", "here")
        stop_and_export(store, token, grow(store, token, 0, 3))
        store.create_key(make_key("of c", role="reporter", campaign="c"))
        store.create_key(make_key("admin of c", campaign="c"))
        store.create_key(make_key("of all", role="reporter"))
        store.delete("c")
        store.create("c", "{}", 1, 1, "{}")
        with pytest.raises(LeaseLost):
            grow(store, token, 0, 1)
        token = store.lead("c", "here")
        assert store.find("c", ["pull-00000001"]) == {}
        assert grow(store, token, 0, 3) == 3
        assert [key.name for key in list(store.keys())] == ["of all"]

    def test_its_size_counts_rows_and_times(self, store: Any, address: str) -> None:
        """Rows of each table, also while the store is open, with the first and the last time."""
        before = stores.measure(address)
        assert (before.first, before.last, before.bytes_per_pull) == (17, None, None)
        token = store.lead("c", "here")
        grow(store, token, 0, 500)
        store.append([change(token, 500, entry(501))])
        store.create_key(make_key("k"))
        store.create("empty", "{}", 1, 12, "{}")
        size = stores.measure(address)
        rows = {table.name: table.rows for table in size.tables}
        expected = {"pulls": 500, "entries": 1, "campaigns": 2, "heads": 2, "states": 2, "snapshots": 0, "keys": 1}
        expected |= {"sessions": 0, "audit": 0, "heartbeats": 1}
        assert rows == expected
        assert (size.first, size.last) == (12, store.read("c", 500, 1)[0].time)
        bytes = {table.name: table.bytes for table in size.tables if table.bytes is not None}
        if bytes:
            assert 40 * 500 < bytes["pulls"] == 500 * (size.bytes_per_pull or 0)
            assert max(bytes.values()) == bytes["pulls"]
        assert size.bytes > 0

    def test_a_failure_within_leaves_no_transaction_open(self, store: Any) -> None:
        """After an error of the caller's own the store goes on."""
        token = store.lead("c", "here")
        with pytest.raises(UnicodeEncodeError):
            store.append([change(token, 0, pull(1, "\ud800"))])
        assert grow(store, token, 0, 1) == 1
