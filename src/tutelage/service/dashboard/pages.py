"""A campaign's page from its figures: panels of HTML, and what the browser's tab shows.

Templates lie in ``templates``; what they show is computed here and in :mod:`.grid`.  Nothing in a page has
an absolute address, a style of its own or a script of its own.
"""

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import jinja2
import numpy as np
from markupsafe import Markup, escape

from tutelage.service.dashboard.arms import ArmView, arm_view, arms_chart, has_evidence
from tutelage.service.dashboard.charts import (
    Curve,
    Window,
    curve,
    regret_of,
    share_chart,
    window_of,
)
from tutelage.service.dashboard.grid import behind, grid_of, strays
from tutelage.service.dashboard.unserved import Unserved
from tutelage.service.display import short, shown
from tutelage.service.monitoring.durations import UNKNOWN, about, duration, percent
from tutelage.service.monitoring.figures import Figures
from tutelage.service.monitoring.forecast import LEAST_SPAN, foretell
from tutelage.service.monitoring.status import DEFAULTS, ORDER, State, states_of
from tutelage.service.monitoring.thresholds import Thresholds

PANELS = ("head", "banner", "numbers", "quota", "behind", "arms", "share", "cost", "regret", "events")
_ICONS = {
    "red": "b3261e",
    "amber": "b26a00",
    "green": "1b7f4b",
    "grey": "77808c",
    "note": "1f6fb2",
    "plain": "5b6b7b",
}
_MOST_EVENTS = 12


@dataclass(frozen=True)
class Tab:
    """What a row of tabs shows: the title, the icon's file, and the words for a screen reader."""

    title: str
    icon: str
    said: str


@dataclass(frozen=True)
class Rendered:
    """A page's panels, each with a mark of its content, as of a position in the ledger."""

    position: int
    tab: Tab
    panels: Mapping[str, str]
    marks: Mapping[str, str]


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
        "duration": duration,
        "about": about,
        "number": lambda value: f"{value:,.0f}",
        "percent": percent,
        "precise": lambda value: f"{value:.3f}" if math.isfinite(value) else UNKNOWN,
        "client_address": client_address,
        "marked": marked,
        "shown": shown,
        "short": short,
    }
    return made


def marked(sentence: str) -> Markup:
    """A sentence in which what stands between backticks is something to type."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:  # one of them has no other
        return escape(sentence)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )


def client_address(name: str) -> str:
    """A client's page as seen from its campaign's; a browser would take some names for folders."""
    if name in {".", ".."}:
        return f"client/?name={quote(name, safe='')}"
    return f"client/{quote(name, safe='')}"


def icon(colour: str) -> str:
    """The file of the dot in the colour of the worst state, seen from the root of all pages."""
    return f"static/{colour}.svg"


def icon_file(name: str) -> str | None:
    """A dot as SVG; None if no icon has this file name."""
    colour = name.removesuffix(".svg")
    if colour == name or colour not in _ICONS:
        return None
    dot = f'<circle cx="8" cy="8" r="7" fill="#{_ICONS[colour]}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">{dot}</svg>'


def tab_of(name: str, worst: State) -> Tab:
    """A tab for a campaign in this state."""
    return Tab(f"{worst.kind} · {name}", icon(worst.colour), f"{worst.kind}: {worst.headline}")


def render(figures: Figures, thresholds: Thresholds = DEFAULTS) -> Rendered:
    """All panels of a campaign's page."""
    states = states_of(figures, thresholds)
    view, window = arm_view(figures), window_of(figures)
    taken_pulls = figures.taken.pulls.sum(axis=0)
    common = {"figures": figures, "taken": figures.taken, "states": states, "worst": states[0]}
    contexts: dict[str, dict[str, Any]] = {
        "head": {"age": _age(figures)},
        "banner": {},
        "numbers": {"numbers": _numbers(figures, view)},
        "quota": {"grid": grid_of(figures, states)},
        "behind": _behind(figures, states, thresholds),
        "arms": {
            "chart": _both(arms_chart(figures, view), arms_chart(figures, view, is_narrow=True)),
            "view": view,
            "bets": has_evidence(figures),
            "pulls": taken_pulls,
        },
        "share": _share(figures, window),
        "cost": _cost(figures, window),
        "regret": _regret(figures, view, window),
        "events": {"events": figures.told.events[:_MOST_EVENTS], "count": len(figures.told.events)},
    }
    templates = environment().get_template("panels.html").module
    panels = {name: str(getattr(templates, name)(**common, **context)) for name, context in contexts.items()}
    marks = {name: hashlib.sha256(panel.encode()).hexdigest()[:10] for name, panel in panels.items()}
    return Rendered(figures.taken.position, tab_of(figures.taken.name, states[0]), panels, marks)


def campaign_page(
    figures: Figures, rendered: Rendered, thresholds: Thresholds = DEFAULTS, *, signed_in: bool = False
) -> str:
    """The whole page; ``signed_in`` shows how to sign out."""
    template = environment().get_template("campaign.html")
    return template.render(
        root="../../",
        figures=figures,
        rendered=rendered,
        tab=rendered.tab,
        order=PANELS,
        cut_off=thresholds.cut_off_seconds,
        refresh=figures.at is None,
        signed_in=signed_in,
    )


@dataclass(frozen=True, eq=False)
class Row:
    """A campaign in the list; without ``figures`` there are none of it."""

    name: str
    worst: State
    said: str
    figures: Figures | None = None
    rate: str = ""


def index_page(
    found: Sequence[Figures | Unserved], thresholds: Thresholds = DEFAULTS, *, signed_in: bool = False
) -> str:
    """All campaigns, the worst state first."""
    rows = sorted(
        (_row(one, thresholds) for one in found),
        key=lambda row: (ORDER.index((row.worst.kind, row.worst.colour)), row.name),
    )
    worst = rows[0].worst if rows else State("no campaign", "plain", "No campaign yet.", "")
    tab = Tab(f"{worst.kind} · Tutelage", icon(worst.colour), f"{worst.kind}: {worst.headline}")
    template = environment().get_template("index.html")
    return template.render(root="", rows=rows, tab=tab, refresh=True, signed_in=signed_in)


def _row(one: Figures | Unserved, thresholds: Thresholds) -> Row:
    if isinstance(one, Unserved):
        return Row(one.name, one.state, one.state.sentence)
    worst = states_of(one, thresholds)[0]
    return Row(one.taken.name, worst, worst.headline, one, _rate(one))


def unserved_page(unserved: Unserved, root: str, *, signed_in: bool = False) -> str:
    """The page of a campaign without figures."""
    template = environment().get_template("unserved.html")
    return template.render(
        root=root,
        tab=tab_of(unserved.name, unserved.state),
        name=unserved.name,
        state=unserved.state,
        refresh=True,
        signed_in=signed_in,
    )


def client_page(
    figures: Figures, client: int, thresholds: Thresholds = DEFAULTS, *, signed_in: bool = False
) -> str:
    """One client: its pulls of each arm, what is missing, when that will be there."""
    taken, recent = figures.taken, figures.recent
    states = states_of(figures, thresholds)
    forecast = foretell(figures)
    order = sorted(range(len(taken.arms)), key=lambda arm: -int(taken.missing[client, arm]))
    template = environment().get_template("client.html")
    return template.render(
        root="../../../",
        figures=figures,
        taken=taken,
        recent=recent,
        client=client,
        order=order,
        states=states,
        tab=tab_of(shown(taken.clients[client]), states[0]),
        needs=float(forecast.client_seconds[client]),
        refresh=True,
        signed_in=signed_in,
    )


def message_page(title: str, sentence: str, root: str, *, signed_in: bool = False) -> str:
    """A page that only says something."""
    tab = Tab(title, icon("grey"), sentence)
    template = environment().get_template("message.html")
    return template.render(
        root=root, tab=tab, title=title, sentence=sentence, refresh=False, signed_in=signed_in
    )


def login_page(root: str, onward: str, said: str = "", *, ask: bool = True, again: bool = False) -> str:
    """The form for a key, which leads ``onward``; ``said`` is why it is shown.

    ``ask``: there is something to ask for.  ``again``: the browser came from another site and may have held
    its key back, so that it is sent on once.
    """
    tab = Tab("sign in · Tutelage", icon("grey"), said)
    template = environment().get_template("login.html")
    return template.render(
        root=root,
        tab=tab,
        said=said,
        onward=onward,
        ask=ask,
        again=quote(onward, safe="") if again else "",
        refresh=False,
        signed_in=False,
    )


def _both(wide: str, narrow: str) -> Markup:
    """A chart for a screen and one for a phone; the style sheet shows one of them."""
    if not wide:
        return Markup()
    shown = f'<div class="wide">{wide}</div><div class="narrow">{narrow}</div>'
    return Markup(shown)  # noqa: S704 - made by charts, which escape


def _age(figures: Figures) -> str:
    started = figures.told.started
    return duration(max(figures.now - started, 0.0)) if started is not None else ""


def _rate(figures: Figures) -> str:
    """Pulls a second in the last minute."""
    rate = figures.recent.pulls_per_second
    return f"{rate:,.0f}/s" if rate >= 1 or rate == 0 else f"{60 * rate:.2g} a minute"


def _numbers(figures: Figures, view: ArmView) -> list[tuple[str, str, float | None]]:
    """Value, words and progress of the eight numbers."""
    taken, recent, disk = figures.taken, figures.recent, figures.server.disk
    regret = float(regret_of(view, taken.pulls.sum(axis=0, keepdims=True), taken.target)[0][0])
    known = bool(np.isfinite(view.middle).any())
    minutes = recent.minute_span / 60
    is_known = recent.minute_span >= LEAST_SPAN
    by_minute = f", {recent.minute_cost / minutes:+,.0f} a minute" if is_known else ""
    conflicts = f"replays, {taken.conflicts:,} conflict" + ("" if taken.conflicts == 1 else "s")
    beyond = f", and {taken.beyond_horizon:,} beyond the horizon" if taken.beyond_horizon else ""
    made = int(taken.pulls.sum()) - taken.beyond_horizon
    return [
        _filled(figures),
        (f"{taken.round:,}", f"of {taken.horizon:,} rounds", taken.round / taken.horizon),
        (f"{len(taken.active_arms):,} of {len(taken.arms):,}", "arms in play", None),
        (f"{taken.cost:,.0f}", f"cost{by_minute}", None),
        (f"{regret:,.0f}" if known else UNKNOWN, "regret, estimated", None),
        (f"{made:,}", f"pulls, {_rate(figures)}{beyond}", None),
        (f"{taken.replays:,}", conflicts, None),
        (duration(disk), "to disk (99 %)", None)
        if disk is not None
        else (UNKNOWN, "to disk: nothing was written lately", None),
    ]


def _filled(figures: Figures) -> tuple[str, str, float | None]:
    """The share of the epoch that is filled; what ended with a decision says so."""
    taken, settled = figures.taken, figures.told.settled
    if taken.target is not None and settled is not None:
        return "decided", f"by epoch {settled.directive}; epoch {taken.directive} asks for nothing", None
    if taken.status == "registering":
        return percent(0.0), f"of epoch {taken.directive} filled", 0.0
    if not taken.listed.any():
        return UNKNOWN, "no pulls are awaited", None
    return percent(taken.filled), f"of epoch {taken.directive} filled", taken.filled


def _behind(figures: Figures, states: Sequence[State], thresholds: Thresholds) -> dict[str, Any]:
    caught = {state.client for state in states if state.client is not None and state.colour == "red"}
    if figures.taken.led_to is not None:
        minute = figures.recent.minute
        return {
            "rows": [],
            "strays": strays(figures),
            "span": figures.recent.minute_span,
            "made": minute.any(),
        }
    return {"rows": behind(figures, caught, thresholds), "strays": None, "span": 0.0, "made": True}


def _share(figures: Figures, window: Window | None) -> dict[str, Any]:
    chart, words = share_chart(figures, window)
    narrow, fewer = share_chart(figures, window, is_narrow=True)
    span = window.span if window else None
    return {"chart": _both(chart, narrow), "words": words, "fewer": fewer, "span": span}


def _mark(figures: Figures) -> float | None:
    settled = figures.told.settled
    return settled.time - figures.now if settled else None


def _cost(figures: Figures, window: Window | None) -> dict[str, Any]:
    """The curve, and the cost before and after the decision."""
    taken, settled = figures.taken, figures.told.settled
    values = figures.recent.costs[window.points] if window else np.zeros(1)
    chart = curve(figures, window, Curve("Cost so far", values, mark=_mark(figures)))
    learning = settled.cost if settled else taken.cost
    if taken.target is not None and settled is None:
        learning = 0.0
    return {"chart": Markup(chart), "learning": learning, "teaching": taken.cost - learning}  # noqa: S704 - escaped there


def _regret(figures: Figures, view: ArmView, window: Window | None) -> dict[str, Any]:
    known = bool(np.isfinite(view.middle).any())
    if window is None or not known:
        return {"chart": "", "known": known}
    pulls = figures.recent.arm_pulls[window.points]
    values, lower, upper = regret_of(view, pulls, figures.taken.target)
    has_band = bool(np.isfinite(view.lower).any())
    band = (lower, upper) if has_band else (None, None)
    drawn = curve(figures, window, Curve("Estimated regret", values, *band))
    return {"chart": Markup(drawn), "known": has_band}  # noqa: S704 - escaped there
