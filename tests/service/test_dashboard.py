"""The pages: their addresses by HTTP, and what Chromium makes of them, by roles and text."""

import asyncio
import contextlib
import html
import re
import shutil
import subprocess
import threading
import time
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.service import made_up

from tutelage.service.bridge import Bridge, Readers
from tutelage.service.dashboard import Watcher, dashboard_routes
from tutelage.service.dashboard.pages import PANELS, campaign_page, client_page, index_page, render
from tutelage.service.dashboard.routes import HEADERS
from tutelage.service.engine import Create, Pulls
from tutelage.service.messages import SentPull
from tutelage.service.settings import Settings
from tutelage.service.states import states_of
from tutelage.stores import open_store

HOSTILE = (
    "<img src=x onerror=document.title='owned'>",
    "</script><script>document.title='owned'</script>",
    "a/b?c#d&e=\"f'",
    "..",
    "{{ 7 * 7 }}",
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="install Chromium to see the pages in it")


class Page(HTMLParser):
    """What a page is made of."""

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


async def serve(store, started):
    """Campaigns with hostile and with plain names, at ``/`` and under a prefix."""
    bridge, readers = Bridge(store), Readers(store)
    bridge.start()
    watcher = Watcher(bridge, readers, name="tut-1")
    for name, clients, arms in (("hostile", HOSTILE, HOSTILE), ("plain", ("a", "b"), ("x", "y"))):
        settings = Settings(name=name, arms=arms, horizon=2000, teacher="twl", clients=clients)
        await bridge.ask(Create(name, settings=settings, start=True))
        pulls = [
            SentPull(f"{number}-{client}", client, arms[number % len(arms)], 0.5)
            for number in range(20)
            for client in clients
        ]
        await bridge.ask(Pulls(name, pulls=pulls))
    routes = dashboard_routes(watcher)
    app = Starlette(routes=[Mount("/behind/a/proxy", routes=routes), *routes])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    watching = asyncio.create_task(watcher.run())
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    started(server, server.servers[0].sockets[0].getsockname()[1])
    await serving
    watching.cancel()
    await bridge.stop()
    watcher.close()
    readers.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where a server listens."""
    store = open_store(f"sqlite:///{tmp_path_factory.mktemp('pages') / 'pages.db'}")
    found, ready = [], threading.Event()

    def started(server, port):
        found.extend((server, port))
        ready.set()

    thread = threading.Thread(target=lambda: asyncio.run(serve(store, started)))
    thread.start()
    assert ready.wait(30)
    yield f"http://127.0.0.1:{found[1]}"
    found[0].should_exit = True
    thread.join()
    store.close()


def run_chromium(address, milliseconds, *options):
    """Show a page for a while of virtual time."""
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
        "--window-size=1400,1500", f"--virtual-time-budget={milliseconds}", *options, address,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603


def chromium(address, *options, milliseconds=3000):
    """The page as it stands then, and what its console said."""
    done = run_chromium(address, milliseconds, "--dump-dom", *options)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("prefix", ["", "/behind/a/proxy"])
def test_every_link_of_every_page_leads_somewhere(address, prefix):
    """All addresses are relative and work under a prefix, those of clients with odd names too."""
    with httpx.Client(base_url=address + prefix, timeout=30) as http:
        seen, waiting = set(), ["/"]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            answer = http.get(path)
            assert answer.status_code == 200, path
            assert answer.headers["content-security-policy"].startswith(
                "default-src 'none'; script-src 'self';"
            )
            if "html" not in answer.headers["content-type"]:
                continue
            for found in Page(answer.text).addresses:
                assert not found.startswith(("/", "http", "//"))
                if not found.startswith("data:"):
                    full = str(httpx.URL(str(answer.url)).join(found))
                    assert full.startswith(address + prefix)
                    waiting.append(full.removeprefix(address + prefix))
    assert sum("/client/" in path for path in seen) == len(HOSTILE) + 2
    assert any("?at=" in path for path in seen)


def test_panels_are_those_that_changed(address):
    """Whoever has a panel is not sent it again; a server that is behind sends none."""
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
        ("/static/pages.py", 404), ("/c/plain/?at=3", 200),
    ],
)  # fmt: skip
def test_what_is_not_there(address, path, status):
    """A page says so, with the same headers."""
    answer = httpx.get(address + path, timeout=30)
    assert answer.status_code == status
    if not path.startswith("/static/.."):
        assert answer.headers["content-security-policy"]


def test_metrics_by_http(address):
    """Every campaign of this server is in the text."""
    answer = httpx.get(f"{address}/metrics", timeout=30)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    for name in ("plain", "hostile"):
        assert f'tutelage_stalled{{campaign="{name}"}} 0.0' in answer.text


def test_a_campaigns_address_without_its_slash(address):
    """It leads to the page, under a prefix too."""
    answer = httpx.get(f"{address}/behind/a/proxy/c/plain", timeout=30)
    assert answer.headers["location"] == "plain/"


def test_nothing_in_a_page_is_style_or_script_of_its_own():
    """No page of any state has what the content policy would refuse."""
    figures = list(made_up.every_state(5, 5, clients=HOSTILE, arms=HOSTILE).values())
    texts = [campaign_page(each, render(each)) for each in figures]
    texts += [client_page(each, 1) for each in figures]
    texts.append(index_page([(each, states_of(each)) for each in figures]))
    for text in texts:
        page = Page(text)
        assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
        assert page.tags.count("script") <= 1
        assert "img" not in page.tags
        assert "style" not in page.tags


@pytest.mark.parametrize("size", [(1, 1), (5, 5), (15, 16), (200, 50), (3, 300)])
def test_every_state_has_a_page_of_every_size(size):
    """The worst state stands in the title and as the banner, the others below it; large tables stay small."""
    for figures in made_up.every_state(*size).values():
        rendered = render(figures)
        states = states_of(figures)
        page = Page(campaign_page(figures, rendered))
        assert states[0].headline in page.text
        assert rendered.tab.title.startswith(states[0].kind)
        assert all(state.sentence in html.unescape(rendered.panels["banner"]) for state in states)
        assert rendered.panels["quota"].count("<td") <= 620 + size[1]


def test_the_script_says_who_is_meant_without_running_times():
    """What a screen reader is told does not change while only seconds pass."""
    first = made_up.silenced(made_up.learning(), 0, seconds=346.0)
    later = made_up.silenced(made_up.learning(), 0, seconds=349.0)
    assert render(first).tab == render(later).tab
    assert render(first).panels["banner"] != render(later).panels["banner"]


@needs_chromium
@pytest.mark.parametrize("options", [(), ("--blink-settings=preferredColorScheme=0",)])
def test_hostile_names_in_chromium(address, options):
    """Names are shown as they are, nothing of them runs, and the console stays empty."""
    dom, console = chromium(f"{address}/behind/a/proxy/c/hostile/", *options)
    assert console == []
    page = Page(dom)
    assert "<title>learning · hostile</title>" in dom
    assert "Pulls against the quota" in page.text
    assert 'role="status"' in dom
    for name in HOSTILE:
        assert html.escape(name, quote=False)[:14] in dom
    assert '<p id="cut" class="banner amber" role="alert" hidden' in dom


class Dying(BaseHTTPRequestHandler):
    """Serves a page and its files, then gives no answer."""

    def do_GET(self):
        figures = made_up.learning()
        self.server.asked.append(self.path)
        name = self.path.rsplit("/", 1)[-1]
        if name.startswith("panels"):
            self.connection.close()
            return
        if self.path == "/frame":
            body = FRAME
        elif name in {"style.css", "page.js"}:
            body = resources.files("tutelage.service.dashboard").joinpath("static", name).read_text()
        else:
            body = campaign_page(figures, render(figures))
        kind = {"style.css": "text/css", "page.js": "text/javascript"}.get(name, "text/html")
        self.send_response(200)
        self.send_header("content-type", kind + "; charset=utf-8")
        if self.path == "/c/strict/":
            self.send_header("content-security-policy", HEADERS["Content-Security-Policy"])
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments):
        pass


FRAME = """<!doctype html><title>-</title><iframe id=f width=390 height=3000 src="/c/phone/"></iframe><script>
f.onload = () => setTimeout(() => {
  const page = f.contentDocument, root = page.documentElement;
  const shown = [...page.querySelectorAll(".grid thead th")].filter((cell) => cell.offsetWidth > 0).length;
  document.title = `${root.scrollWidth} wide, ${shown} arms`;
}, 300);
</script>"""


@contextlib.contextmanager
def dying():
    """Where such a server listens, and what it has been asked for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Dying)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", server.asked
    server.shutdown()
    thread.join()
    server.server_close()


@needs_chromium
def test_a_page_that_gets_no_answer_says_so():
    """Five seconds after the server has gone there is a banner with the age of the figures, and the title."""
    with dying() as (address, _):
        dom, _ = chromium(f"{address}/c/strict/", milliseconds=12_000)
    assert re.search(r'<p id="cut" class="banner amber" role="alert"><b>Page cut off.</b>', dom)
    assert re.search(r"these figures are <span>\d+ s</span> old", dom)
    assert "<title>cut off · learning · spring-offers</title>" in dom


@needs_chromium
def test_without_javascript_the_page_reloads_itself(tmp_path):
    """The browser comes again after five seconds, and all panels are in what it gets."""
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--blink-settings=scriptEnabled=false",
        "--remote-debugging-port=0", f"--user-data-dir={tmp_path}",
    ]  # fmt: skip
    with dying() as (address, asked):
        browser = subprocess.Popen([*command, f"{address}/c/strict/"], stderr=subprocess.DEVNULL)  # noqa: S603
        try:
            for _ in range(300):
                if asked.count("/c/strict/") == 2:
                    break
                time.sleep(0.1)
        finally:
            browser.terminate()
            browser.wait()
    assert asked.count("/c/strict/") == 2
    assert not [path for path in asked if "panels" in path]
    page = Page(campaign_page(made_up.learning(), render(made_up.learning())))
    for words in ("Pulls against the quota", "Who is behind", "Share of pulls", "What happened"):
        assert words in page.text


@needs_chromium
def test_on_a_phone_nothing_is_wider_than_the_screen():
    """At 390 pixels only tables scroll."""
    with dying() as (address, _):
        dom, _ = chromium(f"{address}/frame", milliseconds=1500)
    width, arms = map(int, re.search(r"<title>(\d+) wide, (\d+) arms", dom).groups())
    assert width <= 390
    assert arms == len(made_up.learning().taken.active_arms)
