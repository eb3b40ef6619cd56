"""``tutelage campaign``: create and manage campaigns of a running server, over HTTP."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tutelage.cli import interrupts
from tutelage.cli.completion import complete_teacher
from tutelage.cli.options import Force, Json, Yes, argument, check_new_file, confirm, flag, option, whole_option
from tutelage.cli.printing import Printer, print_answer
from tutelage.cli.server_options import CampaignOfServer, Server
from tutelage.cli.server_requests import campaign_path, connect, name_server, report_refusal, request
from tutelage.errors import InputError
from tutelage.text import format_bytes, format_count

app = typer.Typer(
    help="Create and manage campaigns of a running server.  The key is read from TUTELAGE_KEY.",
    short_help="Create and manage campaigns of a running server.",
)
Name = CampaignOfServer
NewName = Annotated[str, argument("NAME", "Name of the campaign.")]
_FIELD_OPTIONS = {"arms": "--arm", "clients": "--client"}  # whose names differ


@app.command()
def create(
    name: NewName,
    file: Annotated[
        Path | None, option("FILE", "TOML file with the campaign's settings; options take precedence.")
    ] = None,
    arm: Annotated[list[str] | None, option("NAME", "Name of an arm; repeat the option for other arms.")] = None,
    client: Annotated[
        list[str] | None, option("NAME", "Name of a client; repeat the option for other clients.")
    ] = None,
    open_registration: Annotated[
        bool | None, flag("--open-registration", "Let clients be registered until the campaign starts.")
    ] = None,
    horizon: Annotated[int | None, whole_option("T", "Number of rounds of the campaign, at least 1.")] = None,
    teacher: Annotated[
        str | None, option("SPEC", "Teacher, as in twl or blt.", autocompletion=complete_teacher)
    ] = None,
    low: Annotated[float | None, option("X", "Lowest possible reward.", show_default="0")] = None,
    high: Annotated[float | None, option("X", "Highest possible reward.", show_default="1")] = None,
    weights: Annotated[
        list[str] | None,
        option(
            "NAME=X",
            "Weight of a client, above 0; repeat the option for each, or give all as in a=3,b=1, or in the "
            "clients' order as in 0.75,0.25.",
            show_default="equal weights",
        ),
    ] = None,
    seed: Annotated[
        int | None, whole_option("S", "Seed of the teacher's random numbers, at least 0.", show_default="0")
    ] = None,
    binary_reveals: Annotated[
        bool | None, flag("--binary-reveals", "Reveal only the lowest and the highest reward, by random rounding.")
    ] = None,
    start: Annotated[bool | None, flag("--start", "Start the campaign immediately.")] = None,
    force: Annotated[
        bool, flag("--force", "Create the campaign even if it has one arm or cannot decide before its horizon.")
    ] = False,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Create a campaign from a file, from options, or from both."""
    given = {
        "arms": arm,
        "clients": client,
        "open_registration": open_registration,
        "horizon": horizon,
        "teacher": teacher,
        "low": low,
        "high": high,
        "weights": None if weights is None else _parse_weights(weights),
        "seed": seed,
        "binary_reveals": binary_reveals,
        "start": start,
    }
    from tutelage.service.configuration import read_toml

    content = {} if file is None else read_toml(file)
    options = {key: value for key, value in given.items() if value is not None}

    def locate(field: str) -> str:
        """Say where a field was given, or can be given."""
        flag = _FIELD_OPTIONS.get(field, f"--{field.replace('_', '-')}")
        if field in options:
            return flag
        if field in content or field not in given:
            return f"in {file}"
        return f"give it with {flag}" + ("" if file is None else f" or in {file}")

    own = {"name": name, "strict": not force}
    campaign = request(server, "POST", "/v1/campaigns", content | options | own, locate)
    is_started = campaign["status"] == "running"
    _print_campaign(campaign, f"was created{' and started' if is_started else ''}", as_json=as_json)


@app.command("list")
def list_campaigns(server: Server = None, as_json: Json = False) -> None:
    """List all campaigns."""
    listing = request(server, "GET", "/v1/campaigns")
    print_answer(lambda: listing, lambda: _list(listing["campaigns"], server), as_json=as_json)


def _list(campaigns: list[dict[str, Any]], server: str | None) -> Iterator[str]:
    items = {one["name"]: one["items"] for one in request(server, "GET", "/v1/status")["campaigns"]}
    for one in campaigns:
        worst = _find_worst(one, items.get(one["name"], []))
        size = f"{format_count(len(one['clients']), 'client')}, {format_count(len(one['arms']), 'arm')}"
        report = one["report"].removeprefix("learning, ")  # the status says it, or that it is stalled
        progress = f"{format_count(one['num_pulls'], 'pull')}, {report}"
        yield f"{one['name']}: {worst}, {one['teacher']}, {size}, {progress}"


def _find_worst(campaign: dict[str, Any], items: list[dict[str, Any]]) -> str:
    """The most severe status item of a campaign that runs, or its status."""
    status: str = campaign["status"]
    return f"{status}, {items[0]['kind']}" if status == "running" and items else status


@app.command()
def show(name: Name, server: Server = None, as_json: Json = False) -> None:
    """Show a campaign's progress and its status items."""
    campaign = request(server, "GET", campaign_path(name))
    campaign["items"] = request(server, "GET", f"{campaign_path(name)}/status")["items"]
    for item in campaign["items"]:
        for field in ("action", "command"):
            item[field] = name_server(item[field], server)
    _print_campaign(campaign, as_json=as_json)


@app.command()
def register(
    name: Name,
    client: Annotated[str, argument("CLIENT", "Name of the new client.")],
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Add a client to a campaign that has not started."""
    registered = request(server, "POST", f"{campaign_path(name)}/clients", {"client": client})
    known = "was registered" if registered["added"] else "is already registered"
    print_answer(lambda: registered, lambda: [f"{client} {known} in {name}."], as_json=as_json)


@app.command()
def start(name: Name, server: Server = None, as_json: Json = False) -> None:
    """Start a campaign, or resume a stopped one."""
    _change_status(server, name, "start", "running", as_json=as_json)


@app.command()
def stop(name: Name, server: Server = None, as_json: Json = False) -> None:
    """Stop a campaign.

    The server refuses new pulls until the campaign is started again.
    """
    _change_status(server, name, "stop", "stopped", as_json=as_json)


@app.command()
def exclude(
    name: Name,
    client: Annotated[str, argument("CLIENT", "Name of the client.")],
    yes: Yes = False,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Exclude a client permanently.

    The teacher continues as if the client had never pulled; its pulls are still answered.
    """
    path = campaign_path(name)
    confirm(f"Exclude {client} from the evidence of {name}?", yes=yes)
    campaign = request(server, "POST", f"{path}/exclude", {"client": client})
    _print_campaign(campaign, f"continues without the evidence of {client}", as_json=as_json)


@app.command()
def assign(
    name: Name,
    client: Annotated[str, argument("CLIENT", "Name of the client.")],
    edge: Annotated[str, option("NAME", "Edge that answers the client's pulls; empty for the leader.")] = "",
    yes: Yes = False,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Move a client to an edge, or to the leader.

    Later pulls at the server that it leaves are refused, and what that server has not reported is lost to the teacher.
    Nothing changes if the client's pulls are answered there already.
    """
    path, place = campaign_path(name), f"the edge {edge}" if edge else "the leader"
    confirm(f"Move {client} of {name} to {place}?", yes=yes)
    campaign = request(server, "POST", f"{path}/assign", {"client": client, "edge": edge})
    what = f"has moved {client} to {place}" if campaign["moved"] else f"is unchanged: {client} is at {place} already"
    _print_campaign(campaign, what, as_json=as_json)


@app.command()
def export(
    name: Name,
    out: Annotated[Path, option("FILE", "File to write.")],
    format: Annotated[str, option("FORMAT", "Format of the rows: ndjson, csv or parquet.")] = "ndjson",
    force: Force = False,
    server: Server = None,
) -> None:
    """Write all rows of a campaign's ledger to a file."""
    if out.is_dir() or not out.parent.is_dir():
        reason = "it is a folder" if out.is_dir() else f"the folder {out.parent} does not exist"
        raise InputError(f"Invalid --out {str(out)!r}: {reason}; name a file.")
    check_new_file(out, force=force)
    unfinished = out.with_name(f".tutelage-{os.getpid()}.part")
    interrupts.remove_unfinished_in(out.parent)
    try:
        with connect(server) as http, unfinished.open("wb") as file:
            with http.stream("GET", f"{campaign_path(name)}/export", params={"format": format}) as response:
                if not response.is_success:
                    response.read()
                    report_refusal(response, server)
                for part in response.iter_bytes():
                    file.write(part)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(out)
        sys.stderr.write(f"The ledger of {name} was written to {out}: {format_bytes(out.stat().st_size)}.\n")
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(out)) from error
    finally:
        unfinished.unlink(missing_ok=True)


@app.command()
def delete(name: Name, yes: Yes = False, server: Server = None, as_json: Json = False) -> None:
    """Delete a campaign and its ledger.

    The campaign must be stopped and then exported, or never have started.
    """
    path = campaign_path(name)
    confirm(f"Delete the campaign {name} and its ledger?", yes=yes)
    request(server, "DELETE", path)
    print_answer(lambda: {"deleted": name}, lambda: [f"The campaign {name} was deleted."], as_json=as_json)


def _change_status(server: str | None, name: str, act: str, status: str, *, as_json: bool) -> None:
    """Start or stop a campaign; say if it had that status before."""
    before = request(server, "GET", campaign_path(name))["status"]
    campaign = request(server, "POST", f"{campaign_path(name)}/{act}")
    if before == status:
        sys.stderr.write(f"The campaign {name} is already {status}: nothing was changed.\n")
    done = "" if before == status else {"start": "was started", "stop": "was stopped"}[act]
    _print_campaign(campaign, done, as_json=as_json)


def _parse_weights(given: list[str]) -> list[float] | dict[str, float]:
    """Read weights by client, or in the clients' order.  Raises ``InputError``."""
    try:
        if all("=" in text for text in given):
            parts = [part for text in given for part in _split_weights(text)]
            pairs = [part.rpartition("=") for part in parts]
            found = {client: float(weight) for client, _, weight in pairs}
            if len(found) == len(parts):
                return found
        elif len(given) == 1:
            return [float(weight) for weight in given[0].split(",")]
    except ValueError:
        pass
    raise InputError(
        f"Invalid --weights {' '.join(given)!r}: use NAME=NUMBER once for each client, as in a=3,b=1, or a list of "
        "numbers as in 0.75,0.25."
    )


def _split_weights(text: str) -> list[str]:
    """Split ``a=3,b=1`` at its commas, unless they are part of a client's name."""
    parts = text.split(",")
    return parts if all("=" in part for part in parts) else [text]


def _print_campaign(campaign: dict[str, Any], done: str = "", *, as_json: bool) -> None:
    """Print a campaign, below a sentence that says what was done to it."""
    sys.stderr.writelines(f"Warning: {sentence}\n" for sentence in campaign.get("warnings", ()))
    print_answer(lambda: campaign, lambda: _print_figures(campaign, done), as_json=as_json)


def _print_figures(campaign: dict[str, Any], done: str) -> None:
    if done:
        sys.stdout.write(f"The campaign {campaign['name']} {done}.\n")
    round = min(campaign["round"], campaign["horizon"])
    beyond = campaign["beyond_horizon"]
    excluded = f" ({len(campaign['excluded']):,} excluded)" if campaign["excluded"] else ""
    after_end = f", {beyond:,} of them after the horizon" if beyond else ""
    bypassed = f", {campaign['bypassed']:,} bypassed" if campaign["bypassed"] else ""
    clients = format_count(len(campaign["clients"]), "client")
    Printer().print_definitions(
        [
            ("campaign", f"{campaign['name']}, {campaign['status']}"),
            ("teacher", f"{campaign['teacher']}: {campaign['report']}"),
            ("target", campaign["target"] or "not decided"),
            ("round", f"{round:,} of {campaign['horizon']:,}, directive {campaign['directive']:,}"),
            ("pulls", f"{campaign['num_pulls']:,} by {clients}{excluded}{after_end}{bypassed}"),
            ("cost", f"{campaign['cost']:.4g}"),
            *((item["kind"], _describe_item(item)) for item in campaign.get("items", ())),
        ]
    )


def _describe_item(item: dict[str, Any]) -> str:
    """Describe a status item in a paragraph, with the command for it on a line of its own."""
    severity = "" if item["severity"] == "info" else f"({item['severity']})"
    sentences = " ".join(filter(None, (severity, item["message"], item["action"])))
    return sentences + (f"\n{item['command']}" if item["command"] else "")
