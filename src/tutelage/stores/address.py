"""URLs of stores and servers: invalid ones, and passwords hidden for display."""

import re
from urllib.parse import unquote

from tutelage.errors import InputError

# postgresql://USER:PASSWORD@HOST/DATABASE?password=..., and libpq's other form, "host=... password=...".
_SCHEME = r"([A-Za-z][A-Za-z0-9+.-]*://[^:@/?#]*)"
_USER = re.compile(_SCHEME + r":([^/?#]*)@")
_UNESCAPED = re.compile(_SCHEME + r":(?![0-9,:\]]*(?:[/?#]|$)).*@", re.DOTALL)
_HOSTLESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^:@/?#\[]*):(?![0-9]*(?:[,/?#]|$))[^/?#]*")
_SCHEMELESS = re.compile(r"^([^:@]*):.*@", re.DOTALL)
_QUERY = re.compile(r"([?&])([^=&?]*)=[^&]*")
_WORDS = re.compile(r"(\b(?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)+)", re.IGNORECASE)
_SECRET = frozenset({"password", "sslpassword", "passwd", "pass", "pwd"})  # libpq knows two, people write all five
_QUOTED = re.compile(r"""(["'])(.+?)\1""")


def without_password(address: str) -> str:
    """Replace each password in a URL by ``***``, in every form in which passwords are written.

    A password with an unescaped ``/``, ``?`` or ``#`` is hidden too, up to the last ``@``; so is the part in
    a password's place if the URL lacks its slashes or its host.
    """
    if "://" not in address:
        return _SCHEMELESS.sub(r"\1:***@", _WORDS.sub(r"\1***", address))
    hidden = _USER.sub(r"\1:***@", address)
    if hidden == address:
        hidden = _UNESCAPED.sub(r"\1:***@", address)
    if "@" not in address:
        hidden = _HOSTLESS.sub(r"\1:***", address)
    return _QUERY.sub(_hidden, hidden)


def is_secret(name: str) -> bool:
    """Whether a parameter of a URL holds a password, or was meant to."""
    return unquote(name).lower() in _SECRET


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
