"""URLs of stores and servers: invalid ones, and passwords hidden for display."""

import re
from urllib.parse import unquote

from tutelage.errors import InputError

# postgresql://USER:PASSWORD@HOST/DATABASE?password=..., and libpq's other form, "host=... password=...".
_URL = re.compile(r"([A-Za-z][A-Za-z0-9_.+:-]*?://)(.*)", re.DOTALL)
_HOST = r"(?:\[[^\]@/?#]*\]|[^:@/?#\[\],]*)(?::[0-9]*)?"
_PARAMETER = r"[^=&#@]+=[^&#]*"
_WITHOUT_PASSWORD = re.compile(
    rf"(?:[^:@/?#]*@)?{_HOST}(?:,{_HOST})*(?:/[^@?#]*)?(?:\?{_PARAMETER}(?:&{_PARAMETER})*)?"
)
_AUTHORITY = re.compile(r"[^/?#]*")
_SCHEMELESS = re.compile(r"^([^:@]*):.*@", re.DOTALL)
_QUERY = re.compile(r"([?&])([^=&?]*)=[^&]*(?:&[^=&]*(?=&|$))*")  # an unescaped & may belong to the value
# libpq knows the first five; people write the others too.
_SECRETS = (
    *("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"),
    *("passwd", "pass", "pwd"),
)
_WORDS = re.compile(
    rf"(\b(?:{'|'.join(_SECRETS)})\s*=\s*)(?:'(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)+)", re.IGNORECASE | re.DOTALL
)
_QUOTED = re.compile(r"""(["'])(.+?)\1""")


def without_password(address: str) -> str:
    """Replace each password in a URL by ``***``, in every form in which passwords are written.

    A password with an unescaped ``@``, ``/``, ``?`` or ``#`` is hidden too: all that comes before the last
    ``@`` may belong to it.  So is the part in a password's place if the URL lacks its slashes or its host.
    """
    url = _URL.match(address)
    if url is None:
        return _SCHEMELESS.sub(r"\1:***@", _WORDS.sub(r"\1***", address))
    scheme, rest = url.groups()
    if not _WITHOUT_PASSWORD.fullmatch(rest):
        (before, at, place), user = rest.rpartition("@"), rest.partition(":")[0]
        if at and ":" in before:
            rest = f"{user}:***@{place}"
        elif not at and len(user) < len(_AUTHORITY.match(rest)[0]) and "[" not in user:  # type: ignore[index]
            rest = f"{user}:***"
    return scheme + _QUERY.sub(_hidden, rest)


def hide_passwords_in(sentence: str) -> str:
    """Hide the password of every URL that stands in a sentence."""
    return re.sub(r"[A-Za-z][\w.+:-]*://\S*@\S*", lambda found: without_password(found[0]), sentence)


def has_unescaped_password(url: str) -> bool:
    """Whether a character of the password ends it too early, so that the host would be read from its rest."""
    shown, parts = without_password(url), _URL.match(url)
    if parts is None or ":***@" not in shown:
        return False
    password = parts[2].rpartition("@")[0].partition(":")[2]
    return bool(set(password) & set("@/?#"))


def is_secret(name: str) -> bool:
    """Whether a parameter of a URL holds a password, or was meant to."""
    return unquote(name).lower() in _SECRETS


def reason_without_password(reason: str, address: str, shown: str) -> str:
    """Remove from another library's error message what only ``address`` contains and ``shown`` does not.

    libpq's message ends with the part that it cannot read, which may be a password: it is left out.
    """
    hidden = reason.replace(address, shown).partition(': "')[0]
    secret = f"{address}\n{unquote(address)}"
    return _QUOTED.sub(lambda quoted: "***" if quoted[2] in secret and quoted[2] not in shown else quoted[0], hidden)


def _hidden(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}{parameter[2]}=***" if is_secret(parameter[2]) else parameter[0]


def invalid_url(url: str) -> InputError:
    """Return the error for a URL that is not a store's."""
    return InputError(
        f"Invalid store URL {without_password(url)!r}: use sqlite:///FILE, postgresql://USER@HOST/DATABASE, "
        "or package.module:Class://... for a store of an installed package."
    )
