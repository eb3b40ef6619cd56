"""``tutelage campaign``: campaigns of a running server, over HTTP."""

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

from tutelage.cli import ending
from tutelage.cli.options import Json, Server
from tutelage.cli.output import printing
from tutelage.errors import InputError
from tutelage.text import counted

app = typer.Typer(
    help="Campaigns of a running server; the key is read from TUTELAGE_KEY.",
    short_help="Campaigns of a running server.",
)
Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="The campaign.")]
_WRONG = frozenset({400, 404, 413, 422})  # the question itself
_FLAGS = {"arms": "--arm", "clients": "--client"}  # of the fields that have not the name of their option


@app.command()
def create(
    name: Name,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Its settings, a TOML file; options come first."
        ),
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(metavar="NAME", show_default=False, help="An arm; once for each.")
    ] = None,
    client: Annotated[
        list[str] | None, typer.Option(metavar="NAME", show_default=False, help="A client; once for each.")
    ] = None,
    open_registration: Annotated[
        bool | None, typer.Option("--open-registration", help="Let clients register until it starts.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(metavar="T", show_default=False, help="Rounds of the campaign.")
    ] = None,
    teacher: Annotated[
        str | None, typer.Option(metavar="SPEC", show_default=False, help="As in twl or blt.")
    ] = None,
    low: Annotated[
        float | None, typer.Option(metavar="X", show_default="0", help="The least reward.")
    ] = None,
    high: Annotated[float | None, typer.Option(metavar="X", show_default="1", help="The largest.")] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=X",
            show_default="equal ones",
            help="A client's weight, once for each; or all of them in the clients' order, as in 0.75,0.25.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", show_default="0", help="The teacher's.")] = None,
    start: Annotated[bool | None, typer.Option("--start", help="Start it at once.")] = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Make a campaign from a file, from options, or from both."""
    given = {
        "arms": arm,
        "clients": client,
        "open_registration": open_registration,
        "horizon": horizon,
        "teacher": teacher,
        "low": low,
        "high": high,
        "weights": None if weights is None else _weights(weights),
        "seed": seed,
        "start": start,
    }
    from tutelage.service.configuration import read_toml

    content = {} if file is None else read_toml(file)
    options = {key: value for key, value in given.items() if value is not None}

    def place(field: str) -> str:
        """Where a field was given, or can be."""
        flag = _FLAGS.get(field, f"--{field}")
        if field in options:
            return flag
        if field in content or field not in given:
            return f"in {file}"
        return f"give it with {flag}" + ("" if file is None else f" or in {file}")

    told = _ask(server, "POST", "/v1/campaigns", content | options | {"name": name}, place)
    _show(told, as_json=as_json)


@app.command("list")
def show_all(server: Server = None, as_json: Json = False) -> None:
    """List all campaigns."""
    told = _ask(server, "GET", "/v1/campaigns")
    with printing():
        if as_json:
            sys.stdout.write(json.dumps(told) + "\n")
            return
        for one in told["campaigns"]:
            size = f"{counted(len(one['clients']), 'client')}, {counted(len(one['arms']), 'arm')}"
            told = f"{counted(one['num_pulls'], 'pull')}, {one['state']}"
            sys.stdout.write(f"{one['name']}: {one['status']}, {one['teacher']}, {size}, {told}\n")


@app.command(short_help="Show a campaign, where it stands, and its status.")
def show(name: Name, server: Server = None, as_json: Json = False) -> None:
    """Show a campaign, where it stands, and its status items, most severe first."""
    told = _ask(server, "GET", _place(name))
    told["items"] = _ask(server, "GET", f"{_place(name)}/status")["items"]
    _show(told, as_json=as_json)


@app.command()
def register(
    name: Name,
    client: Annotated[str, typer.Argument(metavar="CLIENT", show_default=False, help="Who joins.")],
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Let a client into a campaign that has not started."""
    told = _ask(server, "POST", f"{_place(name)}/clients", {"client": client})
    if as_json:
        with printing():
            sys.stdout.write(json.dumps(told) + "\n")


@app.command()
def start(name: Name, server: Server = None, as_json: Json = False) -> None:
    """Start a campaign, or resume it after a stop."""
    _show(_ask(server, "POST", f"{_place(name)}/start"), as_json=as_json)


@app.command()
def stop(name: Name, server: Server = None, as_json: Json = False) -> None:
    """Pause a campaign: new pulls are refused until it is started again."""
    _show(_ask(server, "POST", f"{_place(name)}/stop"), as_json=as_json)


@app.command()
def exclude(
    name: Name,
    client: Annotated[str, typer.Argument(metavar="CLIENT", show_default=False, help="Who excludes.")],
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Take a client out of the evidence, for good; it is still taught."""
    _show(_ask(server, "POST", f"{_place(name)}/exclude", {"client": client}), as_json=as_json)


@app.command()
def export(
    name: Name,
    out: Annotated[Path, typer.Option(metavar="FILE", show_default=False, help="Where to write it.")],
    format: Annotated[str, typer.Option(metavar="FORMAT", help="ndjson, csv or parquet.")] = "ndjson",
    server: Server = None,
) -> None:
    """Write all rows of a campaign's ledger to a file."""
    if out.is_dir() or not out.parent.is_dir():
        what = "is a folder" if out.is_dir() else "cannot be written: there is no such folder"
        raise InputError(f"{out} {what}; name a file with --out.")
    unfinished = out.with_name(f".tutelage-{os.getpid()}.part")
    ending.clears(out.parent)
    try:
        with _http(server) as http, unfinished.open("wb") as file:
            with http.stream("GET", f"{_place(name)}/export", params={"format": format}) as response:
                if not response.is_success:
                    response.read()
                    _refuse(response)
                for part in response.iter_bytes():
                    file.write(part)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(out)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror}", str(out)) from error
    finally:
        unfinished.unlink(missing_ok=True)


@app.command(short_help="Remove a campaign with all its rows.")
def delete(name: Name, server: Server = None, as_json: Json = False) -> None:
    """Remove a campaign that is stopped and has been exported, or never started, with all its rows."""
    _ask(server, "DELETE", _place(name))
    if as_json:
        with printing():
            sys.stdout.write(json.dumps({"deleted": name}) + "\n")


def _weights(given: list[str]) -> list[float] | dict[str, float]:
    """Weights by client, or in the clients' order.  Raises ``InputError``."""
    try:
        if all("=" in text for text in given):
            pairs = [text.rpartition("=") for text in given]
            found = {client: float(weight) for client, _, weight in pairs}
            if len(found) == len(given):
                return found
        elif len(given) == 1:
            return [float(weight) for weight in given[0].split(",")]
    except ValueError:
        pass
    raise InputError(
        f"--weights {' '.join(given)!r} is neither NAME=NUMBER, once for each client, "
        "nor a list of numbers, as in 0.75,0.25."
    )


def _place(name: str) -> str:
    from tutelage.service.campaigns.settings import check_campaign_name

    check_campaign_name(name)
    return f"/v1/campaigns/{name}"


@contextlib.contextmanager
def _http(server: str | None) -> Iterator[Any]:
    import httpx

    from tutelage.service.configuration import load_configuration
    from tutelage.stores.address import without_password

    address = load_configuration({"server": server}).server
    key = os.environ.get("TUTELAGE_KEY", "")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError("TUTELAGE_KEY is no key: it holds a character that no key has.")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx.Client(base_url=address, headers=headers, timeout=60.0) as http:
            yield http
    except httpx.InvalidURL:
        raise InputError(
            f"--server: {without_password(address)!r} is no address: write http://HOST:PORT."
        ) from None
    except httpx.HTTPError as error:
        if distrust := _distrust(error):
            raise InputError(
                f"The certificate of {without_password(address)} is not trusted ({distrust}): set "
                "SSL_CERT_FILE to a file that holds it, or the certificate of the authority that signed it."
            ) from None
        told = str(error) or type(error).__name__
        raise InputError(
            f"The server {without_password(address)} does not answer ({told}): is it running?"
        ) from None


def _url(response: Any) -> str:
    """Whence an answer came, without the password of the address."""
    from tutelage.stores.address import without_password

    return without_password(str(response.url))


def _distrust(error: BaseException | None) -> str | None:
    """Why a certificate was refused, if that is what this error comes from."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _ask(
    server: str | None,
    method: str,
    path: str,
    content: Any = None,
    place: Callable[[str], str] | None = None,
) -> Any:
    """What the server answers; ``place`` says where a field of ``content`` was given."""
    body = None if content is None else _encoded(content)
    with _http(server) as http:
        response = http.request(method, path, content=body, headers={"Content-Type": "application/json"})
        if not response.is_success:
            _refuse(response, place)
        try:
            return response.json() if response.content else None
        except ValueError:
            raise InputError(f"{_url(response)} is no Tutelage server's: it answers with no JSON.") from None


def _encoded(content: Any) -> bytes:
    """JSON; ``InputError`` names what has no place in it."""
    for name, value in content.items():
        try:
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError):
            raise InputError(f"{name}: {value!r} cannot be sent to a server.") from None
    return json.dumps(content, ensure_ascii=False).encode()


def _refuse(response: Any, place: Callable[[str], str] | None = None) -> NoReturn:
    """Tell what the server said: status 2 if what was asked is wrong, 1 if it will not do it now."""
    try:
        problem = response.json()
        sentence = " ".join(str(problem["detail"]).split())
        if place is not None and problem.get("faults"):
            field = re.split(r"[.\[]", problem["faults"][0]["field"])[0]
            sentence = f"{sentence.rstrip('.')} ({place(field)})." if field else sentence
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{_url(response)} is no Tutelage server's: it answers with status {response.status_code}."
        ) from None
    if response.status_code in _WRONG:
        raise InputError(sentence)
    sys.stderr.write(f"{sentence}\n")
    raise typer.Exit(1)


def _show(told: dict[str, Any], *, as_json: bool) -> None:
    from tutelage.cli.page import Page

    with printing():
        if as_json:
            sys.stdout.write(json.dumps(told) + "\n")
            return
        round = min(told["round"], told["horizon"])
        beyond = f", {told['beyond_horizon']:,} of them beyond the horizon" * bool(told["beyond_horizon"])
        Page().put_definitions(
            [
                ("campaign", f"{told['name']}, {told['status']}"),
                ("teacher", f"{told['teacher']}: {told['state']}"),
                ("target", told["target"] or "none yet"),
                ("round", f"{round:,} of {told['horizon']:,}, directive {told['directive']:,}"),
                ("pulls", f"{told['num_pulls']:,} by {counted(len(told['clients']), 'client')}{beyond}"),
                ("cost", f"{told['cost']:.4g}"),
                *((item["kind"], _format_item(item)) for item in told.get("items", ())),
            ]
        )


def _format_item(item: dict[str, Any]) -> str:
    """Format a status item as a paragraph, with the command on a line of its own."""
    severity = "" if item["severity"] == "info" else f"({item['severity']}) "
    text = " ".join(filter(None, (item["message"], item["action"])))
    return f"{severity}{text}" + (f"\n{item['command']}" if item["command"] else "")
