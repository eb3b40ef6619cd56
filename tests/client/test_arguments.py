"""What is refused before anything is sent, and what is not."""

import math
from decimal import Decimal
from fractions import Fraction

import httpx
import numpy as np
import pytest
from tests.client.fake_server import FakeServer, client_of

from tutelage.client import Client, ObservedReward, new_id


@pytest.mark.parametrize(
    "pull",
    [
        ("anna", "a", math.nan),
        ("anna", "a", math.inf),
        ("", "a", 0.5),
        ("anna", "a" * 129, 0.5),
        ("\ud800", "a", 0.5),
        ("anna", "a\nb", 0.5),
        ("anna\x7f", "a", 0.5),
        ("anna", 5, 0.5),
        ("anna", None, 0.5),
        ("anna", "a", 10**400),
        ("anna", "a", 10**5_000),
        ("anna", "a", Decimal("sNaN")),
        ("anna", "a", Decimal("1e999")),
        ("anna", "a", "0.5"),
        ("anna", "a", b"0.5"),
        ("anna", "a", None),
        ("anna", "a", [0.5]),
        ("anna", "a", 1 + 2j),
        ("anna", "a", True),
        ("anna", "a", np.True_),
    ],
)
def test_the_callers_mistakes_are_raised_before_anything_is_sent(pull):
    """Also while the server is dead: nothing wrong ends in the spool."""
    server = FakeServer()
    with client_of(server) as client:
        with pytest.raises(ValueError, match=r"^Invalid (reward|client|arm) "):
            client.reveal(*pull)
        for id in ("", "a\0b", "\udfff", "x" * 129, 5):
            with pytest.raises(ValueError, match=r"^Invalid id "):
                client.reveal("anna", "a", 0.5, id=id)
        with pytest.raises(ValueError, match="There are 2 ids for 1 pulls: give one id per pull"):
            client.reveal_all([ObservedReward("anna", "a", 0.5)], ids=["x", "y"])
        assert client.reveal_all([]) == []
        assert not len(client.spool)
    assert not server.pulls
    with pytest.raises(RuntimeError, match="closed"):
        client.reveal("anna", "a", 0.5)


@pytest.mark.parametrize("reward", [np.float32(0.5), Decimal("0.5"), Fraction(1, 2), np.float64(0.5)])
def test_every_kind_of_number_is_a_reward(reward):
    """It is sent as JSON's; whole ones too, of Python and of numpy."""
    server = FakeServer()
    with client_of(server) as client:
        assert client.reveal("anna é", "a\u2028", reward, id="x" * 128).reward == 0.5
        assert client.reveal("anna", "a", type(reward)(1)).reward == 0.0
        assert client.reveal("anna", "a", np.int64(1)).reward == 0.0
    assert [pull["reward"] for pull in server.pulls] == [0.5, 1.0, 1.0]


@pytest.mark.parametrize(
    "server", ["localhost:8321", "http://", "ftp://x", "http://[", "http://a:99999", "http://a:b", "http://a b"]
)
def test_an_address_that_is_none_is_refused(server):
    """At once: otherwise every reward would be shown as observed for ever."""
    with pytest.raises(ValueError, match="Invalid server address"):
        Client(server, "c")


def test_a_refused_address_is_shown_without_its_password():
    """Nor does a key that none can be, in characters that no header takes, show itself."""
    with pytest.raises(ValueError, match=r"^Invalid server address '\*\*\*@host': use http://HOST:PORT"):
        Client("ftp://me:sesame@host", "c")
    with pytest.raises(ValueError, match=r"The key contains a character that is not allowed in a key\.$"):
        Client("http://host", "c", key="sesame\n")
    with pytest.raises(ValueError, match="Invalid deadline '1': use a positive number of seconds"):
        Client("http://host", "c", deadline="1")


def test_server_and_key_are_read_from_the_environment(monkeypatch):
    """An argument wins; an empty key sends none, although there is one in the environment."""
    sent = []

    def noting(request):
        sent.append((request.url.host, request.headers.get("Authorization")))
        return FakeServer()(request)

    def play(*arguments, **options):
        with Client(*arguments, campaign="c", transport=httpx.MockTransport(noting), **options) as client:
            client.reveal("anna", "a", 0.5)

    monkeypatch.delenv("TUTELAGE_SERVER", raising=False)
    with pytest.raises(ValueError, match=r"^No server address: pass server, as in http://HOST:PORT, or set TUTELAGE_"):
        Client(campaign="c")
    monkeypatch.setenv("TUTELAGE_SERVER", "http://elsewhere:1")
    monkeypatch.setenv("TUTELAGE_KEY", "sesame")
    play()
    play("http://here", key="mine")
    play(key="")
    assert sent == [("elsewhere", "Bearer sesame"), ("here", "Bearer mine"), ("elsewhere", None)]
    monkeypatch.setenv("TUTELAGE_KEY", "two words")
    with pytest.raises(ValueError, match=r"^TUTELAGE_KEY contains a character that is not allowed in a key\.$"):
        Client(campaign="c")


def test_ids_sort_by_time_and_are_names():
    """1 to 128 characters, each once, later ones behind earlier ones."""
    ids = [new_id() for _ in range(2_000)]
    assert len(set(ids)) == len(ids)
    assert all(len(id) == 32 for id in ids)
    assert [id[:12] for id in ids] == sorted(id[:12] for id in ids)
