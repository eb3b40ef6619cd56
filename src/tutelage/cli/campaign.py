"""``tutelage campaign``: create and manage campaigns of a running server, over HTTP."""

import contextlib
import json
import os
import re
import ssl
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from tutelage.cli import interrupts
from tutelage.cli.options import Force, Json, Server, Yes, check_new_file, confirm, shown_place, whole_number
from tutelage.cli.printing import Printer, checked_output
from tutelage.errors import InputError, RefusalError
from tutelage.text import format_count, name_place

app = typer.Typer(
    help="Create and manage campaigns of a running server.  The key is read from TUTELAGE_KEY.",
    short_help="Create and manage campaigns of a running server.",
)
Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Name of the campaign.")]
_REQUEST_FAULTS = frozenset({400, 413, 422})
_FIELD_OPTIONS = {
    "arms": "--arm",
    "clients": "--client",
    "open_registration": "--open-registration",
    "binary_reveals": "--binary-reveals",
}  # whose names differ


@app.command()
def create(
    name: Name,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="TOML file with the campaign's settings; options take precedence."
        ),
    ] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", show_default=False, help="Name of an arm; repeat the option for other arms."),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", show_default=False, help="Name of a client; repeat the option for other clients."),
    ] = None,
    open_registration: Annotated[
        bool | None, typer.Option("--open-registration", help="Let clients be registered until the campaign starts.")
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="T", parser=whole_number, show_default=False, help="Number of rounds of the campaign, at least 1."
        ),
    ] = None,
    teacher: Annotated[
        str | None, typer.Option(metavar="SPEC", show_default=False, help="Teacher, as in twl or blt.")
    ] = None,
    low: Annotated[float | None, typer.Option(metavar="X", show_default="0", help="Lowest possible reward.")] = None,
    high: Annotated[float | None, typer.Option(metavar="X", show_default="1", help="Highest possible reward.")] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=X",
            show_default="equal weights",
            help="Weight of a client, above 0; repeat the option for each, or give all as in a=3,b=1, or in the "
            "clients' order as in 0.75,0.25.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="S", parser=whole_number, show_default="0", help="Seed of the teacher's random numbers, at least 0."
        ),
    ] = None,
    binary_reveals: Annotated[
        bool | None,
        typer.Option("--binary-reveals", help="Reveal only the lowest and the highest reward, by random rounding."),
    ] = None,
    start: Annotated[bool | None, typer.Option("--start", help="Start the campaign immediately.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Create the campaign even if it has one arm or cannot end by its horizon.")
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
        flag = _FIELD_OPTIONS.get(field, f"--{field}")
        if field in options:
            return flag
        if field in content or field not in given:
            return f"in {file}"
        return f"give it with {flag}" + ("" if file is None else f" or in {file}")

    own = {"name": name, "strict": not force}
    campaign = _request(server, "POST", "/v1/campaigns", content | options | own, locate)
    _print_campaign(campaign, as_json=as_json)


@app.command("list")
def list_campaigns(server: Server = None, as_json: Json = False) -> None:
    """List all campaigns."""
    listing = _request(server, "GET", "/v1/campaigns")
    with checked_output():
        if as_json:
            sys.stdout.write(json.dumps(listing) + "\n")
            return
        for one in listing["campaigns"]:
            worst = _find_worst(one, server)
            size = f"{format_count(len(one['clients']), 'client')}, {format_count(len(one['arms']), 'arm')}"
            progress = f"{format_count(one['num_pulls'], 'pull')}, {one['report']}"
            sys.stdout.write(f"{one['name']}: {worst}, {one['teacher']}, {size}, {progress}\n")


def _find_worst(campaign: dict[str, Any], server: str | None) -> str:
    """The most severe status item of a campaign that runs, or its status."""
    status: str = campaign["status"]
    if status != "running":
        return status
    try:
        items = _request(server, "GET", f"{_path(campaign['name'])}/status")["items"]
    except RefusalError:  # deleted a moment ago, or it cannot be served, as its report says
        return status
    return f"{status}, {items[0]['kind']}"


@app.command()
def show(name: Name, server: Server = None, as_json: Json = False) -> None:
    """Show a campaign's progress and its status items."""
    campaign = _request(server, "GET", _path(name))
    campaign["items"] = _request(server, "GET", f"{_path(name)}/status")["items"]
    for item in campaign["items"]:
        for field in ("action", "command"):
            item[field] = _name_server(item[field], server)
    _print_campaign(campaign, as_json=as_json)


@app.command()
def register(
    name: Name,
    client: Annotated[str, typer.Argument(metavar="CLIENT", show_default=False, help="Name of the new client.")],
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Add a client to a campaign that has not started."""
    registered = _request(server, "POST", f"{_path(name)}/clients", {"client": client})
    known = "was registered" if registered["added"] else "is already registered"
    with checked_output():
        sys.stdout.write((json.dumps(registered) if as_json else f"{client} {known} in {name}.") + "\n")


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
    client: Annotated[str, typer.Argument(metavar="CLIENT", show_default=False, help="Name of the client.")],
    yes: Yes = False,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Exclude a client from the evidence permanently.

    Its pulls are still answered.
    """
    path = _path(name)
    confirm(f"Exclude {client} from the evidence of {name}?", yes=yes)
    _print_campaign(_request(server, "POST", f"{path}/exclude", {"client": client}), as_json=as_json)


@app.command()
def export(
    name: Name,
    out: Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="File to write.")],
    format: Annotated[
        str, typer.Option(metavar="FORMAT", help="Format of the rows: ndjson, csv or parquet.")
    ] = "ndjson",
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
        with _connect(server) as http, unfinished.open("wb") as file:
            with http.stream("GET", f"{_path(name)}/export", params={"format": format}) as response:
                if not response.is_success:
                    response.read()
                    _report_refusal(response, server)
                for part in response.iter_bytes():
                    file.write(part)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(out)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(out)) from error
    finally:
        unfinished.unlink(missing_ok=True)


@app.command()
def delete(name: Name, yes: Yes = False, server: Server = None, as_json: Json = False) -> None:
    """Delete a campaign and its ledger.

    The campaign must be stopped and then exported, or never have started.
    """
    path = _path(name)
    confirm(f"Delete the campaign {name} and its ledger?", yes=yes)
    _request(server, "DELETE", path)
    with checked_output():
        sys.stdout.write((json.dumps({"deleted": name}) if as_json else f"The campaign {name} was deleted.") + "\n")


def _change_status(server: str | None, name: str, act: str, status: str, *, as_json: bool) -> None:
    """Start or stop a campaign; say if it had that status before."""
    before = _request(server, "GET", _path(name))["status"]
    campaign = _request(server, "POST", f"{_path(name)}/{act}")
    if before == status:
        sys.stderr.write(f"The campaign {name} is already {status}: nothing was changed.\n")
    _print_campaign(campaign, as_json=as_json)


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


def _path(name: str) -> str:
    from tutelage.service.campaigns.settings import check_campaign_name

    check_campaign_name(name)
    return f"/v1/campaigns/{name}"


@contextlib.contextmanager
def _connect(server: str | None) -> Iterator[Any]:
    import httpx

    from tutelage.client.connections import connection_options, name_proxy
    from tutelage.service.configuration import load_setting
    from tutelage.stores.address import without_password

    address = load_setting("server", server)
    key = os.environ.get("TUTELAGE_KEY", "")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(
            "TUTELAGE_KEY contains a character that is not allowed in a key: copy the key as tutelage key "
            "create printed it."
        )
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        options = connection_options(address)
    except ValueError as error:
        raise InputError(str(error)) from None
    try:
        with httpx.Client(base_url=address, headers=headers, timeout=60.0, **options) as http:
            yield http
    except httpx.InvalidURL:
        raise InputError(
            f"Invalid --server {without_password(address)!r}: use an address as in http://HOST:PORT."
        ) from None
    except httpx.HTTPError as error:
        if reason := _find_certificate_error(error):
            raise InputError(
                f"The certificate of {without_password(address)} is not trusted ({reason}): set "
                "SSL_CERT_FILE to a file with it, or with the certificate of the authority that signed it."
            ) from None
        reason = str(error) or type(error).__name__
        raise RefusalError(
            f"The server {without_password(address)}{name_proxy(address)} does not answer ({reason}): check that it "
            "is running, and --server or TUTELAGE_SERVER."
        ) from None


def _not_tutelage(response: Any, what: str) -> InputError:
    """Return the error for an answer that no Tutelage server gives; ``what`` says what it is."""
    from tutelage.client.connections import name_proxy
    from tutelage.stores.address import without_password

    address = str(response.url)
    return InputError(
        f"{without_password(address)}{name_proxy(address)} is not a Tutelage server: it answers with {what}."
    )


def _find_certificate_error(error: BaseException | None) -> str | None:
    """Return why a certificate was refused, if that caused the error."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _request(
    server: str | None, method: str, path: str, content: Any = None, locate: Callable[[str], str] | None = None
) -> Any:
    """Return the server's answer; ``locate`` says where a field of ``content`` was given, for its errors."""
    body = None if content is None else _encode(content)
    with _connect(server) as http:
        response = http.request(method, path, content=body, headers={"Content-Type": "application/json"})
        if not response.is_success:
            _report_refusal(response, server, locate)
        try:
            return response.json() if response.content else None
        except ValueError:
            raise _not_tutelage(response, "something else than JSON") from None


def _encode(content: Any) -> bytes:
    """Encode as JSON; ``InputError`` names a value that JSON cannot have."""
    for name, value in content.items():
        try:
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError):
            raise InputError(f"Invalid {name} {value!r}: use text, numbers, true, false or lists of them.") from None
    return json.dumps(content, ensure_ascii=False).encode()


def _name_server(text: str, server: str | None) -> str:
    """Make the commands in a text act on the server that gave it."""
    from tutelage.service.configuration import load_setting

    return name_place(text, "campaign", "--server", shown_place("server", load_setting("server", server)))


def _report_refusal(response: Any, server: str | None, locate: Callable[[str], str] | None = None) -> NoReturn:
    """Raise ``InputError`` if the server says that the request is wrong, ``RefusalError`` if it refuses it now."""
    try:
        problem = response.json()
        sentence = _name_server(" ".join(str(problem["detail"]).split()), server)
        if locate is not None and problem.get("faults"):
            field = re.split(r"[.\[]", problem["faults"][0]["field"])[0]
            sentence = f"{sentence.rstrip('.')} ({locate(field)})." if field else sentence
    except (ValueError, KeyError, TypeError):
        raise _not_tutelage(response, f"status {response.status_code}") from None
    if str(problem.get("type")).endswith(":warned"):
        sentence += " Add --force to create the campaign all the same."
    if response.status_code in _REQUEST_FAULTS:
        raise InputError(sentence)
    if response.status_code == 401 and "Authorization" not in response.request.headers:
        sentence = (
            "The server needs a key: set TUTELAGE_KEY to one; `tutelage key create NAME --role admin` with the "
            "server's store makes one."
        )
    raise RefusalError(sentence)


def _print_campaign(campaign: dict[str, Any], *, as_json: bool) -> None:
    sys.stderr.writelines(f"Warning: {sentence}\n" for sentence in campaign.get("warnings", ()))
    with checked_output():
        if as_json:
            sys.stdout.write(json.dumps(campaign) + "\n")
            return
        round = min(campaign["round"], campaign["horizon"])
        beyond = campaign["beyond_horizon"]
        excluded = f" ({len(campaign['excluded']):,} excluded)" if campaign["excluded"] else ""
        after_end = f", {beyond:,} of them after the horizon" if beyond else ""
        clients = format_count(len(campaign["clients"]), "client")
        Printer().print_definitions(
            [
                ("campaign", f"{campaign['name']}, {campaign['status']}"),
                ("teacher", f"{campaign['teacher']}: {campaign['report']}"),
                ("target", campaign["target"] or "not decided"),
                ("round", f"{round:,} of {campaign['horizon']:,}, directive {campaign['directive']:,}"),
                ("pulls", f"{campaign['num_pulls']:,} by {clients}{excluded}{after_end}"),
                ("cost", f"{campaign['cost']:.4g}"),
                *((item["kind"], _describe_item(item)) for item in campaign.get("items", ())),
            ]
        )


def _describe_item(item: dict[str, Any]) -> str:
    """Describe a status item in a paragraph, with the command for it on a line of its own."""
    severity = "" if item["severity"] == "info" else f"({item['severity']})"
    sentences = " ".join(filter(None, (severity, item["message"], item["action"])))
    return sentences + (f"\n{item['command']}" if item["command"] else "")
