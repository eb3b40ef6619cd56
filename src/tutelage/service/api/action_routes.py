"""What an administrator does on a campaign's pages: each act is asked for once more before it is done.

A form holds a token of its session, which a page of another site cannot know.
"""

import hashlib
import hmac
import secrets
from typing import Literal, cast

from starlette.responses import HTMLResponse, RedirectResponse, Response

from tutelage.service.api.ledger_formats import FORMATS
from tutelage.service.api.problems import HttpProblem
from tutelage.service.api.route import Call, Route
from tutelage.service.api.security_headers import HEADERS
from tutelage.service.campaigns.handoff import Handoff
from tutelage.service.campaigns.messages import Refusal
from tutelage.service.campaigns.writer import ActionJob
from tutelage.service.dashboard.pages import render_action_page, render_message_page
from tutelage.service.dashboard.templating import Visitor
from tutelage.service.monitoring.monitor import Monitor

_ACTS = ("start", "stop", "exclude")
_WITHOUT_SESSION = secrets.token_bytes(32)  # no key is needed, or the key came in a header


def action_routes(handoff: Handoff, monitor: Monitor) -> list[Route]:
    """The routes ``/c/NAME/act/ACT``: the question, and the act itself."""

    async def ask(call: Call) -> Response:
        act, view = call.parameters["act"], await monitor.view(call.name)
        if act not in (*_ACTS, "export"):
            raise HttpProblem("not-found", f"Unknown act {act!r}: choose one on the campaign's page.")
        client = call.request.query_params.get("client", "")
        made = render_action_page(view, act, client, tuple(FORMATS), visitor=describe_visitor(call))
        return HTMLResponse(made, headers=HEADERS)

    async def do(call: Call) -> Response:
        fields, act = call.form, call.parameters["act"]
        token, client = (fields.get(name, [""])[0] for name in ("token", "client"))
        if not hmac.compare_digest(token.encode(), _form_token(call).encode()):
            raise HttpProblem("forbidden", "The form is of another session: open the campaign's page again.")
        if act not in _ACTS:
            raise HttpProblem("not-found", f"Unknown act {act!r}: choose one on the campaign's page.")
        known = cast('Literal["start", "stop", "exclude"]', act)
        try:
            await handoff.ask(ActionJob(call.name, act=known, client=client, origin=call.origin))
        except Refusal as error:
            page = render_message_page(
                "Nothing was changed", error.sentence, "../../../", visitor=describe_visitor(call)
            )
            return HTMLResponse(page, 409, HEADERS)
        return RedirectResponse("../", 303, HEADERS)

    return [
        Route("GET", "/c/{name}/act/{act}", ask, "admin"),
        Route("POST", "/c/{name}/act/{act}", do, "admin", is_form=True),
    ]


def describe_visitor(call: Call) -> Visitor:
    """Return who sent a request, for the page that answers it."""
    caller = call.caller
    return Visitor(caller.name, caller.role, has_session=bool(caller.session), form_token=_form_token(call))


def _form_token(call: Call) -> str:
    """The same on every server, as a session's digest is in the store; another for each session."""
    return hashlib.sha256(b"form" + (call.caller.session or _WITHOUT_SESSION)).hexdigest()
