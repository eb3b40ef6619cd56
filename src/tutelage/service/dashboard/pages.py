"""The pages of the dashboard, rendered from views of campaigns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from tutelage.service.dashboard.panels import TOP_PANELS, CampaignPanels, choose_columns, format_rate
from tutelage.service.dashboard.templating import NOBODY, BrowserTab, Visitor, environment, icon_address, make_tab
from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import compute_forecast
from tutelage.service.monitoring.load_checks import UnservableCampaign
from tutelage.service.monitoring.status import DEFAULTS, StatusItem, Thresholds, find_worst, rank, status_of
from tutelage.text import format_name
from tutelage.versions import package_version

_VERSION = package_version()
ROWS_PER_PAGE = 100  # of the list of campaigns


#: The time ranges of the charts as the page names them.
_RANGES = {"": "automatic", "10m": "10 min", "1h": "1 h", "1d": "1 day", "30d": "30 days", "all": "all"}


def render_campaign_page(
    view: CampaignView,
    panels: CampaignPanels,
    range_name: str = "",
    thresholds: Thresholds = DEFAULTS,
    *,
    visitor: Visitor = NOBODY,
) -> str:
    """Render a campaign's page; ``range_name`` is the time range of its charts, ``visitor`` who looks at it."""
    return _render(
        "campaign.html",
        "../../",
        panels.tab,
        view=view,
        rendered=panels,
        top=TOP_PANELS,
        columns=choose_columns(view.metrics),
        outdated_seconds=thresholds.outdated_seconds,
        refresh=view.at_round is None,
        ranges=_RANGES,
        range_name=range_name,
        visitor=visitor,
    )


@dataclass(frozen=True, eq=False)
class CampaignRow:
    """A campaign in the list; ``view`` is None if the server has none."""

    name: str
    worst: StatusItem
    message: str
    view: CampaignView | None = None
    rate: str = ""


def render_index_page(
    campaigns: Sequence[CampaignView | UnservableCampaign],
    page: int = 1,
    thresholds: Thresholds = DEFAULTS,
    *,
    visitor: Visitor = NOBODY,
) -> str:
    """Render a page of the list of all campaigns, the most severe status first; after the last page, the last."""
    listed = sorted(((_find_worst(one, thresholds), one) for one in campaigns), key=lambda found: _place(*found))
    pages = max(1, math.ceil(len(listed) / ROWS_PER_PAGE))
    page = min(page, pages)
    start = (page - 1) * ROWS_PER_PAGE
    tab = BrowserTab("no campaign · Tutelage", icon_address("plain"), "No campaign yet.")
    if listed:
        tab = make_tab("Tutelage", listed[0][0])
    rows = [_make_row(worst, one) for worst, one in listed[start : start + ROWS_PER_PAGE]]
    known = {"start": start, "count": len(listed), "page": page, "pages": pages}
    return _render("index.html", "", tab, rows=rows, refresh=True, visitor=visitor, **known)


_WORST: WeakKeyDictionary[CampaignView, tuple[Thresholds, StatusItem]] = WeakKeyDictionary()


def _find_worst(one: CampaignView | UnservableCampaign, thresholds: Thresholds) -> StatusItem:
    """Return the most severe status item, found once for each view: lists show the same views for seconds."""
    if isinstance(one, UnservableCampaign):
        return one.item
    known = _WORST.get(one)
    if known is None or known[0] is not thresholds:
        known = _WORST[one] = thresholds, find_worst(one, thresholds)
    return known[1]


def _place(worst: StatusItem, one: CampaignView | UnservableCampaign) -> tuple[tuple[int, int], str]:
    return rank(worst), one.name if isinstance(one, UnservableCampaign) else one.metrics.name


def _make_row(worst: StatusItem, one: CampaignView | UnservableCampaign) -> CampaignRow:
    if isinstance(one, UnservableCampaign):
        return CampaignRow(one.name, worst, worst.details)
    return CampaignRow(one.metrics.name, worst, worst.title, one, format_rate(one))


def render_unservable_page(campaign: UnservableCampaign, root: str, *, visitor: Visitor = NOBODY) -> str:
    """Render the page of a campaign without a view."""
    tab = make_tab(campaign.name, campaign.item)
    return _render("unservable.html", root, tab, name=campaign.name, item=campaign.item, refresh=True, visitor=visitor)


def render_client_page(
    view: CampaignView, client: int, thresholds: Thresholds = DEFAULTS, *, visitor: Visitor = NOBODY
) -> str:
    """Render a client's page: its pulls of each arm, what is missing, and when it will have made them."""
    metrics, status, forecast = view.metrics, status_of(view, thresholds), compute_forecast(view)
    return _render(
        "client.html",
        "../../../",
        make_tab(format_name(metrics.clients[client]), status[0]),
        view=view,
        metrics=metrics,
        activity=view.activity,
        client=client,
        order=sorted(range(len(metrics.arms)), key=lambda arm: -int(metrics.missing[client, arm])),
        status=status,
        needs=float(forecast.client_seconds[client]),
        slowest=int(forecast.slowest_arms[client]),
        refresh=True,
        visitor=visitor,
    )


#: The title, what an act does, and the button of each page that asks for a confirmation.
_ACTS = {
    "start": ("Start the campaign?", "Pulls are accepted, and rewards are adjusted as the teacher asks.", "Start"),
    "stop": (
        "Stop the campaign?",
        (
            "New pulls are refused until the campaign is started again; repeated pulls and reports of bypassed pulls "
            "still pass."
        ),
        "Stop",
    ),
    "exclude": (
        "Exclude a client?",
        "The teacher continues as if the client had never pulled; its pulls are still answered. This cannot be undone.",
        "Exclude",
    ),
    "export": (
        "Export the ledger",
        (
            "The file holds every row of the campaign's ledger. After an administrator's export a stopped campaign "
            "can be deleted."
        ),
        "Export",
    ),
}


def render_action_page(
    view: CampaignView, act: str, client: str, formats: Sequence[str], *, visitor: Visitor = NOBODY
) -> str:
    """Render the page that asks once more before an act; ``client`` is the one to exclude, if it is known."""
    metrics, (title, sentence, button) = view.metrics, _ACTS[act]
    return _render(
        "action.html",
        "../../../",
        BrowserTab(f"{title} · {metrics.name}", icon_address("grey"), title),
        metrics=metrics,
        act=act,
        title=title,
        sentence=sentence,
        button=button,
        formats=formats,
        clients=[name for name, is_evidence in zip(metrics.clients, metrics.is_evidence, strict=True) if is_evidence],
        chosen=client,
        refresh=False,
        visitor=visitor,
    )


def render_message_page(title: str, message: str, root: str, *, visitor: Visitor = NOBODY) -> str:
    """Render a page with a message only."""
    tab = BrowserTab(title, icon_address("grey"), message)
    return _render("message.html", root, tab, title=title, message=message, refresh=False, visitor=visitor)


def render_login_page(root: str, onward: str, message: str = "", *, has_form: bool = True, reload: bool = False) -> str:
    """Render the form for a key, which leads ``onward``; ``message`` says why it is shown.

    ``reload`` is for a browser that came from another site and may have held its cookie back: the page sends
    it here again, once.
    """
    return _render(
        "login.html",
        root,
        BrowserTab("sign in · Tutelage", icon_address("grey"), message),
        message=message,
        onward=onward,
        has_form=has_form,
        reload_address=quote(onward, safe="") if reload else "",
        refresh=False,
        visitor=NOBODY,
    )


def _render(template: str, root: str, tab: BrowserTab, **context: Any) -> str:
    return environment().get_template(template).render(root=root, tab=tab, version=_VERSION, **context)
