"""``tutelage campaign decisions``: the consultations of a campaign's teacher, its decision, and exclusions."""

import itertools
from collections.abc import Iterator
from typing import Any

from tutelage.cli.options import Json
from tutelage.cli.printing import print_answer
from tutelage.cli.server_options import CampaignOfServer, Server
from tutelage.cli.server_requests import campaign_path, connect, send
from tutelage.text import format_name, format_number


def decisions(name: CampaignOfServer, server: Server = None, as_json: Json = False) -> None:
    """List the teacher's consultations, its decision, and exclusions.

    With --json each has the sums of rewards that were new to the teacher.
    """
    found = _read_decisions(name, server)
    nothing = f"The teacher of {name} has not been consulted yet, and no client was excluded."
    print_answer(lambda: {"decisions": list(found)}, lambda: _list(found, nothing), as_json=as_json)


def _list(found: Iterator[dict[str, Any]], nothing: str) -> Iterator[str]:
    first = next(found, None)
    if first is None:
        yield nothing
    else:
        yield from map(_describe, itertools.chain([first], found))


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
