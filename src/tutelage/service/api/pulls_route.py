"""``POST /v1/campaigns/{name}/pulls``, as quick as it can be."""

import msgspec

from tutelage.service.api.access import Grant
from tutelage.service.api.handoff import Handoff
from tutelage.service.api.json_reading import read_pulls
from tutelage.service.api.problems import Problem
from tutelage.service.campaigns.jobs import PullJob
from tutelage.service.campaigns.messages import PullResponse

_ENCODER = msgspec.json.Encoder()


class PullResponses(msgspec.Struct):
    """The answers to the pulls of a request, in their order."""

    pulls: list[PullResponse]


async def answer_pulls(handoff: Handoff, grant: Grant, name: str, body: bytes) -> bytes:
    """The answer's JSON, once all of it is on disk."""
    grant.check_campaign(name)
    pulls, one = read_pulls(body)
    if not pulls:
        raise Problem("invalid", "pulls is an empty list: send at least one.")
    grant.check_clients(pull.client for pull in pulls)
    told: list[PullResponse] = await handoff.ask(PullJob(name, pulls=pulls))
    return _ENCODER.encode(told[0] if one else PullResponses(told))
