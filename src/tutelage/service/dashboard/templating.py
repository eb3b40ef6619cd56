"""The templates' environment, and what a browser's tab shows.

No page has an absolute address, an inline style or an inline script.
"""

import functools
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from tutelage.service.monitoring.status import StatusItem
from tutelage.text import UNKNOWN, format_duration, format_name, format_percent, format_rough_duration, shorten_names

_ICON_COLOURS = {
    "red": "b3261e",
    "amber": "b26a00",
    "green": "1b7f4b",
    "grey": "77808c",
    "blue": "1f6fb2",
    "plain": "5b6b7b",
}


@dataclass(frozen=True)
class BrowserTab:
    """A tab's title, the file of its icon, and the text for a screen reader."""

    title: str
    icon: str
    announcement: str


@dataclass(frozen=True)
class Visitor:
    """Who looks at a page: the name and role of the key, both empty without one.

    ``has_session`` says that the visitor can sign out; ``form_token`` is what forms that change something send.
    """

    name: str = ""
    role: str = ""
    has_session: bool = False
    form_token: str = ""

    @property
    def is_admin(self) -> bool:
        """Whether the page offers actions."""
        return self.role == "admin"


NOBODY = Visitor()


@functools.cache
def environment() -> jinja2.Environment:
    """The templates; everything is escaped unless it is ``Markup``."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("tutelage.service.dashboard"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "clock": lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        "client_address": client_address,
        "duration": format_duration,
        "minutes": format_rough_duration,
        "name": format_name,
        "number": lambda value: f"{value:,.0f}",
        "percent": format_percent,
        "precise": lambda value: f"{value:.3f}" if math.isfinite(value) else UNKNOWN,
        "short_name": lambda name, names, columns: shorten_names(names, columns)[name],
        "with_code": mark_code,
    }
    return made


def mark_code(sentence: str) -> Markup:
    """A sentence in which text between backticks is set as code."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:  # a backtick without its pair
        return escape(sentence)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def client_address(name: str) -> str:
    """The address of a client's page relative to its campaign's; browsers take some names for folders."""
    if name in {".", ".."}:
        return f"client/?name={quote(name, safe='')}"
    return f"client/{quote(name, safe='')}"


def icon_address(colour: str) -> str:
    """The icon of a page: a dot in a colour, relative to the root of all pages."""
    return f"static/{colour}.svg"


def render_icon(name: str) -> str | None:
    """A dot as SVG; None if no icon has this file name."""
    colour = name.removesuffix(".svg")
    if colour == name or colour not in _ICON_COLOURS:
        return None
    dot = f'<circle cx="8" cy="8" r="7" fill="#{_ICON_COLOURS[colour]}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">{dot}</svg>'


def make_tab(name: str, item: StatusItem) -> BrowserTab:
    """A tab for a campaign whose most severe status item this is."""
    return BrowserTab(f"{item.kind} · {name}", icon_address(item.colour), f"{item.kind}: {item.title}")
