"""Every route but the quick one."""

import contextlib
import time
from collections.abc import AsyncIterator, Callable, Container
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from tutelage.errors import InputError
from tutelage.registry import split_call
from tutelage.service.api import ledger_pages, overview
from tutelage.service.api.access import Grant
from tutelage.service.api.forwarding import Forwarding
from tutelage.service.api.handoff import Handoff, Readers
from tutelage.service.api.json_reading import read_json
from tutelage.service.api.ledger_formats import Writer, writer_of
from tutelage.service.api.problems import CutOff, Problem
from tutelage.service.campaigns.jobs import Act, ActionJob, CreateJob, ReadJob
from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import Settings, order_weights
from tutelage.stores.base import CampaignNotFound, Reader, StoreError

READY_SECONDS = 5.0  # a commit or probe is at most half of that ago, and a turn of the writer's
_ROWS = 2_000

After = Annotated[int, Query(ge=0, le=2**53)]
Limit = Annotated[int, Query(ge=1, le=10_000)]


class NewCampaign(msgspec.Struct, forbid_unknown_fields=True):
    """A campaign to be made: docs/server.md."""

    name: str
    arms: list[str]
    horizon: int
    teacher: str
    clients: list[str] = msgspec.field(default_factory=list)
    open_registration: bool = False
    low: float = 0.0
    high: float = 1.0
    weights: list[float] | dict[str, float] | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    start: bool = False


class NamedClient(msgspec.Struct, forbid_unknown_fields=True):
    """A client to register or exclude."""

    client: str


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """An empty object, where a body has nothing to say."""


def make_routes(
    handoff: Handoff,
    readers: Readers,
    vital: Readers,
    forwarding: Forwarding,
    own_teachers: Container[str] = frozenset(),
) -> APIRouter:
    """The routes, on this server's store.

    ``vital`` are for what must not wait for other readers; ``own_teachers`` are those of installed packages
    that campaigns may have.
    """
    router = APIRouter()
    Campaigns(handoff, readers, own_teachers).add_to(router)
    Pages(handoff, readers).add_to(router)

    @router.get("/healthz")
    async def healthz() -> Response:
        """Whether the server works at all."""
        if not handoff.engine.is_alive:
            raise Problem("unavailable", "The writer's thread has ended.")
        return told({"status": "ok"})

    @router.get("/readyz")
    async def readyz() -> Response:
        """Whether pulls can be taken now: writes reach the disk, and other leaders can be reached."""
        if handoff.engine.failure is not None:  # what it is, is not for everybody
            raise Problem("unavailable", "Nothing can be written now: the log and the pages say why.")
        if time.monotonic() - handoff.engine.last_commit > READY_SECONDS:
            raise Problem("unavailable", f"Nothing has reached the disk for {READY_SECONDS:g} seconds.")
        campaigns = await vital.read(lambda reader: reader.campaigns())
        if (name := await forwarding.unreachable(campaigns, handoff.engine.led)) is not None:
            raise Problem("no-leader", f"The server that leads {name} does not answer.")
        return told({"status": "ok"})

    return router


class Campaigns:
    """What changes campaigns."""

    def __init__(self, handoff: Handoff, readers: Readers, own_teachers: Container[str]) -> None:
        self.handoff, self.readers, self.own_teachers = handoff, readers, own_teachers

    def add_to(self, router: APIRouter) -> None:
        """Name the routes."""
        router.post("/v1/campaigns", status_code=201, openapi_extra=_takes("NewCampaign"))(self.create)
        router.post("/v1/campaigns/{name}/clients", openapi_extra=_takes("NamedClient"))(self.register)
        router.post("/v1/campaigns/{name}/start")(self.start)
        router.post("/v1/campaigns/{name}/stop")(self.stop)
        router.post("/v1/campaigns/{name}/exclude", openapi_extra=_takes("NamedClient"))(self.exclude)
        router.delete("/v1/campaigns/{name}", status_code=204)(self.delete)
        router.get("/v1/campaigns")(self.all)
        router.get("/v1/campaigns/{name}")(self.one)

    async def create(self, request: Request) -> Response:
        """Make a campaign, and start it at once if so asked."""
        new = read_json(await request.body(), NewCampaign)
        try:
            self._check_teacher(new.teacher)
            settings = Settings(
                name=new.name,
                arms=tuple(new.arms),
                horizon=new.horizon,
                teacher=new.teacher,
                clients=tuple(new.clients),
                open_registration=new.open_registration,
                low=new.low + 0.0,  # a zero has no sign
                high=new.high + 0.0,
                weights=order_weights(new.weights, new.clients),
                seed=new.seed,
            )
        except InputError as error:
            raise Problem("invalid", str(error)) from None
        if new.start and not settings.clients:
            raise Problem("invalid", f"The campaign {new.name} has no client yet: start it when some are in.")
        await self.handoff.ask(CreateJob(new.name, settings=settings, start=new.start))
        return await self._summary(new.name, 201)

    def _check_teacher(self, spec: str) -> None:
        """Nobody imports what he likes over HTTP.  Raises ``InputError``."""
        teacher, _ = split_call(spec, "teacher")
        if ":" in teacher and teacher not in self.own_teachers:
            raise InputError(
                f"The teacher {teacher} is none of Tutelage's: who runs the server may allow it with "
                "--own-teachers."
            )

    async def register(self, request: Request, name: str) -> Response:
        """Let a client in, before the start; one that is in already stays."""
        grant: Grant = request.state.grant
        client = read_json(await request.body(), NamedClient).client
        grant.check_campaign(name)
        grant.check_clients([client])
        await self._do(name, "register", client)
        return told({"client": client})

    async def start(self, request: Request, name: str) -> Response:
        """Begin, or go on after a stop."""
        return await self._plain(request, name, "start")

    async def stop(self, request: Request, name: str) -> Response:
        """Pause: replays and reports of bypassed pulls still pass."""
        return await self._plain(request, name, "stop")

    async def exclude(self, request: Request, name: str) -> Response:
        """Go on as if this client had never been evidence; it is still taught."""
        await self._do(name, "exclude", read_json(await request.body(), NamedClient).client)
        return await self._summary(name)

    async def delete(self, name: str) -> Response:
        """Remove a campaign that is stopped and has been exported, or never started, with all its rows."""
        await self.handoff.ask(ReadJob(name, look=_position))  # whoever leads it deletes it
        try:
            await self._do(name, "delete")
        except Refusal as error:
            if error.reason == "invalid":
                raise Problem("not-removable", error.sentence) from None
            raise
        return Response(status_code=204)

    async def all(self) -> Response:
        """Every campaign, whoever leads it."""
        listed = await self.readers.read(lambda reader: reader.campaigns())
        found = [await self._in_brief(one.name) for one in listed]
        return told({"campaigns": [one for one in found if one is not None]})

    async def one(self, name: str) -> Response:
        """A campaign: what it is and where it stands."""
        return await self._summary(name)

    async def _in_brief(self, name: str) -> dict[str, Any] | None:
        """A campaign as this server has it, or from the store; None if it was deleted a moment ago."""
        if name in self.handoff.engine.sessions:
            with contextlib.suppress(NotLeader, Refusal):
                found: dict[str, Any] = await self.handoff.ask(ReadJob(name, look=overview.summary))
                return found
        try:
            return await self.readers.read(lambda reader: overview.kept_summary(reader, name))
        except CampaignNotFound:
            return None

    async def _plain(self, request: Request, name: str, act: Act) -> Response:
        if body := await request.body():
            read_json(body, Nothing)
        await self._do(name, act)
        return await self._summary(name)

    async def _do(self, name: str, act: Act, client: str = "") -> None:
        if act in {"register", "exclude"} and not client:
            raise Problem("invalid", "The client's name is empty.")
        try:
            await self.handoff.ask(ActionJob(name, act=act, client=client))
        except InputError as error:
            raise Problem("invalid", str(error)) from None

    async def _summary(self, name: str, status: int = 200) -> Response:
        found = await self.handoff.ask(ReadJob(name, look=overview.summary))
        return told(found, status, {"Location": f"/v1/campaigns/{name}"} if status == 201 else {})


class Pages:
    """What only reads: the state, decisions, the ledger and its export."""

    def __init__(self, handoff: Handoff, readers: Readers) -> None:
        self.handoff, self.readers = handoff, readers

    def add_to(self, router: APIRouter) -> None:
        """Name the routes."""
        router.get("/v1/campaigns/{name}/totals")(self.state)
        router.get("/v1/campaigns/{name}/decisions")(self.decisions)
        router.get("/v1/campaigns/{name}/ledger")(self.ledger)
        router.get("/v1/campaigns/{name}/export")(self.export)

    async def state(self, name: str) -> Response:
        """Counts, sums and costs of every client and arm, and the teacher's own state."""
        found = await self.handoff.ask(ReadJob(name, look=overview.state))
        return told(found | {"teacher": msgspec.Raw(found["teacher"].encode())})

    async def decisions(self, name: str, after: After = 0, limit: Limit = 1_000) -> Response:
        """Decisions and exclusions, with their evidence."""
        return await self._page(lambda reader: ledger_pages.decisions(reader, name, after, limit))

    async def ledger(self, name: str, after: After = 0, limit: Limit = 1_000) -> Response:
        """The rows behind a position."""
        return await self._page(lambda reader: ledger_pages.page(reader, name, after, limit))

    async def export(
        self, request: Request, name: str, format: Literal["ndjson", "csv", "parquet"] = "ndjson"
    ) -> Response:
        """All rows, streamed; afterwards a stopped campaign may be deleted, if an administrator asked."""
        is_admin = request.state.grant.role == "admin"
        if is_admin:
            await self.handoff.ask(ReadJob(name, look=_position))  # whoever leads it notes the export
        names = await self.readers.read(lambda reader: ledger_pages.Names(reader, name))
        try:
            writer = writer_of(format)
        except InputError as error:
            raise Problem("invalid", str(error)) from None
        is_noted = is_admin and names.head.status == "stopped"
        return StreamingResponse(
            self._export(name, names, writer, is_noted=is_noted),
            media_type=writer.media_type,
            headers={"Content-Disposition": f'attachment; filename="{name}.{format}"'},
        )

    async def _export(
        self, name: str, names: ledger_pages.Names, writer: Writer, *, is_noted: bool
    ) -> AsyncIterator[bytes]:
        yield writer.begin()
        after, last = 0, names.head.position
        try:
            while after < last:
                start, limit = after, min(_ROWS, last - after)
                content, after = await self.readers.read(
                    lambda reader: _exported(reader, name, names, start, limit, writer)  # noqa: B023
                )
                yield content
            if (await self.readers.read(lambda reader: reader.load(name)[0])).created != names.created:
                raise CutOff(f"The campaign {name} was deleted, and another has its name.")
            yield await self.readers.read(lambda _: writer.end())
            if is_noted:
                await self.handoff.ask(ActionJob(name, act="exported", position=last, created=names.created))
        except (Problem, Refusal, NotLeader, CampaignNotFound, StoreError) as error:  # too late for a refusal
            raise CutOff(str(error)) from error

    async def _page(self, find: Callable[[Reader], dict[str, Any]]) -> Response:
        return told(await self.readers.read(find))


def _position(session: Session) -> int:
    return session.position


def _exported(
    reader: Reader, name: str, names: ledger_pages.Names, after: int, limit: int, writer: Writer
) -> tuple[bytes, int]:
    rows = reader.read(name, after, limit)
    if not rows:
        raise CutOff(f"The campaign {name} has been deleted.")
    return writer.rows([names.row(row) for row in rows]), rows[-1].position


def told(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON in which numbers read back equal."""
    return Response(msgspec.json.encode(content), status, headers, "application/json")


def _takes(name: str) -> dict[str, Any]:
    """What OpenAPI says of a body that is not FastAPI's to read."""
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
