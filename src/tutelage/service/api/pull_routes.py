"""The route that answers pulls; it is on the path of every reward, and the fastest.

There is one fast way to read a body, and a careful one that explains what is wrong.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.route import Call, Route
from tutelage.service.api.strict_json import parse_json
from tutelage.service.api.uplink import Uplink
from tutelage.service.campaigns.handoff import Handoff
from tutelage.service.campaigns.messages import Fault, PullRequest, PullResponse
from tutelage.service.campaigns.writer import PullJob
from tutelage.struct_errors import explain_error

MAX_PULLS = 10_000


class PullBatch(msgspec.Struct, forbid_unknown_fields=True):
    """Several pulls, which are one step."""

    pulls: Annotated[list[PullRequest], Meta(min_length=1, max_length=MAX_PULLS, description="The pulls, in order.")]


class PullOrBatch(msgspec.Struct, forbid_unknown_fields=True):
    """The fields of one pull, or ``pulls``; a body with both is refused."""

    id: str | UnsetType = UNSET
    client: str | UnsetType = UNSET
    arm: str | UnsetType = UNSET
    reward: float | UnsetType = UNSET
    bypassed: bool | UnsetType = UNSET
    pulls: list[PullRequest] | UnsetType = UNSET


class PullResponses(msgspec.Struct):
    """The answers to the pulls of a request, in order."""

    pulls: list[PullResponse]


_ENCODER, _DECODER = msgspec.json.Encoder(), msgspec.json.Decoder(PullOrBatch)


def pull_routes(handoff: Handoff, uplink: Uplink | None = None) -> list[Route]:
    """``POST /v1/campaigns/{name}/pulls``; an edge first claims clients that it does not hold."""
    instruments = handoff.writer.instruments

    def count_refused(kind: str, body: tuple[list[PullRequest], bool] | None) -> None:
        instruments.refused_pulls.labels(kind).inc(len(body[0]) if body else 1)

    async def answer_pulls(call: Call) -> bytes:
        """The answer comes once the pulls are on disk.

        One pull is answered by one object, a list by a list.  Sending a pull again with the same `id` returns
        the first answer with `replayed` true.
        """
        name, caller = call.name, call.caller
        pulls, is_single = call.body
        caller.check_clients(pull.client for pull in pulls)
        if uplink is not None:
            await uplink.ensure(name, {pull.client for pull in pulls})
        responses: list[PullResponse] = await handoff.ask(PullJob(name, pulls=pulls))
        reports = sum([pull.bypassed for pull in pulls])
        replays = sum([one.replayed and not pull.bypassed for one, pull in zip(responses, pulls, strict=True)])
        instruments.count_answers(accepted=len(pulls) - reports - replays, replayed=replays, bypassed=reports)
        return encode_responses(responses, is_single=is_single)

    return [
        Route(
            "POST",
            "/v1/campaigns/{name}/pulls",
            answer_pulls,
            "reporter",
            "Answer one pull, or up to 10,000 as one step",
            tag="pulls",
            body=(PullRequest, PullBatch),
            answer=(PullResponse, PullResponses),
            read=read_pulls,
            is_frequent=True,
            refused=count_refused,
            problems=("not-started", "stopped", "conflict", "moved", "busy"),
        )
    ]


def encode_responses(responses: list[PullResponse], *, is_single: bool) -> bytes:
    """Return the answer to a request as JSON: one pull is answered by one object, a list by a list."""
    return _ENCODER.encode(responses[0] if is_single else PullResponses(responses))


def read_pulls(body: bytes) -> tuple[list[PullRequest], bool]:
    """Return the pulls of a body and whether it was a single pull.  Raises :class:`HttpProblem`."""
    try:
        found = _DECODER.decode(body)
    except ValueError:
        return _read_carefully(body)
    is_single = found.pulls is UNSET
    if found.pulls is UNSET:
        if found.id is UNSET or found.client is UNSET or found.arm is UNSET or found.reward is UNSET:
            return _read_carefully(body)
        bypassed = found.bypassed is True
        pulls = [PullRequest(found.id, found.client, found.arm, found.reward, bypassed)]
    else:
        pulls = found.pulls
        _check_number(len(pulls))
    if not pulls or not _is_plain(body, len(pulls), is_single=is_single):
        return _read_carefully(body)
    return pulls, is_single


def _check_number(number: int) -> None:
    if number > MAX_PULLS:
        raise HttpProblem("too-large", f"The request has {number} pulls; send at most {MAX_PULLS} at a time.")


def _is_plain(body: bytes, number: int, *, is_single: bool) -> bool:
    """Whether no key occurs twice and nothing is escaped, judged quickly by counting quotes.

    Without a backslash, the four required keys and three strings of a pull are fourteen quotes; another key
    adds two.
    """
    return b"\\" not in body and body.count(b'"') == 14 * number + (0 if is_single else 2)


def _read_carefully(body: bytes) -> tuple[list[PullRequest], bool]:
    """Read a body in which something is wrong or unusual."""
    content = parse_json(body)
    if not isinstance(content, dict):
        raise HttpProblem("malformed", 'The body must be a JSON object: send a pull, or {"pulls": [...]}.')
    is_single = "pulls" not in content
    if not is_single and len(content) > 1:
        raise HttpProblem("malformed", "The object has other keys next to pulls: send one pull, or only pulls.")
    items = [content] if is_single else content["pulls"]
    if not isinstance(items, list) or not items:
        raise HttpProblem("invalid", "The field pulls must be a list of at least one pull.")
    _check_number(len(items))
    pulls, faults = [], list[Fault]()
    for index, item in enumerate(items):
        try:
            pulls.append(msgspec.convert(item, PullRequest))
        except msgspec.ValidationError as error:
            faults.append(_describe_fault(index, item, error))
    if faults:
        raise HttpProblem("invalid", "Some pulls have missing, unknown or wrongly typed fields.", faults)
    return pulls, is_single


def _describe_fault(index: int, item: Any, error: msgspec.ValidationError) -> Fault:
    id = item.get("id", "") if isinstance(item, dict) else ""
    fault = explain_error(error, PullRequest)
    return Fault(index, id if isinstance(id, str) else "", fault.field, fault.describe("The pull"))
