"""The pages in Chromium: by roles and text, under the strictest content policy, with an empty console."""

import contextlib
import re
import shutil
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.service.listening_server import PREFIX, ListeningServer

from tutelage.service.api.security_headers import POLICY
from tutelage.text import format_name

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("install Chromium to see the pages in it", allow_module_level=True)

from playwright.sync_api import Error as PlaywrightError  # noqa: E402
from playwright.sync_api import expect, sync_playwright  # noqa: E402 - only where there is a browser

expect.set_options(timeout=60_000)

# pytest hides the frames of such modules: a failure is reported at the line of the test.
for name in [name for name in sys.modules if name.partition(".")[0] == "playwright"]:
    sys.modules[name].__dict__["__tracebackhide__"] = True

HOSTILE = [
    "<img src=x onerror=document.title='owned'>",
    "</script><script>document.title='owned'</script>",
    "a/b?c#d&e=\"f'",
    "..",
    "{{ 7 * 7 }}",
    "\u202eright\u2066 to left",
    "תל אביב",
    "x" * 128,
    "it's; rm -rf ~",
]
PHONE = {"width": 390, "height": 800}
_CONTENT_HEIGHT = "(one) => one.lastElementChild.getBoundingClientRect().bottom - one.getBoundingClientRect().top"
PAGES = ["", "c/hostile/", "c/plain/", "c/plain/client/a", "docs", "login", "c/nothing/", "c/plain/?at=3"]


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A server without keys, with a campaign of hostile names and a plain one."""
    server = ListeningServer(tmp_path_factory.mktemp("pages") / "pages.db")
    server.play("hostile", HOSTILE, HOSTILE)
    server.play("plain", ["a", "b"], ["x", "y"])
    yield server
    server.close()


class RecordedPage:
    """A page, with the errors and requests on it."""

    def __init__(self, page):
        self.page, self.errors, self.requests = page, [], []
        page.on("console", lambda message: self.errors.append(message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("requestfailed", self.failed)
        page.on("request", lambda request: self.requests.append(request.url))

    def failed(self, request):
        if request.failure != "net::ERR_ABORTED":  # the page was left before the response
            self.errors.append(request.url)


@pytest.fixture
def see(browser):
    """``see(**options)`` opens a new window."""
    with contextlib.ExitStack() as stack:

        def opened(**options):
            window = browser.new_context(**options)
            stack.callback(window.close)
            window.set_default_timeout(60_000)
            return RecordedPage(window.new_page())

        yield opened


@pytest.mark.parametrize("way", ["plain", "whole", "cut"])
def test_every_page_is_complete_under_the_policy(site, see, way):
    """Nothing is refused or missing, and nothing is requested from another site, under any prefix."""
    address = getattr(site, way)
    seen = see()
    for path in PAGES:
        answer = seen.page.goto(f"{address}/{path}")
        policy = answer.headers["content-security-policy"]
        assert policy.replace(" data:", "" if path == "docs" else "?") == POLICY
        if answer.status == 404:
            assert path == "c/nothing/"
            seen.errors.clear()  # the browser logs the status
        role = {"role": "link", "name": "/metrics"} if path == "docs" else {"role": "heading", "level": 1}
        expect(seen.page.get_by_role(**role)).to_be_visible()
    with seen.page.expect_response(lambda answer: "/panels" in answer.url) as fetched:
        seen.page.goto(f"{address}/c/plain/")
    assert fetched.value.status == 200
    assert seen.errors == []
    assert {url for url in seen.requests if not url.startswith((f"{address}/", "data:"))} == set()


def test_the_page_by_roles_and_text(site, see):
    """An operator finds headings, tables and links; a screen reader the announcement."""
    page = see().page
    page.goto(f"{site.whole}/")
    page.get_by_role("link", name="plain").click()
    expect(page).to_have_title("learning · plain")
    assert page.url == f"{site.whole}/c/plain/"
    for heading in ("Pulls against the quota", "Clients that are behind", "Arms", "Share of pulls", "Events"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page.get_by_role("status")).to_have_text("learning: Learning.")
    grid = page.get_by_role("table", name="Percentage of the quota")
    expect(grid.get_by_role("columnheader", name="x")).to_be_visible()
    expect(grid.get_by_role("row", name=re.compile("^a "))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Estimates of 2 arms"))).to_be_visible()
    assert page.get_by_role("alert").count() == 0
    grid.get_by_role("link", name="a", exact=True).click()
    expect(page.get_by_role("heading", name="a", exact=True)).to_be_visible()
    page.get_by_role("link", name="API").click()
    expect(page.get_by_text("/v1/campaigns/{name}/pulls").first).to_be_visible()


@pytest.mark.parametrize("way", ["plain", "whole", "cut"])
def test_a_call_can_be_tried(site, see, way):
    """The API page sends a request to this server, under any prefix, and shows the answer."""
    seen = see()
    seen.page.goto(f"{getattr(site, way)}/docs")
    block = seen.page.locator("#operations-campaigns-show_campaign")
    block.get_by_role("button").first.click()
    block.get_by_role("button", name="Try it out").click()
    block.get_by_role("textbox").fill("plain")
    block.get_by_role("button", name="Execute").click()
    answer = block.locator(".live-responses-table")
    expect(answer).to_contain_text("200")
    expect(answer).to_contain_text('"num_pulls"')
    assert seen.errors == []


def test_a_call_is_tried_with_the_key_of_the_session(locked, see):
    """After signing in the page's requests carry the key; Authorize takes another one."""
    page = see().page
    page.goto(f"{locked.whole}/docs")
    page.get_by_label("key").fill(locked.secret)
    page.get_by_role("button", name="Sign in").click()
    block = page.locator("#operations-campaigns-list_campaigns")
    block.get_by_role("button").first.click()
    block.get_by_role("button", name="Try it out").click()
    block.get_by_role("button", name="Execute").click()
    expect(block.locator(".live-responses-table")).to_contain_text('"campaigns"')
    expect(page.get_by_role("button", name="Authorize").first).to_be_visible()


@pytest.mark.parametrize(("viewport", "scheme"), [(PHONE, "light"), ({"width": 1400, "height": 900}, "dark")])
def test_hostile_names_are_shown_as_text(site, see, viewport, scheme):
    """Nothing in them runs, and no page becomes wider than the window."""
    seen = see(viewport=viewport, color_scheme=scheme)
    seen.page.goto(f"{site.cut}/c/hostile/")
    expect(seen.page).to_have_title("learning · hostile")
    seen.page.get_by_text("As a table").click()
    cells = seen.page.locator("#arms td:first-child").all_text_contents()
    assert sorted(cells) == sorted(map(format_name, HOSTILE))
    assert seen.page.content().count("\u202e") == 0  # "not in" would print the whole page on failure
    for client in range(len(HOSTILE)):
        link = seen.page.locator(".grid tbody th a").nth(client)
        name = link.get_attribute("title")
        link.click()
        expect(seen.page.get_by_role("heading", level=1)).to_have_text(name)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        seen.page.go_back()
    assert seen.errors == []


def test_on_a_phone_only_tables_scroll(site, see):
    """Every page is as wide as the screen."""
    seen = see(viewport=PHONE, has_touch=True)
    for path in PAGES:
        seen.page.goto(f"{site.whole}/{path}")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path


def test_on_a_phone_no_word_is_broken(site, see):
    """Tables that do not fit scroll: their cells keep a line, or a few words, together."""
    site.play("wide", ["the client of a long name", "b"], [f"arm {number:02}" for number in range(12)])
    page = see(viewport=PHONE, has_touch=True).page
    page.goto(f"{site.whole}/")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="wide"))
    assert row.bounding_box()["height"] <= 80
    page.goto(f"{site.whole}/c/wide/")
    for row in page.locator(".grid tbody tr").all():
        assert row.bounding_box()["height"] <= 30
    assert min(cell.bounding_box()["width"] for cell in page.locator(".grid tbody td").all()) >= 24
    scrolled = page.locator("#quota .scroll")
    before = page.locator(".grid tbody th").first.bounding_box()["x"]
    scrolled.evaluate("(element) => { element.scrollLeft = 60; }")
    assert scrolled.evaluate("(element) => element.scrollLeft") == 60
    assert page.locator(".grid tbody th").first.bounding_box()["x"] >= before - 1  # names stay visible
    old = page.locator("#quota").get_attribute("data-mark")
    pull = {"id": "new", "client": "b", "arm": "arm 01", "reward": 0.5}
    page.context.request.post(f"{site.plain}/v1/campaigns/wide/pulls", data={"pulls": [pull]})
    expect(page.locator("#quota")).not_to_have_attribute("data-mark", old)
    assert scrolled.evaluate("(element) => element.scrollLeft") == 60  # in the new panel
    site.play("named", ["the client of a long name", "b"], ["x", "y"])
    page.goto(f"{site.whole}/c/named/")
    assert page.locator("#behind tbody tr").first.bounding_box()["height"] <= 120


def test_on_a_phone_long_names_differ(site, see):
    """Arms with a common beginning have different labels, which lie within the chart; no word is broken."""
    arms = [f"recommendation-widget-homepage-variant-{number:02}" for number in range(30)]
    site.play("family", ["production-eu-west-client-1", "production-eu-west-client-2"], arms, rounds=60)
    page = see(viewport=PHONE, has_touch=True).page
    page.goto(f"{site.whole}/c/family/")
    ends = page.locator("#share .narrow .end")
    assert len(set(ends.all_text_contents())) == ends.count() == 7
    for text in ends.all():
        assert text.evaluate("(one) => one.getBBox().x + one.getBBox().width") <= 360
    names = page.locator(".grid tbody th a .narrow")
    assert len(set(names.all_text_contents())) == names.count() == 2
    for name in names.all():
        assert name.evaluate("(one) => one.closest('th').scrollWidth - one.closest('th').clientWidth") <= 0
    for cell in page.locator("#behind td.named").all():
        assert cell.bounding_box()["height"] <= 50  # two lines


def test_host_names_differ_and_are_copied_whole(site, see):
    """Names that are alike at both ends have different labels within their cards; a tooltip and a copy hold them."""
    hosts, arms = (
        [f"eu-west-1.{kind}-{number:03}.prod.example.com" for number in range(6)]
        for kind in ("shop-frontend", "WWWWWWWWWW-variant")
    )
    site.play("hosts", hosts, arms, rounds=60)
    for viewport in (PHONE, {"width": 1280, "height": 900}):
        page = see(viewport=viewport, permissions=["clipboard-read", "clipboard-write"]).page
        page.goto(f"{site.whole}/c/hosts/")
        for names, places in (
            (hosts, ["#quota tbody th [data-name]:visible", "#behind td:first-child [data-name]"]),
            (arms, ["#quota thead [data-name]:visible", "#arms text.name:visible", "#share text.end:visible"]),
        ):
            for place in places:
                labels = page.locator(place)
                assert labels.evaluate_all("(all) => all.map((each) => each.dataset.name)") == names, place
                texts = labels.evaluate_all("(all) => all.map((each) => each.lastChild.textContent)")
                assert len(set(texts)) == len(names), place
                # An element that an update of the page has replaced meanwhile has no card any more.
                cut = """(all) => all.filter((each) => each.isConnected).filter((each) => {
                  const box = each.getBoundingClientRect(), card = each.closest("section").getBoundingClientRect();
                  return box.left < card.left || box.right > card.right;
                }).length"""
                assert viewport == PHONE or not labels.evaluate_all(cut), place
        if viewport != PHONE:  # the columns of cards are about equally high
            left, right = (page.locator(f".column.{side}").evaluate(_CONTENT_HEIGHT) for side in ("left", "right"))
            assert 0.75 < left / right < 1.33
        page.get_by_text("As a table").click()
        scrolled = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).length"
        assert page.locator(".scroll").evaluate_all(scrolled) == 0  # no column of a table is cut off
        expect(page.locator("#arms text.name title").first).to_have_text(arms[0])
        for place, copied in (
            (page.locator("#arms text.name:visible").last, arms[-1]),
            (page.locator("#behind"), hosts[0]),
        ):
            place.select_text()
            page.keyboard.press("Control+C")
            assert copied in page.evaluate("navigator.clipboard.readText()")


def luminance(colour):
    """Relative luminance of ``rgb(r, g, b)`` by WCAG."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_are_legible(site, see, scheme):
    """Text has a contrast of at least 4.5 to its background."""
    page = see(color_scheme=scheme).page
    page.goto(f"{site.plain}/c/plain/")
    for place in ("h1", ".pill", ".banner", "#numbers li span", ".quiet", "#quota .legend", "header nav a"):
        text, back = page.evaluate(  # in one go: the page replaces panels meanwhile
            """(place) => {
              const element = document.querySelector(place);
              const back = (each) => getComputedStyle(each).backgroundColor;
              let behind = element;
              while (back(behind) === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
              return [getComputedStyle(element).color, back(behind)];
            }""",
            place,
        )
        assert (luminance(back) < 0.1) == (scheme == "dark")
        light, dark = sorted((luminance(text), luminance(back)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, place


def test_without_javascript(site, see):
    """The page is complete, and reloads itself."""
    seen = see(java_script_enabled=False)
    seen.page.goto(f"{site.whole}/c/plain/")
    expect(seen.page.get_by_role("heading", name="Clients that are behind")).to_be_visible()
    with seen.page.expect_navigation():
        pass
    expect(seen.page.get_by_role("heading", name="Pulls against the quota")).to_be_visible()
    assert not [url for url in seen.requests if "panels" in url or url.endswith(".js")]
    assert seen.errors == []


def test_changes_appear_without_reloading(site, see):
    """A panel with selected text is not replaced until the selection ends."""
    site.play("fresh", ["a", "b"], ["x", "y"], rounds=2)
    page = see().page
    page.goto(f"{site.plain}/c/fresh/")
    events = page.locator("#events")
    page.get_by_role("heading", name="Events").select_text()
    page.context.request.post(f"{site.plain}/v1/campaigns/fresh/stop")
    expect(page.get_by_text("New pulls are refused.")).to_be_visible()
    expect(page).to_have_title("stopped · fresh")
    expect(events.get_by_text("Stopped")).to_have_count(0)
    page.evaluate("getSelection().removeAllRanges()")
    expect(events.get_by_text("Stopped")).to_be_visible()


def test_a_chart_tells_its_values_at_the_pointer(site, see):
    """The time and the value of each line, also after the panel was replaced; nothing once the pointer is away."""
    site.play("pointed", ["a", "b"], ["x", "y"])
    seen = see(viewport={"width": 1280, "height": 900})
    page = seen.page
    page.goto(f"{site.plain}/c/pointed/")
    tooltip, panel = page.locator("#tooltip"), page.locator("#share")
    expect(tooltip).to_be_hidden()
    panel.locator("svg:visible").hover()
    expect(tooltip).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC[xy]: 50\.0 %[xy]: 50\.0 %$"))
    old = panel.get_attribute("data-mark")
    pull = {"id": "new", "client": "b", "arm": "x", "reward": 0.5}
    page.context.request.post(f"{site.plain}/v1/campaigns/pointed/pulls", data={"pulls": [pull]})
    expect(panel).not_to_have_attribute("data-mark", old)
    expect(tooltip).to_be_visible()
    page.mouse.wheel(0, 4)
    page.wait_for_function("scrollY > 0")
    expect(tooltip).to_be_visible()
    assert page.locator("#share circle.at-pointer").count() == 2
    page.get_by_role("heading", level=1).hover()
    expect(tooltip).to_be_hidden()
    assert page.locator(".at-pointer").count() == 0
    page.locator("#cost svg:visible").hover()
    expect(tooltip).to_have_text(re.compile(r" UTCCost so far: [\d.]+$"))
    assert seen.errors == []


def test_charts_of_a_time_range(site, see):
    """A link for each; the chosen one stays while panels are replaced."""
    page = see().page
    page.goto(f"{site.whole}/c/plain/")
    page.get_by_role("link", name="1 h", exact=True).click()
    with page.expect_response(lambda answer: "/panels" in answer.url) as fetched:
        assert page.url == f"{site.whole}/c/plain/?range=1h"
    assert fetched.value.url.endswith("&range=1h")
    assert fetched.value.status == 200
    expect(page.locator("[aria-current]")).to_have_text("1 h")
    assert page.goto(f"{site.whole}/c/plain/?range=2h").status == 404


def test_the_javascript_of_the_documentation(see, tmp_path):
    """It runs on a page of another site that the server allows, with a reporter's key; elsewhere it is refused."""
    text = (Path(__file__).parents[3] / "docs" / "server.md").read_text(encoding="utf-8")
    code = re.search(r"```javascript\n(.*?)```", text, re.DOTALL).group(1)
    with other_site("/") as port:
        server = ListeningServer(tmp_path / "t.db", cors_origins=f"http://localhost:{port}")
        try:
            server.play("shop", ["anna"], ["red", "blue"])
            key = server.key("app", "reporter", campaign="shop")
            code = code.replace("http://127.0.0.1:8321", server.plain)
            run = f"async () => {{ const KEY = '{key}'; {code}; return [reward, await reveal({{}}).catch(String)]; }}"
            page = see().page
            page.goto(f"http://localhost:{port}/")
            reward, refusal = page.evaluate(run)
            assert 0 <= reward <= 1
            assert refusal.startswith("Error: urn:tutelage:problem:invalid: ")
            page.goto(f"http://127.0.0.1:{port}/")  # another origin
            with pytest.raises(PlaywrightError, match="Failed to fetch"):
                page.evaluate(run)
        finally:
            server.close()


def test_a_page_whose_server_stopped_says_so(see, tmp_path):
    """With the age of its data, also in the title; the data stays."""
    server = ListeningServer(tmp_path / "t.db", outdated_seconds=2)
    try:
        server.play("plain", ["a", "b"], ["x", "y"])
        page = see().page
        with page.expect_response(lambda answer: "/panels" in answer.url):
            page.goto(f"{server.whole}/c/plain/")
        server.stop()
        alert = page.get_by_role("alert").filter(has_text="Connection lost.")
        expect(alert).to_be_visible()
        expect(alert).to_contain_text(re.compile(r"this data is \d+ s old"))
        expect(page).to_have_title("outdated · learning · plain")
        expect(page.get_by_role("heading", name="Clients that are behind")).to_be_visible()
    finally:
        server.close()


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A server with keys."""
    server = ListeningServer(tmp_path_factory.mktemp("locked") / "locked.db")
    server.play("plain", ["a", "b"], ["x", "y"])
    server.secret = server.key("eye", "viewer")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tutelage.service.api.login_attempts.MAX_PER_ADDRESS", 100)
        yield server
    server.close()


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("way", ["whole", "cut"])
def test_signing_in_and_out(locked, see, way, script):
    """The form leads to the requested page; scripts and other sites cannot read the cookie."""
    seen = see(java_script_enabled=script)
    page, address = seen.page, getattr(locked, way)
    assert page.goto(f"{address}/c/plain/?at=3").status == 401
    page.get_by_label("key").fill("nonsense")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_have_text(
        "This key is unknown, has expired or has been revoked: use another one."
    )
    page.get_by_label("key").fill(locked.secret)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("The campaign as it was after round 3")).to_be_visible()
    assert page.url == f"{address}/c/plain/?at=3"
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", PREFIX)
    assert cookie["secure"] is False  # over TLS it is: test_login
    page.get_by_role("link", name="Campaigns").click()
    expect(page.get_by_role("link", name="plain")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    assert page.context.cookies() == []
    assert [text for text in seen.errors if "401" not in text] == []


class OtherSite(BaseHTTPRequestHandler):
    """A page of another site, with a link."""

    server: Any

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(f'<title>-</title><a href="{self.server.link}">look</a>'.encode())

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def other_site(link):
    """The port of another site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherSite) as server:
        other: Any = server
        other.link = link
        thread = threading.Thread(target=socketserver.BaseServer.serve_forever, args=(other,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_a_link_in_a_message_leads_to_the_page(locked, see):
    """A browser that comes from another site withholds a strict cookie: it is redirected, not asked again."""
    page = see().page
    page.goto(f"{locked.whole}/login?next=/c/plain/")
    page.get_by_label("key").fill(locked.secret)
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_title("learning · plain")
    with other_site(f"{locked.whole}/c/plain/") as port:
        page.goto(f"http://localhost:{port}/")
        page.get_by_role("link", name="look").click()
        expect(page).to_have_title("learning · plain")
