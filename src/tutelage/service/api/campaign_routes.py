"""The routes that create, change, delete and list campaigns."""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Container, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec
from starlette.responses import Response

from tutelage.errors import InputError
from tutelage.registry import split_call
from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.route import Call, Route
from tutelage.service.api.schemas import (
    CampaignAccess,
    CampaignList,
    CampaignSummary,
    ChangedCampaign,
    ClientReference,
    NewCampaign,
    Registration,
)
from tutelage.service.api.summaries import add_warnings, summarize, summarize_stored
from tutelage.service.campaigns.best_case import find_warnings
from tutelage.service.campaigns.handoff import Handoff, Readers
from tutelage.service.campaigns.messages import NotLeader, Refusal
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import Settings, order_weights
from tutelage.service.campaigns.writer import Act, ActionJob, CreateJob, ReadJob
from tutelage.stores.base import CampaignNotFound

LISTED_AT_ONCE = 50
EXACT_SECONDS = 0.25  # for reading the newest rows of campaigns in a list
KNOWN_SECONDS = 5.0  # since the last commit, for which summaries of unchanged campaigns are listed without asking
_ALL, _ONE = "/v1/campaigns", "/v1/campaigns/{name}"


def campaign_routes(handoff: Handoff, readers: Readers, own_teachers: Container[str] = ()) -> list[Route]:
    """The routes; ``own_teachers`` are teachers of installed packages that campaigns may use."""
    to, route = CampaignHandlers(handoff, readers, own_teachers), partial(Route, tag="campaigns")
    show = partial(route, answer=CampaignSummary)
    change = partial(show, "POST", role="admin")
    changed = partial(change, answer=ChangedCampaign)
    return [
        route(
            *("GET", _ALL, to.list_campaigns, "viewer", "List all campaigns"),
            answer=CampaignList,
            takes_campaign_keys=True,
        ),
        changed(
            *(_ALL, to.create_campaign),
            summary="Create a campaign",
            body=NewCampaign,
            status=201,
            problems=("exists", "warned", "not-startable", "no-leader"),
        ),
        show("GET", _ONE, to.show_campaign, "viewer", "Show a campaign"),
        route(
            *("GET", f"{_ONE}/access", to.check_access, "reporter", "Check that a key may send pulls"),
            answer=CampaignAccess,
        ),
        route(
            *("DELETE", _ONE, to.delete_campaign, "admin", "Delete a campaign and its ledger"),
            status=204,
            problems=("not-removable",),
        ),
        route(
            *("POST", f"{_ONE}/clients", to.register_client, "reporter", "Register a client"),
            body=ClientReference,
            answer=Registration,
            problems=("registration-closed",),
        ),
        changed(
            *(f"{_ONE}/start", to.start_campaign),
            summary="Start a campaign, or resume it after a stop",
            problems=("not-startable",),
        ),
        change(
            *(f"{_ONE}/stop", to.stop_campaign),
            summary="Stop a campaign until it is started again",
            problems=("not-started",),
        ),
        change(
            *(f"{_ONE}/exclude", to.exclude_client),
            summary="Exclude a client from the evidence",
            body=ClientReference,
            problems=("unknown-client", "not-started", "not-excludable"),
        ),
    ]


class CampaignHandlers:
    """The handlers of the routes.  Their docstrings are descriptions in the OpenAPI document."""

    def __init__(self, handoff: Handoff, readers: Readers, own_teachers: Container[str]) -> None:
        self.handoff, self.readers, self.own_teachers = handoff, readers, own_teachers
        self._listed: dict[str, tuple[bytes, CampaignSummary]] = {}  # with the digest of the rows that it follows from

    async def list_campaigns(self, call: Call) -> CampaignList:
        """List the campaigns of the store, whichever server leads them.

        A key of one campaign sees only this one.  Soon after the start of a server with many campaigns, some are
        listed as they were at the row `position`, a few seconds before the end of their ledger.
        """
        exact_until = time.monotonic() + EXACT_SECONDS
        listings = await self.readers.read(lambda reader: reader.campaigns())
        names = [one.name for one in listings if call.caller.campaign in {None, one.name}]
        found: list[CampaignSummary | None] = []
        for start in range(0, len(names), LISTED_AT_ONCE):  # so that pulls are answered in between
            part = names[start : start + LISTED_AT_ONCE]
            found += await asyncio.gather(*(self._summarize_if_there(name, exact_until) for name in part))
        if call.caller.campaign is None:
            self._listed = {name: self._listed[name] for name in names if name in self._listed}
        return CampaignList([one for one in found if one is not None])

    async def create_campaign(self, call: Call) -> Response:
        """The header `Location` of the answer is the path of the campaign."""
        new: NewCampaign = call.body
        try:
            self._check_teacher(new.teacher)
            names = {field.name for field in dataclasses.fields(Settings)} - {"edge"}
            given = {name: getattr(new, name) for name in names}
            given |= {"low": new.low + 0.0, "high": new.high + 0.0}  # a zero has no sign
            settings = Settings(**given | {"weights": order_weights(new.weights, new.clients)})
        except InputError as error:
            raise HttpProblem("invalid", str(error)) from None
        if new.start and not settings.clients:
            raise HttpProblem("invalid", f"The campaign {new.name} has no clients yet: register some, then start it.")
        warnings = await self._find_warnings(settings, settings.clients)
        if warnings and new.strict:
            raise HttpProblem("warned", " ".join(warnings))
        await self.handoff.ask(CreateJob(new.name, settings=settings, start=new.start, origin=call.origin))
        summary = msgspec.json.encode(add_warnings(await self._summarize(new.name), warnings))
        return Response(summary, 201, {"Location": f"/v1/campaigns/{new.name}"}, "application/json")

    def _check_teacher(self, spec: str) -> None:
        """Refuse to import a class that only an HTTP request names.  Raises ``InputError``."""
        teacher, _ = split_call(spec, "teacher")
        if ":" in teacher and teacher not in self.own_teachers:
            raise InputError(
                f"The teacher {teacher} is not part of Tutelage: the operator of this server can allow it "
                "with --own-teachers."
            )

    async def show_campaign(self, call: Call) -> CampaignSummary:
        """The settings of the campaign and where it stands."""
        return await self._summarize(call.name)

    async def check_access(self, call: Call) -> CampaignAccess:
        """Succeeds if the address, the campaign and the key are right; `status` says whether pulls are accepted."""
        status = await self.handoff.ask(ReadJob(call.name, look=attrgetter("status")))
        return CampaignAccess(call.name, status)

    async def register_client(self, call: Call) -> Registration:
        """Allowed before the campaign starts, if it has open registration.

        Registering a client again changes nothing.
        """
        client: ClientReference = call.body
        call.caller.check_clients([client.client])
        return Registration(client.client, await self._act(call, "register", client.client))

    async def start_campaign(self, call: Call) -> ChangedCampaign:
        """The answer is the campaign after the start."""
        await self._act(call, "start")
        look = ReadJob(call.name, look=lambda session: (session.settings, tuple(session.clients)))
        warnings = await self._find_warnings(*await self.handoff.ask(look))
        return add_warnings(await self._summarize(call.name), warnings)

    async def _find_warnings(self, settings: Settings, clients: Sequence[str]) -> list[str]:
        """Play the best case in a thread: it may take a second."""
        with contextlib.suppress(InputError):  # the start says what is wrong
            return await asyncio.to_thread(find_warnings, settings, clients)
        return []

    async def stop_campaign(self, call: Call) -> CampaignSummary:
        """A stopped campaign refuses new pulls; repeated pulls and reports of bypassed pulls still pass."""
        await self._act(call, "stop")
        return await self._summarize(call.name)

    async def exclude_client(self, call: Call) -> CampaignSummary:
        """The teacher continues as if the client had never pulled; its pulls are still answered."""
        await self._act(call, "exclude", call.body.client)
        return await self._summarize(call.name)

    async def delete_campaign(self, call: Call) -> Response:
        """Allowed if the campaign never started, or is stopped and an administrator has exported it."""
        await self.handoff.ask(ReadJob(call.name, look=get_position))  # the leader must delete it
        try:
            await self._act(call, "delete")
        except Refusal as error:
            if error.reason == "invalid":
                raise HttpProblem("not-removable", error.sentence) from None
            raise
        return Response(status_code=204)

    async def _act(self, call: Call, act: Act, client: str = "") -> Any:
        try:
            return await self.handoff.ask(ActionJob(call.name, act=act, client=client, origin=call.origin))
        except InputError as error:
            raise HttpProblem("invalid", str(error)) from None

    async def _summarize(self, name: str) -> CampaignSummary:
        summary: CampaignSummary = await self.handoff.ask(ReadJob(name, look=summarize))
        return summary

    async def _summarize_if_there(self, name: str, exact_until: float) -> CampaignSummary | None:
        """Return the summary from memory or from the store; None if the campaign was just deleted.

        After ``exact_until``, a time on the monotonic clock, no rows after the newest snapshot are read.
        """
        writer = self.handoff.writer
        if (session := writer.sessions.get(name)) is not None:
            digest, known = self._listed.get(name, (b"", None))
            if digest == session.digest and time.monotonic() - writer.last_commit < KNOWN_SECONDS:
                return known
            with contextlib.suppress(NotLeader, Refusal):
                self._listed[name] = await self.handoff.ask(ReadJob(name, look=_summarize_with_digest))
                return self._listed[name][1]
        try:
            return await self.readers.read(
                lambda reader: summarize_stored(reader, name, is_exact=time.monotonic() < exact_until)
            )
        except CampaignNotFound:
            return None


def _summarize_with_digest(session: Session) -> tuple[bytes, CampaignSummary]:
    return session.digest, summarize(session)


def get_position(session: Session) -> int:
    """Return the position of the last row; asking for it makes sure that this server leads the campaign."""
    return session.position
