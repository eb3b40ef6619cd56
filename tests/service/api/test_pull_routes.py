"""The HTTP of pulls, called without sockets."""

import math

import pytest
from tests.service.api.messages import kind, pull

from tutelage.service.api.pull_routes import MAX_PULLS


@pytest.fixture
def url(either_url):
    """On both stores."""
    return either_url


def test_one_pull_is_answered_by_one_object(server):
    """The answer to an object is an object; to a batch, one in its order; TWL begins with gamma1."""
    server.create(teacher="twl(gamma1=1,gamma2=0)")
    response = server.call("POST", "/v1/campaigns/c/pulls", pull())
    assert response.status_code == 200
    assert response.json() == {"id": "1", "reward": 1.0, "adjustment": 0.5, "directive": 1, "replayed": False}
    batch = server.pull(pull("3", "b"), pull("2"), pull("1")).json()["pulls"]
    assert [(one["id"], one["replayed"]) for one in batch] == [("3", False), ("2", False), ("1", True)]


def test_a_replay_is_the_first_answer(server):
    """Whenever it comes, stopped or not, after a restart too."""
    server.create(teacher="none")
    first = server.pull(pull(reward=0.1)).json()["pulls"][0]
    server.call("POST", "/v1/campaigns/c/stop")
    again = server.pull(pull(reward=0.1)).json()["pulls"][0]
    assert again == first | {"replayed": True}
    assert kind(server.pull(pull("2"))) == "stopped"
    server.call("POST", "/v1/campaigns/c/start")
    assert server.pull(pull("2")).status_code == 200


def test_an_id_with_other_content_is_a_conflict(server):
    """Nothing is changed, and nothing of what is stored is shown."""
    server.create()
    server.pull(pull(reward=0.25))
    refused = server.pull(pull("2"), pull(reward=0.75))
    assert (refused.status_code, kind(refused)) == (409, "conflict")
    assert "0.25" not in refused.text
    assert kind(server.pull(pull("3"), pull("3", arm="y"))) == "conflict"
    assert server.call("GET", "/v1/campaigns/c").json()["num_pulls"] == 1


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"client": "nobody"}, "client"),
        ({"arm": "none"}, "arm"),
        ({"reward": 1.5}, "reward"),
        ({"reward": True}, "reward"),
        ({"reward": "1"}, "reward"),
        ({"id": ""}, "id"),
        ({"id": "a\x7f"}, "id"),
        ({"id": "n" * 129}, "id"),
        ({"more": 1}, "more"),
    ],
)
def test_faults_name_their_place(server, changed, field):
    """422 with index, id and field; none of the request's pulls is stored."""
    server.create()
    refused = server.pull(pull("ok"), pull("bad") | changed)
    assert (refused.status_code, kind(refused)) == (422, "invalid")
    (fault,) = refused.json()["faults"]
    assert (fault["index"], fault["field"]) == (1, field)
    assert fault["id"] == changed.get("id", "bad")
    assert server.call("GET", "/v1/campaigns/c").json()["num_pulls"] == 0


@pytest.mark.parametrize(
    ("changed", "field", "what"),
    [
        ({"horizon": "9"}, "horizon", "The field horizon must be a whole number, not text."),
        ({"horizon": None}, "horizon", "The field horizon must be a whole number, not null."),
        ({"arms": "x"}, "arms", "The field arms must be a list, not text."),
        ({"arms": ["x", 1]}, "arms[1]", "The field arms[1] must be text, not a whole number."),
        ({"weights": 1}, "weights", "The field weights must be an object, a list or null, not a whole number."),
        (
            {"open_registration": 1},
            "open_registration",
            "The field open_registration must be true or false, not a whole number.",
        ),
        ({"seed": -1}, "seed", "The field seed must be a whole number of at least 0."),
        (
            {"colour": "blue"},
            "colour",
            (
                "The field colour is unknown; the fields are name, arms, horizon, teacher, clients, "
                "open_registration, low, high, weights, seed, binary_reveals, start, strict."
            ),
        ),
    ],
)
def test_a_field_that_is_wrong_is_named_in_our_words(server, changed, field, what):
    """As the sentence, and as a fault for programs."""
    content = {"name": "c", "arms": ["x"], "clients": ["a"], "horizon": 9, "teacher": "none"}
    refused = server.call("POST", "/v1/campaigns", content | changed)
    assert kind(refused) == "invalid"
    assert refused.json()["detail"] == what
    assert refused.json()["faults"] == [{"index": 0, "id": "", "field": field, "what": what}]


def test_what_is_missing_is_named(server):
    """In a campaign, in a pull, and in a body that is something else."""
    refused = server.call("POST", "/v1/campaigns", {"name": "c", "arms": ["x"], "teacher": "none"})
    assert refused.json()["detail"] == "The field horizon is missing."
    assert server.call("POST", "/v1/campaigns", []).json()["detail"] == "The body must be an object, not a list."
    server.create()
    (fault,) = server.call("POST", "/v1/campaigns/c/pulls", {"id": "1"}).json()["faults"]
    assert fault == {"index": 0, "id": "1", "field": "client", "what": "The field client is missing."}
    refused = server.call("GET", "/v1/campaigns/c/ledger?limit=x")
    assert refused.json()["detail"] == "The query parameter limit must be a whole number, not 'x'."
    refused = server.call("GET", "/v1/campaigns/c/ledger?limit=0")
    assert refused.json()["detail"].endswith("must be a whole number of at least 1, not '0'.")
    refused = server.call("GET", "/v1/campaigns/c/export?format=xml")
    assert refused.json()["detail"].endswith("format must be ndjson, csv or parquet, not 'xml'.")


def test_a_hundred_faults_are_listed(server):
    """The first ones."""
    server.create()
    refused = server.pull(*(pull(str(n), client="nobody") for n in range(150)))
    assert [fault["index"] for fault in refused.json()["faults"]] == list(range(100))


def test_the_largest_batch_is_taken_and_no_larger(server):
    """10,000 pulls are one step; one more is too many."""
    server.create(teacher="none", horizon=20_000)
    pulls = [pull(str(n), reward=n / 10_001) for n in range(MAX_PULLS + 1)]
    revealed = server.pull(*pulls[:-1]).json()["pulls"]
    assert [(one["id"], one["reward"]) for one in revealed] == [(one["id"], one["reward"]) for one in pulls[:-1]]
    assert kind(server.pull(*pulls)) == "too-large"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b'{"pulls": []}', 422),
        (b'{"pulls": 1}', 422),
        (b'{"id":"1","id":"1","client":"a","arm":"x","reward":0.5}', 400),
        (b'{"id":"1","client":"a","arm":"x","reward":NaN}', 400),
        (b'{"id":"1","client":"a","arm":"x","reward":1e999}', 400),
        (b'{"id":"\\u0000","client":"a","arm":"x","reward":0.5}', 400),
        (b'{"id":"\\ud800","client":"a","arm":"x","reward":0.5}', 400),
        (b'{"id":"\xff","client":"a","arm":"x","reward":0.5}', 400),
        (b"[" * 100_000, 400),
        (b'{"id":"1"}', 422),
        (b'{"id":"1","client":"a","arm":"x","reward":0.5,"pulls":[]}', 400),
    ],
)
def test_bodies_that_are_no_pulls(server, body, status):
    """Each is refused with its own status, on the quick route as on the others."""
    server.create()
    headers = {"content-type": "application/json"}
    for path, expected in (("/v1/campaigns/c/pulls", {status}), ("/v1/campaigns", {400, 422})):
        refused = server.loop.run_until_complete(server.http.post(path, content=body, headers=headers))
        assert refused.status_code in expected
        kind(refused)


def test_only_json_and_not_too_much_of_it(serve):
    """415 and 413, with and without a declared length, before anything is read of it."""
    server = serve(max_body=2_000)
    server.create()
    for path in ("/v1/campaigns/c/pulls", "/v1/campaigns"):
        post = server.http.post(path, content=b"{}", headers={"content-type": "text/plain"})
        assert kind(server.loop.run_until_complete(post)) == "unsupported-media-type"
        post = server.http.post(path, content=b" " * 2_001, headers={"content-type": "application/json"})
        assert kind(server.loop.run_until_complete(post)) == "too-large"


def test_numbers_read_back_equal(server):
    """KEEP reveals the very number that was sent, minus zero as zero, in units of the sender."""
    server.create(teacher="none", low=-1e300, high=1e300)
    rewards = [0.1, 1 / 3, 5e-324, 1e300, -7.25, -0.0, 1e22, 123456789.123456789]
    response = server.pull(*(pull(str(n), reward=reward) for n, reward in enumerate(rewards)))
    assert [one["reward"] for one in response.json()["pulls"]] == rewards
    assert math.copysign(1, response.json()["pulls"][5]["reward"]) == 1
    ledger = server.call("GET", "/v1/campaigns/c/ledger").json()["rows"]
    assert [row["observed"] for row in ledger if row["kind"] == "pull"] == rewards


def test_too_many_waiting_pulls_are_sent_away(serve):
    """429 with Retry-After, while others wait."""
    server = serve(max_waiting_pulls=1)
    server.create()
    server.gateway.handoff.waiting = 1
    refused = server.pull(pull())
    assert (refused.status_code, kind(refused)) == (429, "busy")
    assert int(refused.headers["retry-after"]) > 0
    server.gateway.handoff.waiting = 0


def test_pulls_beyond_the_horizon_are_counted_apart(server):
    """They are shown as observed, and the answers say so; they are no evidence, and the round ends with the horizon."""
    server.create(horizon=3, teacher="twl(gamma1=1,gamma2=0)")
    answers = [server.pull(pull(id=f"{i}", client="a")).json()["pulls"][0] for i in range(8)]
    answers += server.pull(pull(id="8"), pull(id="9")).json()["pulls"]
    assert [one.get("beyond_horizon") for one in answers] == [None] * 3 + [True] * 7
    assert [one["adjustment"] == 0 for one in answers] == [False] * 3 + [True] * 7
    assert server.pull(pull(id="9")).json()["pulls"] == [answers[9] | {"replayed": True}]
    server.pull(pull(id="b", client="b"))
    found = server.call("GET", "/v1/campaigns/c").json()
    assert (found["num_pulls"], found["round"], found["beyond_horizon"]) == (11, 3, 7)
    assert server.call("GET", "/v1/campaigns/c/totals").json()["beyond_horizon"] == 7


def test_a_zero_has_no_sign(server):
    """Neither in what is revealed nor in an adjustment."""
    server.create(low=-1.0, high=-0.0, teacher="known(target=1)")
    response = server.pull(*(pull(id=str(i), arm="xy"[i % 2], reward=-0.5) for i in range(6)))
    assert "-0.0" not in response.text
    assert "-0.0" not in server.call("GET", "/v1/campaigns/c").text


def test_a_pull_has_its_place_in_its_request(server):
    """Replays before it count, and a report in the same request does not move it."""
    server.create()
    server.pull(pull(id="0"))
    again, late = pull(id="0"), pull(id="2")
    server.pull(again, pull(id="1"), late, late | {"bypassed": True})
    rows = server.call("GET", "/v1/campaigns/c/ledger").json()["rows"]
    assert [(row["id"], row["step"], row["index"]) for row in rows if row["kind"] == "pull"] == [
        ("0", 1, 0),
        ("1", 2, 1),
        ("2", 2, 2),
    ]
