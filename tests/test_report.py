"""The page and the pictures: complete, alone, the same on every run."""

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from tutelage import experiments
from tutelage.errors import InputError
from tutelage.experiments import Missing, Verdict
from tutelage.metrics import over_runs
from tutelage.plots import samples, teacher_styles
from tutelage.report import summary, write_report
from tutelage.report.interactive import panel_json

NAMES = ["fig2a", "fig2b", "fig2i"]


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Curves of regret and cost and a set of instances, and a panel that lacks its data."""
    chosen = list(experiments.paper(NAMES, runs=3, horizon=200))
    chosen[1] = dataclasses.replace(
        chosen[1], instances=tuple(dataclasses.replace(each, seeds="0..4") for each in chosen[1].instances)
    )
    found = experiments.play(chosen, tmp_path_factory.mktemp("played"), workers=1)
    lacking = dataclasses.replace(found.panels[0].panel, name="fig9z")
    return dataclasses.replace(found, missing=[Missing(lacking, "Get it from <the moon> & come back.")])


@pytest.fixture(scope="module")
def report(played):
    """Everything written once."""
    return write_report(played)


@pytest.fixture(scope="module")
def page(report):
    """The page's text."""
    return report.page.read_text(encoding="utf-8")


class Loads(HTMLParser):
    """What a page would load, and where it can be clicked to."""

    def __init__(self):
        super().__init__()
        self.loads, self.links, self.scripts, self.ids = [], [], [], []
        self.inside = None

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.loads += [given[name] for name in ("src", "data", "srcset", "poster") if name in given]
        if tag == "link":
            self.loads.append(given["href"])
        if tag == "a":
            self.links.append(given["href"])
        if "id" in given:
            self.ids.append(given["id"])
        self.inside = given if tag == "script" else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside is not None:
            self.scripts.append((self.inside, data))


@pytest.fixture(scope="module")
def parsed(page):
    """The page, taken apart."""
    reader = Loads()
    reader.feed(page)
    return reader


def test_files(played, report):
    """A PDF and a PNG of each panel, and the page, a few MB at the most."""
    assert [path.name for paths in report.pictures.values() for path in paths] == [
        f"{name}{ending}" for name in NAMES for ending in (".pdf", ".png")
    ]
    assert all(path.stat().st_size > 5000 for paths in report.pictures.values() for path in paths)
    assert report.page == played.folder / "report.html"
    assert 1e6 < report.page.stat().st_size < 4e6


def test_the_page_loads_nothing(parsed, page):
    """It holds all that it needs, and forbids the browser the rest."""
    assert parsed.loads == ["data:,"]
    assert "default-src 'none'" in page
    assert not re.search(r"@import|url\(", page.split("</style>")[0])


def test_links_lead_to_what_is_there(parsed, report):
    """To panels of the page and to the pictures beside it."""
    for link in parsed.links:
        assert link[1:] in parsed.ids if link.startswith("#") else (report.page.parent / link).exists(), link


def test_every_panel_has_its_claims_and_table(played, page):
    """The claims with their verdict and figures, and a row a teacher with mean, band, ended and wrong."""
    for data in played.panels:
        section = page.split(f'<section id="{data.panel.name}">')[1].split("</section>")[0]
        for verdict in data.verdicts:
            assert verdict.text.replace("'", "&#39;") in section
        marks = re.findall(r'<span class="mark (\w+)"', section)
        words = {True: "holds", False: "fails", None: "open"}
        assert marks == [words[verdict.holds] for verdict in data.verdicts]
        for n, style in enumerate(teacher_styles(samples.teacher_specs(data.dataset))):
            quantity = data.panel.quantity.split("-")[-1]
            told = over_runs(samples.totals(data.dataset, quantity)[n, :, -1])
            row = re.findall(rf"</svg>{re.escape(style.label)}</td>(.*?)</tr>", section)[-1]
            mean = f"{told.mean:,.0f}" if told.mean >= 100 else f"{told.mean:.3g}"
            assert row.startswith(f"<td>{mean}</td>")
            ended = "never" if style.label in ("NA", "no teaching") else f" of {len(data.dataset.run)}"
            assert ended in row or samples.is_set(data.dataset)


def test_how_many_runs_ended_is_counted(played, page):
    """For the teachers that decide, a column; at a horizon of 200 TAL never does."""
    section = page.split('<section id="ended">')[1].split("</section>")[0]
    assert re.findall("<th>(.*?)</th>", section)[3:] == [
        "TAL(1,0)",
        "TAL(0,0)",
        "TWL(1,0)",
        "NG",
        "known target",
    ]
    rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(<td>.*?)</tr>", section)]
    assert [row[:4] for row in rows] == [["fixed, ucb1", "200", "3", "0"], ["random, ucb1", "200", "5", "0"]]
    assert all(row[-1] == row[2] for row in rows)


def test_what_is_missing_is_said(page):
    """With the sentence on how to get it, as text."""
    assert "<strong>fig9z</strong> could not be made: Get it from &lt;the moon&gt; &amp; come back." in page


def test_seed_and_versions(page):
    """How to make it again."""
    how = page.split('<section id="how">')[1].split("</section>")[0]
    assert "seed 1, 3 runs, 200 rounds" in how
    assert "uniform:clients=5,arms=5, seeds 0..4" in how
    assert all(f"{name} " in how for name in ("tutelage", "python", "numpy", "numba", "matplotlib", "bokeh"))


def test_one_palette(played, parsed):
    """The interactive panels have the colours, markers and labels of the pictures."""
    told = {given["id"]: data for given, data in parsed.scripts if "id" in given}
    for data in played.panels:
        shown = told[f"data-{data.panel.name}"]
        json.loads(shown)
        for style in teacher_styles(samples.teacher_specs(data.dataset)):
            assert style.colour in shown
            assert f'"{style.marker}"' in shown or style.marker == "circle"  # Bokeh's default is not written
            assert f'"{style.label}"' in shown


def test_long_results_are_thinned(played):
    """A panel does not grow with the checkpoints."""
    import tutelage

    long = tutelage.simulate("paper", ["none"], horizon=3000, runs=2, checkpoints=3000)
    short = tutelage.simulate("paper", ["none"], horizon=3000, runs=2, checkpoints=250)
    assert len(panel_json(long, "cost", "x")) < 1.1 * len(panel_json(short, "cost", "x"))
    many = tutelage.simulate("paper", ["ng"], horizon=5, runs=4000, checkpoints=1)
    assert len(panel_json(many, "regret-cost", "x")) < 100_000


def test_a_second_time_nothing_is_done(played, report):
    """The page knows what it was made from."""
    stamps = {path: path.stat().st_mtime_ns for path in played.folder.rglob("*")}
    again = write_report(played)
    assert (again.is_new, report.is_new) == (False, True)
    assert again.page == report.page
    assert stamps == {path: path.stat().st_mtime_ns for path in played.folder.rglob("*")}


@pytest.mark.parametrize("lost", ["report.html", "fig2a.pdf"])
def test_what_is_lost_is_made_again(played, report, lost):
    """The same bytes as before, also later in the same process."""
    before = {path: path.read_bytes() for path in report.page.parent.glob("*.*")}
    (played.folder / lost).unlink()
    assert write_report(played).is_new
    assert {path: path.read_bytes() for path in report.page.parent.glob("*.*")} == before


def test_another_verdict_is_another_page(played, tmp_path):
    """Text is text, whatever it holds; a claim that cannot be told is neither."""
    first = played.panels[0]
    verdict = Verdict("</script><b>7 > 5</b>", None, "ng of na in none", "")
    changed = dataclasses.replace(played, panels=[dataclasses.replace(first, verdicts=[verdict])])
    told = write_report(changed, tmp_path).page.read_text(encoding="utf-8")
    assert "&lt;/script&gt;&lt;b&gt;7 &gt; 5&lt;/b&gt;" in told
    assert "Our figures cannot tell." in told
    assert "NG of NA in none" in told
    assert "0 are borne out by our figures, 0 are not, and 1 cannot be told" in told


def test_summary(played):
    """Plain finite JSON with the same numbers as the datasets."""
    told = json.loads(json.dumps(summary(played), allow_nan=False))
    assert [panel["panel"] for panel in told["panels"]] == NAMES
    assert [(panel["samples"], panel["of"], panel["runs"]) for panel in told["panels"]] == [
        (3, "runs", 3),
        (3, "runs", 3),
        (5, "instances", 5),
    ]
    known = told["panels"][0]["teachers"][5]
    data = played.panels[0].dataset
    assert known["teacher"] == "known"
    assert known["regret"]["mean"] == pytest.approx(float(data.regret[5, :, :, -1].sum("client").mean()))
    assert (known["finished"], known["wrong"], known["runs"]) == (3, 0, 3)
    assert told["missing"][0]["panel"] == "fig9z"


def test_a_place_that_cannot_be_written(played, tmp_path):
    """Said, not hidden."""
    (tmp_path / "file").touch()
    with pytest.raises((InputError, OSError), match="file"):
        write_report(played, tmp_path / "file")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium here")
def test_in_a_browser(report, tmp_path):
    """Chromium draws the page and has nothing to say on its console: no error, nothing refused."""
    shot = tmp_path / "page.png"
    arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--screenshot={shot}",
    ]
    arguments += ["--virtual-time-budget=10000", "--window-size=1200,2400", f"--user-data-dir={tmp_path}"]
    ended = subprocess.run(  # noqa: S603
        [shutil.which("chromium"), *arguments, report.page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in ended.stderr
    from matplotlib.image import imread

    pixels = {tuple((255 * pixel[:3]).round().astype(int)) for pixel in imread(shot).reshape(-1, 4)[::3]}
    assert (0xD5, 0x5E, 0x00) in pixels  # TWL's curve
