"""The routes that read a campaign's numbers, decisions and ledger."""

from collections.abc import AsyncIterator
from functools import partial

from starlette.responses import Response, StreamingResponse

from tutelage.errors import InputError
from tutelage.service.api import ledger_pages
from tutelage.service.api.campaign_routes import get_position
from tutelage.service.api.ledger_formats import FORMATS, LedgerWriter, make_writer
from tutelage.service.api.ledger_pages import LedgerNames, load_names
from tutelage.service.api.problems import BrokenStream, HttpProblem
from tutelage.service.api.route import Call, Route
from tutelage.service.api.schemas import AuditPage, CampaignTotals, DecisionPage, ExportQuery, LedgerPage, PageQuery
from tutelage.service.api.summaries import compute_totals
from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.campaigns.messages import NotLeader, Origin, Refusal
from tutelage.service.campaigns.writer import ActionJob, ReadJob
from tutelage.stores.base import CampaignNotFound, Reader, StoreError

_ROWS_PER_PART = 2_000
_ONE = "/v1/campaigns/{name}"


def ledger_routes(handoff: Handoff, readers: Readers) -> list[Route]:
    """The routes."""
    to, route = LedgerHandlers(handoff, readers), partial(Route, "GET", role="viewer", tag="ledger")
    page = partial(route, query=PageQuery)
    return [
        route(
            *(f"{_ONE}/totals", to.show_totals),
            summary="Show counts, sums and costs",
            answer=CampaignTotals,
            problems=("not-started",),
        ),
        page(f"{_ONE}/decisions", to.list_decisions, summary="List decisions", answer=DecisionPage),
        page(f"{_ONE}/ledger", to.list_ledger_rows, summary="List the rows of the ledger", answer=LedgerPage),
        Route(
            *("GET", "/v1/audit", to.list_audit_records, "admin"),
            summary="List who did what",
            tag="ledger",
            query=PageQuery,
            answer=AuditPage,
        ),
        route(
            *(f"{_ONE}/export", to.export_ledger),
            summary="Export the whole ledger as a file",
            query=ExportQuery,
            content_types=tuple(writer.media_type for writer in FORMATS.values()),
        ),
    ]


class LedgerHandlers:
    """The handlers of the routes.  Their docstrings are descriptions in the OpenAPI document."""

    def __init__(self, handoff: Handoff, readers: Readers) -> None:
        self.handoff, self.readers = handoff, readers

    async def show_totals(self, call: Call) -> CampaignTotals:
        """Numbers by client and arm, with the teacher's own state."""
        totals: CampaignTotals = await self.handoff.ask(ReadJob(call.name, look=compute_totals))
        return totals

    async def list_decisions(self, call: Call) -> DecisionPage:
        """Decisions of the teacher and exclusions of clients, each with the evidence that was new."""
        name, query = call.name, call.query
        return await self.readers.read(
            lambda reader: ledger_pages.read_decisions(reader, name, query.after, query.limit)
        )

    async def list_ledger_rows(self, call: Call) -> LedgerPage:
        """All rows in order: pulls, decisions and what operators did."""
        name, query = call.name, call.query
        return await self.readers.read(lambda reader: ledger_pages.read_page(reader, name, query.after, query.limit))

    async def list_audit_records(self, call: Call) -> AuditPage:
        """Acts of administrators and of commands, and registrations, of all campaigns and keys, in order."""
        query = call.query
        return await self.readers.read(lambda reader: ledger_pages.read_audit(reader, query.after, query.limit))

    async def export_ledger(self, call: Call) -> Response:
        """The answer is streamed.

        After an export by an administrator a stopped campaign can be deleted.
        """
        name, format, is_admin = call.name, call.query.format, call.caller.role == "admin"
        if is_admin:
            await self.handoff.ask(ReadJob(name, look=get_position))  # the leader must note the export
        names = await self.readers.read(lambda reader: load_names(reader, name))
        try:
            writer = make_writer(format)
        except InputError as error:
            raise HttpProblem("invalid", str(error)) from None
        headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"'}
        if call.scope["method"] == "HEAD":  # nobody gets the rows, so this is not an export
            return Response(media_type=writer.media_type, headers=headers)
        is_noted = is_admin and names.head.status == "stopped"
        rows = self.stream_rows(name, names, writer, noted_for=call.origin if is_noted else None)
        return StreamingResponse(rows, media_type=writer.media_type, headers=headers)

    async def stream_rows(
        self, name: str, names: LedgerNames, writer: LedgerWriter, *, noted_for: Origin | None
    ) -> AsyncIterator[bytes]:
        """Yield the file; then, with ``noted_for``, note in the ledger that it was exported."""
        yield writer.begin()
        after, last = 0, names.head.position
        try:
            while after < last:
                start, limit = after, min(_ROWS_PER_PART, last - after)
                content, after = await self.readers.read(
                    lambda reader: _write_rows(reader, name, names, start, limit, writer)  # noqa: B023
                )
                yield content
            if (await self.readers.read(lambda reader: reader.load(name)[0])).created != names.created:
                raise BrokenStream(f"The campaign {name} was deleted, and another one has its name.")
            yield await self.readers.read(lambda _: writer.end())
            if noted_for is not None:
                job = ActionJob(name, act="exported", position=last, created=names.created, origin=noted_for)
                await self.handoff.ask(job)
        except (HttpProblem, Refusal, NotLeader, CampaignNotFound, StoreError) as error:  # too late to refuse
            raise BrokenStream(str(error)) from error


def _write_rows(
    reader: Reader, name: str, names: LedgerNames, after: int, limit: int, writer: LedgerWriter
) -> tuple[bytes, int]:
    rows = reader.read(name, after, limit)
    if not rows:
        raise BrokenStream(f"The campaign {name} has been deleted.")
    return writer.write_rows([names.describe_row(row) for row in rows]), rows[-1].position
