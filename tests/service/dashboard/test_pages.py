"""The pages: their addresses by HTTP, and what they are made of; test_browser.py shows them."""

import html
import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service import factories
from tests.service.listening_server import PREFIX, Listening

from tutelage.cli.app import execute
from tutelage.service.dashboard.axes import Scale, time_axis
from tutelage.service.dashboard.charts import Curve, colour_of, curve, share_chart, window_of
from tutelage.service.dashboard.pages import (
    PANELS,
    campaign_page,
    client_page,
    index_page,
    login_page,
    marked,
    render,
    unserved_page,
)
from tutelage.service.dashboard.policy import POLICY
from tutelage.service.dashboard.reference import operations_of
from tutelage.service.dashboard.unserved import CannotBeServed
from tutelage.service.monitoring.durations import whole_percents
from tutelage.service.monitoring.status import states_of

HOSTILE = (
    "<img src=x onerror=document.title='owned'>",
    "</script><script>document.title='owned'</script>",
    "a/b?c#d&e=\"f'",
    "..",
    "{{ 7 * 7 }}",
)


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


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Where a server listens, with campaigns of hostile and of plain names."""
    server = Listening(tmp_path_factory.mktemp("pages") / "pages.db")
    server.play("hostile", HOSTILE, HOSTILE)
    server.play("plain", ["a", "b"], ["x", "y"])
    yield server.plain
    server.close()


@pytest.mark.parametrize("prefix", ["", PREFIX])
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
            if "json" not in answer.headers["content-type"]:
                assert answer.headers["content-security-policy"] == POLICY
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
    answer = httpx.get(f"{address}{PREFIX}/c/plain", timeout=30)
    assert answer.headers["location"] == "plain/"


def test_nothing_in_a_page_is_style_or_script_of_its_own():
    """No page of any state has what the content policy would refuse."""
    figures = list(factories.every_state(5, 5, clients=HOSTILE, arms=HOSTILE).values())
    texts = [campaign_page(each, render(each)) for each in figures]
    texts += [client_page(each, 1) for each in figures]
    unserved = [CannotBeServed(name, HOSTILE[1]).unserved for name in ("one", "two")]
    texts.append(index_page([*figures, *unserved], signed_in=True))
    texts.append(unserved_page(unserved[0], "../../"))
    texts.append(login_page("", HOSTILE[1], HOSTILE[0], again=True))
    for text in texts:
        page = Page(text)
        assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
        assert page.tags.count("script") <= 1
        assert "img" not in page.tags
        assert "style" not in page.tags


@pytest.mark.parametrize("size", [(1, 1), (5, 5), (15, 16), (200, 50), (3, 300)])
def test_every_state_has_a_page_of_every_size(size):
    """The worst state stands in the title and as the banner, the others below it; large tables stay small."""
    for figures in factories.every_state(*size).values():
        rendered = render(figures)
        states = states_of(figures)
        page = Page(campaign_page(figures, rendered))
        assert states[0].headline in page.text
        assert ("evidence against each" in page.text) == (figures.taken.teacher == "blt")
        assert rendered.tab.title.startswith(states[0].kind)
        assert all(state.sentence in html.unescape(rendered.panels["banner"]) for state in states)
        assert rendered.panels["quota"].count("<td") <= 620 + size[1]


def test_the_script_says_who_is_meant_without_running_times():
    """What a screen reader is told does not change while only seconds pass."""
    first = factories.silenced(factories.learning(), 0, seconds=346.0)
    later = factories.silenced(factories.learning(), 0, seconds=349.0)
    assert render(first).tab == render(later).tab
    assert render(first).panels["banner"] != render(later).panels["banner"]


def test_evidence_stands_where_intervals_do():
    """BLT's log W against each arm, as a share of what it must reach, in the picture and in its table."""
    figures = factories.betting(factories.learning(active=(0, 2)))
    page = render(figures).panels["arms"]
    assert page.count('class="interval active"') == 2 * 2  # wide and narrow
    assert 'class="bound"' in page
    cells = re.findall(r'<td class="right">(\d+ %)</td>', page)
    assert sorted(cells) == sorted(f"{int(100 * share + 1e-9)} %" for share in figures.taken.evidence)
    settled = factories.decided(figures, 0)
    assert "the evidence against every other arm has reached" in states_of(settled)[0].sentence


def luminance(colour):
    """Of ``#rgb`` or ``#rrggbb``, as WCAG has it."""
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read(scheme):
    """Whatever is written in a colour is at least 4.5 to 1 apart from what it is written on."""
    sheet = resources.files("tutelage.service.dashboard").joinpath("static", "style.css").read_text("utf-8")
    colours = dict(
        re.findall(r"--([\w-]+): (#\w+)", re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)[scheme])
    )
    pairs = [(f"arm{arm}", "card") for arm in range(7)]
    pairs += [(f"h-{'dark' if level < 4 else 'light'}-ink", f"h{level}") for level in range(8)]
    pairs += [(kind, f"{kind}-back") for kind in ("red", "amber", "green", "note")]
    pairs += [("ink", back) for back in ("page", "card", "grey-back")]
    pairs += [("quiet", "page"), ("quiet", "card"), ("red", "card"), ("green", "card"), ("note", "page")]
    for text, back in pairs:
        dark, light = sorted((luminance(colours[text]), luminance(colours[back])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, back)


def test_what_was_given_up_looks_led():
    """The panels are those of a campaign that leads to one arm, and none of them calls it the target."""
    panels = render(factories.given_up(factories.learning())).panels
    assert "no pulls are awaited" in panels["numbers"]
    assert "of directive" not in panels["numbers"]
    assert "Who strays" in panels["behind"]
    assert panels["behind"].count("<td>arm 00</td>") == 0  # where they are led is not astray
    assert panels["arms"].count("led to, unproved") == 1
    assert "target" not in panels["arms"]


def test_the_arm_that_is_led_to_is_in_the_table():
    """First, where there is no room for all arms; it may be one that was pulled least so far."""
    figures = factories.given_up(factories.learning(3, 300))
    pulls = figures.taken.pulls.copy()
    pulls[:, 0] = 0
    panel = render(factories.with_taken(figures, pulls=pulls)).panels["quota"]
    assert re.findall(r'<th scope="col" title="([^"]*)"', panel)[0] == "arm 00"


def test_beyond_the_horizon_rounds_are_full_and_nothing_is_awaited():
    """Pulls go on, and are counted apart: no round stands above the horizon, and no decision is announced."""
    good = factories.learning()
    figures = factories.with_taken(good, horizon=int(good.taken.rounds.min()) - 5)
    rendered, horizon = render(figures), f"{figures.taken.horizon:,}"
    assert f"<b>{horizon}</b><span>of {horizon} rounds" in rendered.panels["numbers"]
    assert f"{horizon} of {horizon}" in index_page([figures])
    assert f"{horizon} of {horizon} rounds" in client_page(figures, 1)
    assert "decides again" not in rendered.panels["behind"]
    assert "decides again" in render(good).panels["behind"]


def test_names_of_one_family_are_told_apart():
    """All thirty arms of a long common beginning have heads, rows and labels of their own."""
    arms = tuple(f"recommendation-widget-homepage-variant-{arm:02}" for arm in range(30))
    panels = render(factories.learning(4, 30, arms=arms)).panels
    heads = re.findall(r"<div><span>([^<]*)</span>", panels["quota"])
    assert len(set(heads)) == len(heads) == 30
    labels = re.findall(r'class="name active">([^<]*)<', panels["arms"])
    assert len(set(labels)) == 24 * 2  # wide and narrow
    assert len(set(re.findall(r'class="end [^"]*">([^<]*)<', panels["share"]))) == 7 * 2


def test_a_colour_is_an_arms_own():
    """Whichever others are in play; arms of one colour have different dashes."""
    assert [colour_of(arm) for arm in (0, 6, 7, 13, 14)] == [
        "arm0", "arm6", "arm0 dash1", "arm6 dash1", "arm0 dash2",
    ]  # fmt: skip
    assert len({colour_of(arm) for arm in range(21)}) == 21
    for active in (range(9), (2, 5, 8), (5, 8)):
        figures = factories.learning(4, 9, active=active)
        chart, _ = share_chart(figures, window_of(figures))
        labels = re.findall(r'class="end ([^"]*)">arm 0(\d)<', chart)
        assert len(labels) == min(len(active), 7)
        assert all(colour_of(int(arm)) == kind for kind, arm in labels)


def test_on_a_phone_only_arms_in_play_have_lines():
    """The words below each chart say what is in it."""
    figures = factories.learning(4, 9, active=(2, 5))
    window = window_of(figures)
    wide, words = share_chart(figures, window)
    narrow, fewer = share_chart(figures, window, is_narrow=True)
    assert (wide.count('class="line gone"'), narrow.count('class="line gone"')) == (7, 0)
    assert (words, fewer) == ("Coloured: in play. Grey: the others.", "Coloured: in play.")


def test_percents_of_a_whole_add_up():
    """Where each is rounded down they do not: 1/3 is 34, 33 and 33 percent."""
    assert whole_percents([1, 1, 1]) == [34, 33, 33]
    assert whole_percents([0, 0]) == [0, 0]
    assert whole_percents([0.2, 0.8]) == [20, 80]
    panel = render(factories.decided(factories.learning(6, 7), 0)).panels["quota"]
    for row in re.findall(r"<tr><th scope=\"row\".*?</tr>", panel, re.DOTALL):
        cells = [int(words) for words in re.findall(r">(\d+)</td>", row)]
        assert len(cells) == 7
        assert sum(cells) == 100


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40))
def test_percents_are_next_to_what_they_stand_for(counts):
    """None is a whole percent off."""
    told = whole_percents(counts)
    assert sum(told) == (100 if any(counts) else 0)
    for count, percent in zip(counts, told, strict=True):
        assert abs(percent - 100 * count / max(sum(counts), 1)) < 1


@pytest.mark.parametrize(
    ("arms", "head"),
    [(("x", "y"), "least"), (("red", "dark red"), "low"), (None, "low"), (("a long name", "y"), "")],
)
def test_a_head_is_as_high_as_its_names(arms, head):
    """Short ones leave no room blank above the table."""
    panel = render(factories.learning(2, 2, arms=arms)).panels["quota"]
    assert f'<table class="grid {head}">' in panel


def test_words_of_panels_that_have_nothing_to_tell():
    """Nobody strays where nobody pulls; what was not written took no time; a decision is no share."""
    done = factories.decided(factories.learning(), 0)
    only = np.zeros_like(done.recent.minute)
    only[:, 0] = 7
    assert "Nobody in the last 1 min" in render(factories.with_recent(done, minute=only)).panels["behind"]
    quiet = render(factories.with_recent(done, minute=only * 0)).panels
    assert "Nobody has pulled in the last 1 min" in quiet["behind"]
    assert "<b>decided</b><span>by directive 3; directive 4 asks for nothing</span>" in quiet["numbers"]
    idle = render(replace(done, server=replace(done.server, disk=None))).panels["numbers"]
    assert "nothing was written lately" in idle


def test_a_clients_page_says_what_its_tab_says():
    """Though another client is to blame for it."""
    figures = factories.every_state()["cannot end"]
    states = states_of(figures)
    other = next(client for client in range(5) if client != states[0].client)
    page = Page(client_page(figures, other)).text
    assert states[0].kind == "cannot end"
    assert states[0].headline in page.split("rounds")[0]


def test_what_is_to_be_typed_stands_as_code():
    """Backticks that belong together; nothing else of a sentence is more than text."""
    assert marked("make one with `tutelage key create`.") == (
        "make one with <code>tutelage key create</code>."
    )
    assert marked("a ` b <i>") == "a ` b &lt;i&gt;"
    assert marked("`<i>` b") == "<code>&lt;i&gt;</code> b"


def test_every_operation_that_answers_says_with_what(address):
    """What is made is answered with 201."""
    document = httpx.get(f"{address}/openapi.json", timeout=30).json()
    operations = {(one.method, one.path): one for one in operations_of(document)}
    assert operations["POST", "/v1/campaigns"].answer.kind == "Summary"
    assert operations["DELETE", "/v1/campaigns/{name}"].answer is None


@given(st.floats(1, 40 * 86_400), st.sampled_from([(44.0, 260.0), (52.0, 400.0), (44.0, 500.0)]))
def test_times_below_a_chart_never_overlap(span, ends):
    """On the narrowest chart too, whatever it spans: a letter is at most 8 pixels wide."""
    taken = []
    for part in time_axis(Scale(-span, 0, *ends), 0):
        x, anchor, words = re.fullmatch(
            r'<text x="(.+)" y=".+" text-anchor="(\w+)" .*>(.*)</text>', part
        ).groups()
        width = 8 * len(words)
        start = float(x) - {"start": 0, "middle": width / 2, "end": width}[anchor]
        taken.append((start, start + width))
    taken.sort()
    assert len(taken) > 1
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(taken))


@pytest.mark.parametrize("value", [0.0, 1e-15, 0.3, 7.0, 6_890.0, 1_234_567.0])
def test_an_axis_of_a_counter_that_stands_still(value):
    """A flat line has an axis with labels that differ, and no number below zero."""
    figures = factories.learning()
    window = window_of(figures)
    drawn = curve(figures, window, Curve("Cost", np.full(window.points.size, value)))
    labels = re.findall(r'class="tick">([^<]*)<', drawn)
    numbers = [label for label in labels if label != "now" and "\N{MINUS SIGN}" not in label]
    assert len(numbers) >= 2
    assert len(set(numbers)) == len(numbers)
    assert not any(number.startswith("-") for number in numbers)


def test_shares_after_a_burst_are_lines():
    """Pulls that all came at once are a flat line up to now, not a dot beside an empty chart."""
    figures = factories.learning()
    times, pulls = figures.recent.times[-60:], figures.taken.pulls.sum(axis=0)
    figures = factories.with_recent(
        figures,
        times=times,
        costs=figures.recent.costs[-60:],
        arm_pulls=np.vstack([pulls * 0] + [pulls] * 59),
    )
    chart, _ = share_chart(figures, window_of(figures))
    lines = re.findall(r'<path d="M([^"]*)" class="line', chart)
    assert len(lines) == 5
    for line in lines:
        places = [float(point.split(",")[0]) for point in line.split("L")]
        assert places[-1] == 500.0
        assert places[0] < 60.0


def test_a_few_last_pulls_are_no_share():
    """Traffic ends within a stretch: the line goes on at the share that was before, and not at theirs."""
    figures = factories.learning()
    made = np.zeros((60, figures.taken.pulls.shape[1]), dtype=np.int64)
    made[1:40] = 100  # of each arm, then a few of one, then nothing
    made[40, 0] = 3
    figures = factories.with_recent(
        figures,
        times=figures.recent.times[-60:],
        costs=figures.recent.costs[-60:],
        arm_pulls=made.cumsum(axis=0),
    )
    chart, _ = share_chart(figures, window_of(figures))
    for line in re.findall(r'<path d="M([^"]*)" class="line', chart):
        heights = [float(point.split(",")[1]) for point in line.split("L")]
        assert max(heights) - min(heights) < 10  # theirs would be all of one arm


def test_the_command_line_tells_the_same_states(address, capsys):
    """``campaign show`` has the words of the page, and the line to type on a line of its own."""
    told = httpx.get(f"{address}/v1/campaigns/plain/status", timeout=30).json()["states"]
    page = Page(httpx.get(f"{address}/c/plain/", timeout=30).text).text
    assert execute(["campaign", "show", "plain", "--server", address, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["states"]
    for each in (told, shown):
        assert [(state["state"], state["headline"]) for state in each] == [("learning", "Learning.")]
        assert each[0]["headline"] in page
    httpx.post(f"{address}/v1/campaigns/plain/stop", timeout=30)
    while told[0]["state"] != "stopped":  # figures are up to a second old
        told = httpx.get(f"{address}/v1/campaigns/plain/status", timeout=30).json()["states"]
    assert execute(["campaign", "show", "plain", "--server", address]) == 0
    printed = capsys.readouterr().out
    assert "stopped   (grey) Stopped. New pulls are refused." in printed
    assert printed.splitlines()[-1].strip() == "tutelage campaign start plain"
