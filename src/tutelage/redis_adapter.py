"""The adapter for Redis Streams: it reads pulls from a stream, has a server answer them, and writes the responses.

Pulls are read by a consumer group, and Redis holds all state: an entry that was read stays pending until its
response is written.  The same step writes the response and acknowledges the entry, so each entry gets exactly one
response; pulls that are sent again after a fault have the same ids, and the server replays its first answer.
"""

import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tutelage.client.pull_messages import (
    Failure,
    ObservedReward,
    Pull,
    PullRefusal,
    RevealedReward,
    interpret_answer,
    make_pulls,
)
from tutelage.errors import InputError, RefusalError
from tutelage.service.fault_log import FaultLog
from tutelage.stores.address import without_password

LOG = logging.getLogger("tutelage.stream")
_FIELDS = frozenset({"id", "client", "arm", "reward"})
_BLOCK_SECONDS = 1.0  # for a read that finds nothing, and so the longest delay of an end
_REQUEST_SECONDS, _REDIS_SECONDS = 10.0, 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between two tries, doubled each time
# Codes of errors that pass, or after which the group is created again.
_TEMPORARY_CODES = frozenset(
    {"BUSY", "CLUSTERDOWN", "MASTERDOWN", "MISCONF", "NOGROUP", "NOREPLICAS", "TRYAGAIN", "UNBLOCKED"}
)
# Of each entry that is still pending, and only of those: write the response, then acknowledge the entry.
_WRITE = """
local written = 0
for _, each in ipairs(cjson.decode(ARGV[2])) do
    if #redis.call('XPENDING', KEYS[1], ARGV[1], each[1], each[1], 1) == 1 then
        redis.call('XADD', KEYS[2], unpack(each, 2))
        redis.call('XACK', KEYS[1], ARGV[1], each[1])
        written = written + 1
    end
end
return written
"""

Entry = tuple[bytes, Mapping[bytes, bytes]]


@dataclass(frozen=True)
class StreamOptions:
    """Names of the streams, of the consumer group and of this consumer in it, and limits.

    ``batch`` is the maximum number of pulls in a request.  Entries that another consumer has read and not
    acknowledged are taken over after ``claim_after`` seconds.  ``max_responses`` is about the number of responses
    that are kept, 0 for all.
    """

    pulls: str
    responses: str
    group: str
    consumer: str
    batch: int = 1_000
    claim_after: float = 60.0
    max_responses: int = 0


class _Unavailable(Exception):
    """The server cannot answer pulls now; the text says why."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


def connect_redis(url: str) -> Any:
    """Return a client of the Redis server at ``redis://``, ``rediss://`` or ``unix://``; it connects when used.

    Raises ``InputError`` for an invalid URL, or without the extra ``redis``.
    """
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ModuleNotFoundError:
        raise InputError(
            "Redis Streams need the package redis: install it with pip install 'tutelage[redis]'."
        ) from None
    try:
        found = redis.Redis.from_url(
            url,
            protocol=2,  # answers are lists
            retry=Retry(NoBackoff(), 0),  # the adapter repeats its steps
            socket_timeout=_BLOCK_SECONDS + _REDIS_SECONDS,
            socket_connect_timeout=_REDIS_SECONDS,
        )
        found.connection_pool.make_connection()  # checks the parameters of the URL
    except (TypeError, ValueError):
        raise InputError(
            f"Invalid Redis URL {without_password(url)!r}: use redis://HOST:PORT, rediss://USER:PASSWORD@HOST:PORT or "
            "unix:///SOCKET."
        ) from None
    return found


class RedisAdapter:
    """Answers the pulls of a stream with a campaign's server, or an edge, in batches.

    ``http`` is a client of the server, with its key.
    """

    def __init__(self, redis: Any, http: httpx.Client, campaign: str, options: StreamOptions) -> None:
        self._redis, self._http, self._options = redis, http, options
        self._path = f"/v1/campaigns/{campaign}/pulls"
        self._write = redis.register_script(_WRITE)
        self._is_resuming = True  # after a start or a fault, this consumer has pending entries
        self._claim_time, self._claim_from = 0.0, b"0-0"
        self._fault = FaultLog(
            LOG, "pulls cannot be answered", "pulls still cannot be answered", "pulls are answered again"
        )
        self.written = 0  # responses

    def run(self, ended: threading.Event) -> None:
        """Answer pulls until ``ended`` is set.

        While Redis or the server is away, it waits and tries again.  Raises ``RefusalError`` if Redis refuses for
        good what the adapter needs, such as its password.
        """
        import redis

        pause = _FIRST_PAUSE
        while not ended.is_set():
            try:
                self.step()
            except (_Unavailable, redis.RedisError) as error:
                if isinstance(error, redis.RedisError) and not _is_temporary(error):
                    raise RefusalError(f"Redis refuses to serve the adapter ({error}).") from error
                place = "" if isinstance(error, _Unavailable) else "Redis: "
                self._fault.report("adapter", f"{place}{error}")
                self._is_resuming = True
                ended.wait(max(pause, min(getattr(error, "retry_after", 0.0), _LONGEST_PAUSE)))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._fault.end("adapter")
                pause = _FIRST_PAUSE

    def step(self) -> None:
        """Read a batch, if there is one within a second, have it answered, and write its responses."""
        entries = self._read()
        if not entries:
            return
        trim = ["MAXLEN", "~", str(self._options.max_responses)] if self._options.max_responses else []
        responses = [
            [entry, *trim, "*", "entry", entry, *(text for field in fields.items() for text in field)]
            for entry, fields in self._answer(entries)
        ]
        self.written += self._write(
            keys=[self._options.pulls, self._options.responses],
            args=[self._options.group, json.dumps(responses, ensure_ascii=False)],
        )

    def _read(self) -> Sequence[Entry]:
        """Return this consumer's pending entries after a start or a fault, then abandoned ones, then new ones."""
        if self._is_resuming:
            self._create_group()
            if entries := self._read_group("0"):
                return entries
            self._is_resuming = False
        if time.monotonic() >= self._claim_time and (entries := self._claim()):
            return entries
        return self._read_group(">", block=round(1000 * _BLOCK_SECONDS))

    def _create_group(self) -> None:
        import redis

        try:
            self._redis.xgroup_create(self._options.pulls, self._options.group, id="0", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):  # the group exists
                raise

    def _read_group(self, after: str, block: int | None = None) -> Sequence[Entry]:
        one = self._options
        found = self._redis.xreadgroup(one.group, one.consumer, {one.pulls: after}, count=one.batch, block=block)
        return found[0][1] if found else ()

    def _claim(self) -> Sequence[Entry]:
        """Take over entries that a consumer has read and not acknowledged for a long time."""
        one = self._options
        self._claim_from, entries, *_ = self._redis.xautoclaim(
            *(one.pulls, one.group, one.consumer, round(1000 * one.claim_after)),
            start_id=self._claim_from,
            count=one.batch,
        )
        if self._claim_from == b"0-0":  # all were looked at
            self._claim_time = time.monotonic() + one.claim_after / 2
        return [entry for entry in entries if entry[0] is not None]

    def _answer(self, entries: Sequence[Entry]) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield each entry's id and the fields of its response."""
        pulls, found = dict[str, Pull](), dict[str, RevealedReward | str]()
        for name, fields in entries:
            entry = name.decode()
            try:
                pulls[entry] = _parse_entry(fields, f"{self._options.pulls}/{entry}")
            except ValueError as error:
                found[entry] = str(error)
        found |= self._send(pulls)
        for name, fields in entries:
            entry = name.decode()
            one, pull = found[entry], pulls.get(entry, {})
            known = {"id": pull["id"], "client": pull["client"], "arm": pull["arm"]} if pull else _show(fields)
            if isinstance(one, str):
                yield entry, known | {"refused": one}
            else:
                yield entry, known | {"reward": repr(one.reward), "adjustment": repr(one.adjustment)}

    def _send(self, pulls: Mapping[str, Pull]) -> dict[str, RevealedReward | str]:
        """Return what each pull is answered: the reward to reveal, or why the server refuses the pull.

        A request with pulls that the server refuses is sent again without them.
        """
        found: dict[str, RevealedReward | str] = {}
        waiting = [list(pulls)]
        while waiting:
            part = waiting.pop()
            if not part:
                continue
            try:
                found |= zip(part, self._request([pulls[entry] for entry in part]), strict=True)
            except PullRefusal as refused:
                faults = {part[one["index"]]: str(one.get("what")) for one in _valid_faults(refused, len(part))}
                if not faults and len(part) == 1:
                    faults = {part[0]: str(refused)}
                found |= faults
                rest, half = [entry for entry in part if entry not in faults], len(part) // 2
                waiting += [rest] if faults else [part[half:], part[:half]]
        return found

    def _request(self, pulls: list[Pull]) -> list[RevealedReward]:
        """Send pulls.  Raises :class:`PullRefusal` for refused ones, and :class:`_Unavailable`."""
        try:
            response = self._http.post(self._path, json={"pulls": pulls}, timeout=_REQUEST_SECONDS)
        except httpx.HTTPError as error:
            raise _Unavailable(f"the server does not answer ({str(error) or type(error).__name__})") from error
        found = interpret_answer(response, pulls)
        if not isinstance(found, Failure):
            return found
        if b'"urn:tutelage:problem:moved"' in response.content:
            raise PullRefusal(response.status_code, response.json())
        raise _Unavailable(found.reason, found.retry_after)


def _valid_faults(refused: PullRefusal, number: int) -> list[dict[str, Any]]:
    """Return the faults that name one of the request's pulls."""
    return [one for one in refused.faults if type(one.get("index")) is int and 0 <= one["index"] < number]


def _parse_entry(fields: Mapping[bytes, bytes], default_id: str) -> Pull:
    """Return the pull of an entry.  Raises ``ValueError`` whose text goes into the response."""
    try:
        texts = {name.decode(): value.decode() for name, value in fields.items()}
    except UnicodeDecodeError:
        raise ValueError("The entry is not UTF-8 text.") from None
    if unknown := sorted(texts.keys() - _FIELDS):
        raise ValueError(f"Unknown field {unknown[0]!r}: use client, arm, reward and, if you like, id.")
    if missing := sorted(_FIELDS - {"id"} - texts.keys()):
        raise ValueError(f"The field {missing[0]} is missing: use client, arm, reward and, if you like, id.")
    try:
        reward = float(texts["reward"])
    except ValueError:
        raise ValueError(f"Invalid reward {texts['reward']!r}: use a finite number.") from None
    pull = ObservedReward(texts["client"], texts["arm"], reward)
    return make_pulls([pull], [texts.get("id", default_id)])[0]


def _show(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    """Return those fields of a malformed entry by which its sender may find it."""
    return {
        name: fields[name.encode()].decode(errors="replace") for name in ("id", "client") if name.encode() in fields
    }


def _is_temporary(error: Exception) -> bool:
    """Whether an error of Redis passes by itself."""
    import redis

    if isinstance(error, redis.AuthenticationError | redis.exceptions.AuthorizationError):
        return False
    if isinstance(error, redis.ConnectionError | redis.TimeoutError | redis.exceptions.OutOfMemoryError):
        return True
    return isinstance(error, redis.ReadOnlyError) or str(error).partition(" ")[0] in _TEMPORARY_CODES
