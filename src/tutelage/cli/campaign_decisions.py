"""``tutelage campaign decisions``: the consultations of a campaign's teacher, its decision, and exclusions."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from tutelage.cli.options import Json
from tutelage.cli.printing import checked_output
from tutelage.cli.server_options import CampaignOfServer, Server
from tutelage.cli.server_requests import campaign_path, connect, send
from tutelage.text import format_name, format_number


def decisions(name: CampaignOfServer, server: Server = None, as_json: Json = False) -> None:
    """List the teacher's consultations, its decision, and exclusions.

    With --json each has the sums of rewards that were new to the teacher.
    """
    found = _read_decisions(name, server)
    with checked_output():
        if as_json:
            sys.stdout.write(json.dumps({"decisions": list(found)}) + "\n")
            return
        count = 0
        for count, one in enumerate(found, 1):  # noqa: B007 - it is used after the loop
            sys.stdout.write(_describe(one) + "\n")
        if not count:
            sys.stdout.write(f"The teacher of {name} has not been consulted yet, and no client was excluded.\n")


def _read_decisions(name: str, server: str | None) -> Iterator[dict[str, Any]]:
    """Yield all of them, read in pages."""
    after: int | None = 0
    with connect(server) as http:
        while after is not None:
            page = send(http, server, "GET", f"{campaign_path(name)}/decisions?after={after}")
            yield from page["decisions"]
            after = page["next"]


def _describe(one: dict[str, Any]) -> str:
    """Describe a record in a line: when, what, the active arms, and the cost so far."""
    what = {
        "consulted": f"consultation {one['directive']:,}, not decided",
        "decided": f"consultation {one['directive']:,}, decided on {format_name(one['target'] or '')}",
        "excluded": f"excluded {format_name(one.get('client', ''))}",
    }[one["kind"]]
    arms = ", ".join(map(format_name, one["active_arms"]))
    return f"{one['time']}  round {one['round']:,}: {what}; active arms {arms}; cost {format_number(one['cost'])}"
