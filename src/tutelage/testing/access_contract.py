"""The part of the conformance suite of stores that is about access: keys, sessions and the audit log."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tutelage import stores
from tutelage.stores.base import AuditRow, CampaignExists, CampaignNotFound, LeaseLost, SessionRow
from tutelage.testing.ledger_rows import change, entry, grow, make_key, stop_and_export

Opener = Callable[[Any], Any]


class AccessContract:
    """What every store keeps to of keys, sessions and the audit log; the fixtures are those of ``StoreContract``."""

    def test_keys_are_listed_and_revoked(self, store: Any) -> None:
        """A key comes back as it was made; the first revocation counts, and frees the name, not the secret."""
        keys = [make_key("é"), make_key("b", "reporter", "c", ("x", "🎰")), make_key("a", "viewer")]
        for key in keys:
            store.create_key(key)
        assert store.keys() == [keys[2], keys[1], keys[0]]
        store.revoke_key("b", 100)
        store.revoke_key("b", 200)
        assert [key.revoked for key in list(store.keys())] == [None, 100, None]
        with pytest.raises(CampaignExists, match="'a'"):
            store.create_key(make_key("a"))
        again = dataclasses.replace(make_key("b"), digest=b"another secret")
        store.create_key(again)
        assert store.keys()[1] == again
        with pytest.raises(CampaignNotFound, match="'z'"):
            store.revoke_key("z", 1)

    def test_a_key_is_rotated_once_by_its_old_digest(self, store: Any) -> None:
        """Secret and times are new, name and rights are not; not after another rotation, or a revocation."""
        first = dataclasses.replace(make_key("é", "reporter", "c", ("x",)), expires=2**60)
        store.create_key(first)
        assert store.keys() == [first]
        new = dataclasses.replace(first, digest=b"new", created=7, expires=9, old_digest=first.digest, old_until=8)
        store.rotate_key(new)
        assert store.keys() == [new]
        for stale in (new, dataclasses.replace(new, name="z", old_digest=b"new")):
            with pytest.raises(CampaignNotFound, match="meanwhile"):
                store.rotate_key(stale)
        store.revoke_key("é", 10)
        with pytest.raises(CampaignNotFound):
            store.rotate_key(dataclasses.replace(new, digest=b"newest", old_digest=b"new"))
        assert store.keys() == [dataclasses.replace(new, revoked=10)]

    def test_the_last_use_of_a_key_is_the_latest(self, store: Any) -> None:
        """Whichever of two servers says it last; a replaced secret is unused, and an unknown one changes nothing."""
        first, second = make_key("a"), make_key("b")
        for key in (first, second):
            store.create_key(key)
        store.note_key_uses({first.digest: 2**50, b"unknown": 1})
        store.note_key_uses({first.digest: 40, second.digest: 3})
        assert [key.used for key in list(store.keys())] == [2**50, 3]
        store.rotate_key(dataclasses.replace(first, digest=b"new", old_digest=first.digest, old_until=6))
        store.note_key_uses({first.digest: 2**51})
        assert [key.used for key in list(store.keys())] == [None, 3]

    def test_sessions_are_listed_until_they_end(self, store: Any) -> None:
        """By their digests; one that has expired goes when the next begins, and an end may come twice."""
        first, second = (SessionRow(bytes([number]) * 32, b"key", number, number + 10) for number in (1, 5))
        late = dataclasses.replace(first, digest=b"late", created=11, expires=30)
        audit = AuditRow(17, "böss", "192.0.2.1", "sign in")
        store.open_session(first, audit)
        store.open_session(second)
        assert sorted(store.sessions(), key=lambda row: row.created) == [first, second]
        store.open_session(late)
        assert sorted(store.sessions(), key=lambda row: row.created) == [second, late]
        for _ in range(2):
            store.end_session(second.digest, dataclasses.replace(audit, action="sign out"))
        assert store.sessions() == [late]
        assert [row.action for row in store.audit(0, 9)] == ["sign in", "sign out"]

    def test_the_audit_log_outlives_what_it_is_about(self, store: Any) -> None:
        """Each row comes with its act or not at all, in order, and stays when the campaign or key is gone."""

        def act(action: str, subject: str = "") -> AuditRow:
            return AuditRow(17, "böss", "192.0.2.1", action, "c", subject)

        with pytest.raises(CampaignExists):
            store.create("c", "{}", 3, 17, "{}", act("create campaign"))
        token = store.lead("c", "here")
        started = dataclasses.replace(change(token, 0, entry(1, "started")), audit=[act("start campaign")])
        store.append([started])
        with pytest.raises(LeaseLost):
            store.append([started])
        store.append([dataclasses.replace(change(token, 1, entry(2, "excluded")), audit=[act("exclude client", "é")])])
        stop_and_export(store, token, 2)
        store.delete("c", act("delete campaign"))
        store.create_key(make_key("k"), act("create key", "k"))
        store.revoke_key("k", 9, act("revoke key", "k"))
        store.revoke_key("k", 10, act("revoke key", "k"))
        with pytest.raises(CampaignNotFound):
            store.revoke_key("unknown", 9, act("revoke key", "unknown"))
        rows = store.audit(0, 100)
        found = [(row.action, row.subject) for row in rows]
        assert found == [
            ("start campaign", ""),
            ("exclude client", "é"),
            ("delete campaign", ""),
            ("create key", "k"),
            ("revoke key", "k"),
        ]
        assert dataclasses.replace(rows[0], number=0) == act("start campaign")
        assert store.audit(rows[1].number, 2) == rows[2:4]
        assert [row.number for row in rows] == sorted({row.number for row in rows})

    def test_keys_are_made_beside_a_server_and_without_one(self, address: str, opened: Opener) -> None:
        """The first key needs no server; another is made, and seen, while one runs."""
        with_none = opened(stores.open_keys(address))
        with_none.create_key(make_key("first"))
        with_none.close()
        store = opened(stores.open_store(address))
        other_keys = opened(stores.open_keys(address))
        other_keys.create_key(make_key("second"))
        assert [key.name for key in list(store.keys())] == ["first", "second"]
        other_keys.revoke_key("first", 9)
        assert store.keys()[0].revoked == 9
        store.create("c", "{}", 1, 1, "{}")
        assert grow(store, store.lead("c", "here"), 0, 5) == 5
        assert len(opened(stores.open_reader(address)).read("c", 0, 10)) == 5
