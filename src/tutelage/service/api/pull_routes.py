"""The route that answers pulls; it is on the path of every reward, and the fastest."""

import msgspec

from tutelage.service.api.pull_bodies import PullBatch, read_pulls
from tutelage.service.api.route import Call, Route
from tutelage.service.campaigns.handoff import Handoff
from tutelage.service.campaigns.jobs import PullJob
from tutelage.service.campaigns.messages import PullRequest, PullResponse

_ENCODER = msgspec.json.Encoder()


class PullResponses(msgspec.Struct):
    """The answers to the pulls of a request, in order."""

    pulls: list[PullResponse]


def pull_routes(handoff: Handoff) -> list[Route]:
    """``POST /v1/campaigns/{name}/pulls``."""

    async def answer_pulls(call: Call) -> bytes:
        """The answer comes once the pulls are on disk.

        One pull is answered by one object, a list by a list.  Sending a pull again with the same `id` returns
        the first answer with `replayed` true.
        """
        name, caller = call.name, call.caller
        pulls, is_single = call.body
        caller.check_campaign(name)
        caller.check_clients(pull.client for pull in pulls)
        responses: list[PullResponse] = await handoff.ask(PullJob(name, pulls=pulls))
        return _ENCODER.encode(responses[0] if is_single else PullResponses(responses))

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
        )
    ]
