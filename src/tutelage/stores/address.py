"""A store's address as it may be shown."""

import re

# postgresql://USER:PASSWORD@HOST/DATABASE?password=..., and libpq's other form, "host=... password=...".
_USER = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://[^:@/?#]*):([^/?#]*)@")
_UNESCAPED = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://[^:@/?#]*):(?![0-9,:\]]*(?:[/?#]|$)).*@", re.DOTALL)
_QUERY = re.compile(r"([?&](?:ssl)?password=)[^&#]*", re.IGNORECASE)
_WORDS = re.compile(r"(\b(?:ssl)?password\s*=\s*)(?:'(?:[^'\\]|\\.)*'?|(?:[^\s\\]|\\.)+)", re.IGNORECASE)


def without_password(address: str) -> str:
    """The same with ``***`` for each password, whichever way it is named; an address without one as it is.

    A password in which ``/``, ``?`` or ``#`` was left unescaped is hidden too, up to the last ``@``.
    """
    if "://" not in address:
        return _WORDS.sub(r"\1***", address)
    hidden = _USER.sub(r"\1:***@", address)
    if hidden == address:
        hidden = _UNESCAPED.sub(r"\1:***@", address)
    return _QUERY.sub(r"\1***", hidden)
