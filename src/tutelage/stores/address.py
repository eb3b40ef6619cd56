"""An address, a store's or a server's, as it may be shown."""

import re
from urllib.parse import unquote

# postgresql://USER:PASSWORD@HOST/DATABASE?password=..., and libpq's other form, "host=... password=...".
_SCHEME = r"([A-Za-z][A-Za-z0-9+.-]*://[^:@/?#]*)"
_USER = re.compile(_SCHEME + r":([^/?#]*)@")
_UNESCAPED = re.compile(_SCHEME + r":(?![0-9,:\]]*(?:[/?#]|$)).*@", re.DOTALL)
_HOSTLESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://[^:@/?#\[]*):(?![0-9]*(?:[,/?#]|$))[^/?#]*")
_SCHEMELESS = re.compile(r"^([^:@]*):.*@", re.DOTALL)
_QUERY = re.compile(r"([?&])([^=&?]*)=[^&]*")
_WORDS = re.compile(r"(\b(?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)+)", re.IGNORECASE)
_SECRET = frozenset({"password", "sslpassword", "passwd", "pass", "pwd"})  # libpq has two, people all five
_QUOTED = re.compile(r"""(["'])(.+?)\1""")


def without_password(address: str) -> str:
    """The same with ``***`` for each password, whichever way it is named; an address without one as it is.

    A password in which ``/``, ``?`` or ``#`` was left unescaped is hidden too, up to the last ``@``; so is
    what stands in a password's place in an address that lacks its slashes or its host.
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
    """Whether a parameter of an address holds a password, or was meant to."""
    return unquote(name).lower() in _SECRET


def reason_without_password(reason: str, address: str, shown: str) -> str:
    """Why an address cannot be used, in another library's words, without what only ``address`` holds.

    libpq ends with the part that it cannot read, which may be a password's: it is left out.
    """
    told = reason.replace(address, shown).partition(': "')[0]
    secret = f"{address}\n{unquote(address)}"
    return _QUOTED.sub(
        lambda quoted: "***" if quoted[2] in secret and quoted[2] not in shown else quoted[0], told
    )


def _hidden(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}{parameter[2]}=***" if is_secret(parameter[2]) else parameter[0]
