"""The leader's routes for edges; two of them are between servers of one release, and not in the OpenAPI document."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from tutelage.service.api.route import Call, Route
from tutelage.service.api.schemas import AssignedCampaign, CampaignSummary, ClientAssignment
from tutelage.service.api.strict_json import Content, read_json
from tutelage.service.api.summaries import summarize
from tutelage.service.campaigns import edges
from tutelage.service.campaigns.edge_messages import EdgeClaim, EdgeKeys, EdgeReport
from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.writer import EdgeJob, ReadJob

_ONE = "/v1/campaigns/{name}"


def edge_routes(handoff: Handoff, readers: Readers) -> list[Route]:
    """``POST /v1/campaigns/{name}/claim``, ``/report`` and ``/assign``, and ``GET .../edge-keys``."""

    async def claim(call: Call) -> Any:
        asked: EdgeClaim = call.body

        def act(session: Session, now: int, key: str) -> Any:
            return edges.claim(session, asked, now, key)

        job = EdgeJob(call.name, act=act, audited="assign clients", subject=asked.edge, origin=call.origin)
        return await handoff.ask(job)

    async def report(call: Call) -> Any:
        sent: EdgeReport = call.body

        def act(session: Session, now: int, key: str) -> Any:
            return edges.report(session, sent, now, key)

        return await handoff.ask(EdgeJob(call.name, act=act, origin=call.origin))

    async def list_edge_keys(call: Call) -> Any:
        rows = await readers.read(lambda reader: reader.keys())
        return EdgeKeys([replace(row, used=None) for row in rows if row.campaign in {None, call.name}])

    async def assign_client(call: Call) -> AssignedCampaign:
        """The new edge continues from the last report; later pulls and reports of the old one are refused.

        With an empty `edge` the client's pulls are answered by the leader.  If they are answered there already,
        nothing changes, and `moved` is false.
        """
        asked: ClientAssignment = call.body

        def act(session: Session, now: int, key: str) -> bool:
            return edges.assign(session, asked.client, asked.edge, now, key)

        job = EdgeJob(call.name, act=act, audited="assign client", subject=asked.client, origin=call.origin)
        moved: bool = await handoff.ask(job)
        summary: CampaignSummary = await handoff.ask(ReadJob(call.name, look=summarize))
        return AssignedCampaign(**msgspec.structs.asdict(summary), moved=moved)

    return [
        Route("POST", f"{_ONE}/claim", claim, "admin", body=EdgeClaim, read=_read_as(EdgeClaim)),
        Route("GET", f"{_ONE}/edge-keys", list_edge_keys, "admin", answer=EdgeKeys, is_frequent=True),
        Route("POST", f"{_ONE}/report", report, "admin", body=EdgeReport, read=_read_as(EdgeReport), is_frequent=True),
        Route(
            *("POST", f"{_ONE}/assign", assign_client, "admin", "Move a client to an edge, or to the leader"),
            tag="campaigns",
            body=ClientAssignment,
            answer=AssignedCampaign,
            problems=("unknown-client", "not-started"),
        ),
    ]


def _read_as(kind: type[Content]) -> Callable[[bytes], Content]:
    """Return a reader that is quick, as reports are long and come from a server, and explains what is wrong."""
    decode = msgspec.json.Decoder(kind).decode

    def read(body: bytes) -> Content:
        try:
            return decode(body)
        except ValueError:
            return read_json(body, kind)

    return read
