"""The pages: their addresses over HTTP, and their content; test_browser.py opens them in a browser."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import httpx
import numpy as np
import pytest
from tests.service import factories
from tests.service.listening_server import PREFIX, ListeningServer

from tutelage.cli.app import execute
from tutelage.service.api.security_headers import POLICY
from tutelage.service.dashboard.pages import (
    render_campaign_page,
    render_client_page,
    render_index_page,
    render_login_page,
    render_unservable_page,
)
from tutelage.service.dashboard.panels import PANELS, render_panels
from tutelage.service.dashboard.templating import Visitor, mark_code
from tutelage.service.monitoring.load_checks import UnservableRefusal
from tutelage.service.monitoring.status import status_of

HOSTILE = (
    "<img src=x onerror=document.title='owned'>",
    "</script><script>document.title='owned'</script>",
    "a/b?c#d&e=\"f'",
    "..",
    "{{ 7 * 7 }}",
)


class PageContent(HTMLParser):
    """The addresses, attributes, tags and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.attributes, self.tags, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.addresses += [value for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a server with campaigns of hostile and of plain names."""
    server = ListeningServer(tmp_path_factory.mktemp("pages") / "pages.db")
    server.play("hostile", HOSTILE, HOSTILE)
    server.play("plain", ["a", "b"], ["x", "y"])
    yield server.plain
    server.close()


@pytest.mark.parametrize("prefix", ["", PREFIX])
def test_every_link_of_every_page_works(address, prefix):
    """All addresses are relative and work under a prefix, also those of clients with unusual names."""
    with httpx.Client(base_url=address + prefix, timeout=30) as http:
        seen, waiting = set(), ["/"]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            answer = http.get(path)
            assert answer.status_code == 200, path
            if "html" in answer.headers["content-type"]:  # the API page may show data: images as well
                policy = answer.headers["content-security-policy"]
                assert policy.replace(" data:", "" if path.endswith("docs") else "?") == POLICY
            if "html" not in answer.headers["content-type"]:
                continue
            for found in PageContent(answer.text).addresses:
                assert not found.startswith(("/", "http", "//"))
                if not found.startswith("data:"):
                    full = str(httpx.URL(str(answer.url)).join(found))
                    assert full.startswith(address + prefix)
                    waiting.append(full.removeprefix(address + prefix))
    assert sum("/client/" in path for path in seen) == len(HOSTILE) + 2
    assert any("?at=" in path for path in seen)


def test_only_changed_panels_are_sent(address):
    """A panel that the page has is not sent again; a server that is behind sends none."""
    with httpx.Client(base_url=address, timeout=30) as http:
        page = http.get("/c/plain/").text
        marks = re.findall(r'data-mark="(\w+)"', page)
        position = int(re.search(r'data-position="(\d+)"', page).group(1))
        assert len(marks) == len(PANELS)
        everything = http.get("/c/plain/panels?since=0&have=").json()
        assert [name for name, _, _ in everything["panels"]] == list(PANELS)
        assert everything["position"] == position
        still = {"numbers", "quota", "arms", "cost", "regret", "share", "head", "behind", "banner"}
        rest = http.get(f"/c/plain/panels?since={position}&have={'.'.join(marks)}").json()
        assert {name for name, _, _ in rest["panels"]} <= still
        assert http.get(f"/c/plain/panels?since={position + 1}&have=").json()["panels"] == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/c/nothing/", 404), ("/c/nothing/panels", 404), ("/c/plain/client/nobody", 404),
        ("/c/plain/?at=x", 404), ("/c/plain/?at=0", 404), ("/static/../pages.py", 404),
        ("/static/pages.py", 404), ("/c/plain/?at=3", 200), ("/?page=0", 404), ("/?page=9", 200),
    ],
)  # fmt: skip
def test_missing_pages(address, path, status):
    """A browser gets a page that says so, with the same headers."""
    answer = httpx.get(address + path, timeout=30, headers={"accept": "text/html"})
    assert answer.status_code == status
    if not path.startswith("/static/.."):
        assert answer.headers["content-security-policy"]


def test_metrics_by_http(address):
    """Every campaign of this server is in the response."""
    answer = httpx.get(f"{address}/metrics", timeout=30)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    for name in ("plain", "hostile"):
        assert f'tutelage_stalled{{campaign="{name}"}} 0.0' in answer.text


def test_a_campaigns_address_without_its_slash(address):
    """It redirects to the page, also under a prefix."""
    answer = httpx.get(f"{address}{PREFIX}/c/plain", timeout=30)
    assert answer.headers["location"] == "plain/"


def test_no_page_has_inline_styles_or_scripts():
    """The content security policy would refuse them."""
    view = list(factories.every_status(5, 5, clients=HOSTILE, arms=HOSTILE).values())
    texts = [render_campaign_page(each, render_panels(each)) for each in view]
    texts += [render_client_page(each, 1) for each in view]
    unservable = [UnservableRefusal(name, HOSTILE[1]).campaign for name in ("one", "two")]
    texts.append(render_index_page([*view, *unservable], visitor=Visitor("boss", "admin", has_session=True)))
    texts.append(render_unservable_page(unservable[0], "../../"))
    texts.append(render_login_page("", HOSTILE[1], HOSTILE[0], reload=True))
    for text in texts:
        page = PageContent(text)
        assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
        assert page.tags.count("script") <= 1
        assert "img" not in page.tags
        assert "style" not in page.tags


@pytest.mark.parametrize("size", [(1, 1), (5, 5), (15, 16), (200, 50), (3, 300)])
def test_every_status_has_a_page_of_every_size(size):
    """The most severe item is the title and the banner, the others are below it; large tables stay small."""
    for view in factories.every_status(*size).values():
        rendered = render_panels(view)
        status = status_of(view)
        page = PageContent(render_campaign_page(view, rendered))
        assert status[0].title in page.text
        assert ("evidence against each" in page.text) == (view.metrics.teacher == "blt")
        assert rendered.tab.title.startswith(status[0].kind)
        assert all(item.details in html.unescape(rendered.panels["banner"]) for item in status)
        assert rendered.panels["quota"].count("<td") <= 620 + size[1]


def test_the_announcement_has_no_running_times():
    """The text for screen readers does not change while only seconds pass."""
    first = factories.silence_client(factories.learning_view(), 0, seconds=346.0)
    later = factories.silence_client(factories.learning_view(), 0, seconds=349.0)
    assert render_panels(first).tab == render_panels(later).tab
    assert render_panels(first).panels["banner"] != render_panels(later).panels["banner"]


def test_evidence_is_shown_in_place_of_intervals():
    """BLT's log W against each arm, as a share of its threshold, in the chart and in the table."""
    view = factories.make_betting(factories.learning_view(active=(0, 2)))
    page = render_panels(view).panels["arms"]
    assert page.count('class="interval active"') == 2 * 2  # wide and narrow
    assert 'class="bound"' in page
    cells = re.findall(r'<td class="right">(\d+ %)</td>', page)
    assert sorted(cells) == sorted(f"{int(100 * share + 1e-9)} %" for share in view.metrics.arm_evidence)
    decision = factories.make_decided(view, 0)
    assert "the evidence against every other arm has reached" in status_of(decision)[0].details


def luminance(colour):
    """Relative luminance of ``#rgb`` or ``#rrggbb`` by WCAG."""
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_is_legible(scheme):
    """Every text colour has a contrast of at least 4.5 to its background."""
    sheet = resources.files("tutelage.service.dashboard").joinpath("static", "style.css").read_text("utf-8")
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)[scheme]))
    pairs = [(f"arm{arm}", "card") for arm in range(7)]
    pairs += [(f"h-{'dark' if level < 4 else 'light'}-ink", f"h{level}") for level in range(8)]
    pairs += [(kind, f"{kind}-back") for kind in ("red", "amber", "green", "info")]
    pairs += [("ink", back) for back in ("page", "card", "grey-back")]
    pairs += [("quiet", "page"), ("quiet", "card"), ("red", "card"), ("green", "card"), ("info", "page")]
    for text, back in pairs:
        dark, light = sorted((luminance(colours[text]), luminance(colours[back])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, back)


def test_the_panels_of_an_undecidable_campaign():
    """They are those of a campaign that leads to one arm, and none of them calls it the target."""
    panels = render_panels(factories.make_undecidable(factories.learning_view())).panels
    assert "no pulls are required" in panels["numbers"]
    assert "of directive" not in panels["numbers"]
    assert "Clients that stray" in panels["behind"]
    assert panels["behind"].count("<td>arm 00</td>") == 0  # pulls of the taught arm are not astray
    assert panels["arms"].count("provisional") == 1
    assert "target" not in panels["arms"]


def test_the_taught_arm_is_in_the_table():
    """It is first if not all arms fit, even if it has been pulled least so far."""
    view = factories.make_undecidable(factories.learning_view(3, 300))
    pulls = view.metrics.pulls.copy()
    pulls[:, 0] = 0
    panel = render_panels(factories.with_metrics(view, pulls=pulls)).panels["quota"]
    assert re.findall(r'<th scope="col" title="([^"]*)"', panel)[0] == "arm 00"


def test_beyond_the_horizon():
    """Later pulls are counted separately: no round is above the horizon, and no consultation is announced."""
    good = factories.learning_view()
    view = factories.with_metrics(good, horizon=int(good.metrics.rounds.min()) - 5)
    rendered, horizon = render_panels(view), f"{view.metrics.horizon:,}"
    assert f"<b>{horizon}</b><span>of {horizon} rounds" in rendered.panels["numbers"]
    assert f"{horizon} of {horizon}" in render_index_page([view])
    assert f"{horizon} of {horizon} rounds" in render_client_page(view, 1)
    assert "consulted again" not in rendered.panels["behind"]
    assert "consulted again" in render_panels(good).panels["behind"]


def test_long_names_with_a_common_beginning_differ():
    """All thirty arms have different heads, rows and labels."""
    arms = tuple(f"recommendation-widget-homepage-variant-{arm:02}" for arm in range(30))
    panels = render_panels(factories.learning_view(4, 30, arms=arms)).panels
    heads = re.findall(r"<div>\s*<span[^>]*>([^<]*)</span>", panels["quota"])
    assert len(set(heads)) == len(heads) == 30
    labels = re.findall(r'class="name active"[^>]*><title>[^<]*</title>([^<]*)<', panels["arms"])
    assert len(set(labels)) == 24 * 2  # wide and narrow
    assert len(set(re.findall(r'class="end [^"]*"[^>]*><title>[^<]*</title>([^<]*)<', panels["share"]))) == 7 * 2


def test_bypassed_pulls_are_counted():
    """Next to those that were sent again."""
    view = factories.with_metrics(factories.learning_view(), bypassed=1_234)
    numbers = render_panels(view).panels["numbers"]
    assert "<b>164</b><span>replayed, 1,234 bypassed pulls</span>" in numbers


def test_the_percentages_of_a_client_add_up():
    """After a decision each row of the table sums to 100."""
    panel = render_panels(factories.make_decided(factories.learning_view(6, 7), 0)).panels["quota"]
    for row in re.findall(r"<tr><th scope=\"row\".*?</tr>", panel, re.DOTALL):
        cells = [int(words) for words in re.findall(r">(\d+)</td>", row)]
        assert len(cells) == 7
        assert sum(cells) == 100


@pytest.mark.parametrize(
    ("arms", "head"), [(("x", "y"), "least"), (("red", "dark red"), "low"), (None, "low"), (("a long name", "y"), "")]
)
def test_a_head_is_as_high_as_its_names(arms, head):
    """Short names leave no blank space above the table."""
    panel = render_panels(factories.learning_view(2, 2, arms=arms)).panels["quota"]
    assert f'<table class="grid {head}">' in panel


def test_panels_without_content():
    """No client strays without pulls, and no commit time is shown without commits."""
    done = factories.make_decided(factories.learning_view(), 0)
    only = np.zeros_like(done.activity.minute_pulls)
    only[:, 0] = 7
    assert "None in the last 1 min" in render_panels(factories.with_activity(done, taught_pulls=only)).panels["behind"]
    quiet = render_panels(factories.with_activity(done, taught_pulls=only * 0)).panels
    assert "No pulls in the last 1 min" in quiet["behind"]
    assert "<b>decided</b><span>by consultation 3; no more pulls are required</span>" in quiet["numbers"]
    idle = render_panels(replace(done, server=replace(done.server, commit_seconds=None))).panels["numbers"]
    assert "no recent commits" in idle


def test_a_clients_page_shows_the_item_of_its_tab():
    """Also if that item names another client."""
    view = factories.every_status()["horizon too short"]
    status = status_of(view)
    other = next(client for client in range(5) if client != status[0].client)
    page = PageContent(render_client_page(view, other)).text
    assert status[0].kind == "horizon too short"
    assert status[0].title in page.split("rounds")[0]


def test_text_between_backticks_is_code():
    """Everything else in a sentence is plain text."""
    assert mark_code("make one with `tutelage key create`.") == ("make one with <code>tutelage key create</code>.")
    assert mark_code("a ` b <i>") == "a ` b &lt;i&gt;"
    assert mark_code("`<i>` b") == "<code>&lt;i&gt;</code> b"


def test_the_command_line_shows_the_same_items(address, capsys):
    """``campaign show`` has the texts of the page, and the command on a line of its own."""
    items = httpx.get(f"{address}/v1/campaigns/plain/status", timeout=30).json()["items"]
    page = PageContent(httpx.get(f"{address}/c/plain/", timeout=30).text).text
    assert execute(["campaign", "show", "plain", "--server", address, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["items"]
    for each in (items, printed):
        assert [item["kind"] for item in each] == ["learning"]
        assert each[0]["message"].startswith("Learning.")
    assert "Learning." in page
    httpx.post(f"{address}/v1/campaigns/plain/exclude", json={"client": "b"}, timeout=30)
    assert execute(["campaign", "list", "--server", address]) == 0
    assert "plain: running, learning, " in capsys.readouterr().out
    httpx.post(f"{address}/v1/campaigns/plain/stop", timeout=30)
    assert execute(["campaign", "show", "plain", "--server", address]) == 0
    printed = capsys.readouterr().out
    assert "stopped   Stopped. New pulls are refused." in printed
    assert " by 2 clients (1 excluded)" in printed
    assert printed.splitlines()[-1].strip() == f"tutelage campaign start --server {address} plain"


def test_arms_in_the_quota_are_told_from_active_ones():
    """Next to "24 of 24 active arms" the page says that the quota has 19 of them, which is what clients' rows count."""
    view = factories.learning_view(3, 24)
    quota = np.where(np.arange(24) < 19, view.metrics.quota, 0)
    panels = render_panels(factories.with_metrics(view, quota=quota)).panels
    assert "24 of 24active arms, 19 in the quota" in PageContent(panels["numbers"]).text
    behind = PageContent(panels["behind"]).text
    assert "Arms in the quota" in behind
    assert "19 of 19" in behind
