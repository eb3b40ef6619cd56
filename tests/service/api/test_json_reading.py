"""The quick way to read pulls agrees with the careful one."""

import contextlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.pull_routes import PullOrBatch, read_pulls
from tutelage.service.api.strict_json import MAX_NESTING, read_json
from tutelage.service.campaigns.messages import PullRequest

TEXT = st.text(max_size=6) | st.sampled_from(["bypassed", "pulls", '"', "\\", "id"])
PULL = st.fixed_dictionaries(
    {
        "id": TEXT,
        "client": TEXT,
        "arm": TEXT,
        "reward": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    },
    optional={"bypassed": st.booleans()},
)


@given(st.lists(PULL, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_what_is_written_is_read(pulls, ascii, one):
    """Whatever the strings hold but NUL and surrogates, and however they are escaped."""
    content = pulls[0] if one else {"pulls": pulls}
    body = json.dumps(content, ensure_ascii=ascii).encode("utf-8", "surrogatepass")
    expected = [PullRequest(**pull) for pull in (pulls[:1] if one else pulls)]
    if any("\0" in text for pull in pulls for text in map(str, pull.values())):
        return
    assert read_pulls(body) == (expected, one)


@given(PULL, st.sampled_from(["id", "client", "arm", "reward", "bypassed"]), st.booleans(), st.booleans())
def test_a_key_twice_is_refused(pull, key, one, escaped):
    """Also if the second is written with an escape, or has the same value."""
    pull = pull | {"bypassed": False}
    name = f"\\u{ord(key[0]):04x}{key[1:]}" if escaped else key
    text = json.dumps(pull)[:-1] + f', "{name}": {json.dumps(pull[key])}}}'
    body = (text if one else f'{{"pulls": [{text}]}}').encode()
    with pytest.raises(HttpProblem) as refused:
        read_pulls(body)
    assert refused.value.status == 400


def test_the_list_twice_is_refused():
    """A body with two lists is refused."""
    pull = '{"id": "1", "client": "a", "arm": "x", "reward": 1}'
    with pytest.raises(HttpProblem) as refused:
        read_pulls(f'{{"pulls": [{pull}], "pulls": [{pull}]}}'.encode())
    assert refused.value.kind == "malformed"


@given(st.binary(max_size=60) | st.text(alphabet='{}[]":,\\u0e1 \n', max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(body):
    """Nothing but a Problem comes out."""
    for read in (read_pulls, lambda body: read_json(body, PullOrBatch)):
        with contextlib.suppress(HttpProblem):
            read(body)


def test_nesting_has_an_end():
    """Eight deep is read, nine is not; brackets in strings do not count."""

    class Nested(msgspec.Struct):
        a: object

    def nested(depth):
        return b'{"a": ' + b"[" * (depth - 1) + b'"[[[[[[[[[["' + b"]" * (depth - 1) + b"}"

    assert read_json(nested(MAX_NESTING), Nested).a
    with pytest.raises(HttpProblem) as refused:
        read_json(nested(MAX_NESTING + 1), Nested)
    assert refused.value.kind == "malformed"


@pytest.mark.parametrize("tail", [b"", b"\\", b"\\\\", b"[" * 9])
def test_a_string_that_nobody_closes_is_read_once(tail):
    """Each quote in it does not start the search again, which would take minutes."""
    with pytest.raises(HttpProblem) as refused:
        read_pulls(b'{"id":"' + b'\\"' * 1_000_000 + tail)
    assert refused.value.kind == "malformed"


def test_brackets_in_strings_do_not_nest():
    """Closed ones, with escaped quotes and backslashes in them; behind them brackets count again."""
    odd = b'{"id":"[[[[[[[[[[[[","client":"\\\\","arm":"\\"[[[[[[[[[[","reward":0.5}'
    assert read_pulls(odd)[0][0].arm == '"[[[[[[[[[['
    with pytest.raises(HttpProblem, match="nested more than 8 levels deep"):
        read_pulls(b'{"id":"\\\\","x":' + b"[" * 9 + b"]" * 9 + b"}")
