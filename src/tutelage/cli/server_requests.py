"""Requests of commands to a running server, and what its refusals mean for the command line."""

import contextlib
import json
import os
import re
import ssl
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from tutelage.cli.server_options import shown_place
from tutelage.errors import InputError, RefusalError
from tutelage.text import name_place

_REQUEST_FAULTS = frozenset({400, 413, 422})


def campaign_path(name: str) -> str:
    """Return the path of a campaign.  Raises ``InputError`` for what cannot be its name."""
    from tutelage.service.campaigns.settings import check_campaign_name

    check_campaign_name(name)
    return f"/v1/campaigns/{name}"


@contextlib.contextmanager
def connect(server: str | None) -> Iterator[Any]:
    """Give an ``httpx.Client`` of the server, with the key of TUTELAGE_KEY, and explain its errors."""
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
        f"{without_password(address)}{name_proxy(address)} is not a Tutelage server: it answers with {what}. "
        "Check --server or TUTELAGE_SERVER."
    )


def _find_certificate_error(error: BaseException | None) -> str | None:
    """Return why a certificate was refused, if that caused the error."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def request(
    server: str | None, method: str, path: str, content: Any = None, locate: Callable[[str], str] | None = None
) -> Any:
    """Return the server's answer; ``locate`` says where a field of ``content`` was given, for its errors."""
    with connect(server) as http:
        return send(http, server, method, path, content, locate)


def send(
    http: Any,
    server: str | None,
    method: str,
    path: str,
    content: Any = None,
    locate: Callable[[str], str] | None = None,
) -> Any:
    """Return the server's answer on a connection that :func:`connect` made."""
    body = None if content is None else _encode(content)
    response = http.request(method, path, content=body, headers={"Content-Type": "application/json"})
    if not response.is_success:
        report_refusal(response, server, locate)
    try:
        return response.json() if response.content else None
    except ValueError:
        raise _not_tutelage(response, "something other than JSON") from None


def _encode(content: Any) -> bytes:
    """Encode as JSON; ``InputError`` names a value that JSON cannot have."""
    for name, value in content.items():
        try:
            json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError):
            raise InputError(f"Invalid {name} {value!r}: use text, numbers, true, false or lists of them.") from None
    return json.dumps(content, ensure_ascii=False).encode()


def name_server(text: str, server: str | None) -> str:
    """Make the commands in a text act on the server that gave it."""
    from tutelage.service.configuration import load_setting

    return name_place(text, "campaign", "--server", shown_place("server", load_setting("server", server)))


def report_refusal(response: Any, server: str | None, locate: Callable[[str], str] | None = None) -> NoReturn:
    """Raise ``InputError`` if the server says that the request is wrong, ``RefusalError`` if it refuses it now."""
    from tutelage.client.pull_messages import PROXY_STATUSES, describe_proxy_status
    from tutelage.stores.address import without_password

    try:
        problem = response.json()
        sentence = name_server(" ".join(str(problem["detail"]).split()), server)
        if locate is not None and problem.get("faults"):
            field = re.split(r"[.\[]", problem["faults"][0]["field"])[0]
            sentence = f"{sentence.rstrip('.')} ({locate(field)})." if field else sentence
    except (ValueError, KeyError, TypeError):
        if response.status_code in PROXY_STATUSES:
            raise RefusalError(
                f"{without_password(str(response.url))} {describe_proxy_status(response.status_code)}"
            ) from None
        raise _not_tutelage(response, f"status {response.status_code}") from None
    if str(problem.get("type")).endswith(":warned"):
        sentence += " Add --force to create the campaign anyway."
    if response.status_code in _REQUEST_FAULTS:
        raise InputError(sentence)
    if response.status_code == 401 and "Authorization" not in response.request.headers:
        sentence = (
            "The server needs a key: set TUTELAGE_KEY to one; `tutelage key create NAME --role admin` with the "
            "server's store makes one."
        )
    raise RefusalError(sentence)
