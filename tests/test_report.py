"""The page and the pictures: complete, alone, the same on every run."""

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tutelage import atomic_files, experiments
from tutelage.errors import InputError
from tutelage.experiments import Missing, Verdict
from tutelage.experiments.parsing import parse
from tutelage.experiments.published import is_papers
from tutelage.metrics import summarize_runs
from tutelage.plots import samples, teacher_styles
from tutelage.report import make, making, summary, write_report
from tutelage.report import writing as report_writing
from tutelage.report.interactive import panel_json
from tutelage.teachers import TEACHERS

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
            told = summarize_runs(samples.totals(data.dataset, quantity)[n, :, -1])
            row = re.findall(rf"</svg>{re.escape(style.label)}</td>(.*?)</tr>", section)[-1]
            mean = f"{told.mean:,.0f}" if told.mean >= 100 else f"{told.mean:.3g}"
            assert row.startswith(f"<td>{mean}</td>")
            decided = re.findall("<td>(.*?)</td>", row)[2]
            assert (decided == "-") == (style.label in ("NA", "no teaching"))
            runs = data.dataset.sizes["run"] * data.dataset.sizes.get("instance", 1)
            assert decided == "-" or decided.endswith(f" of {runs}")


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
    many = tutelage.simulate("paper", ["ng"], horizon=5, runs=2000, checkpoints=1)
    assert len(panel_json(many, "regret-cost", "x")) < 75_000


def test_a_second_time_nothing_is_done(played, report):
    """The page knows what it was made from."""
    stamps = {path: path.stat().st_mtime_ns for path in played.folder.rglob("*")}
    again = write_report(played)
    assert (again.is_new, report.is_new) == (False, True)
    assert again.page == report.page
    assert stamps == {path: path.stat().st_mtime_ns for path in played.folder.rglob("*")}


def emptied(path):
    """Nothing is left in it."""
    path.write_bytes(b"")


def cut(path):
    """The end is missing, far behind the beginning."""
    path.write_bytes(path.read_bytes()[:-1])


def changed(path):
    """One byte in the middle is another."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


OWN = """
name = "own"
runs = 2
horizons = [60]
checkpoints = 3
teachers = ["twl", "none"]
[[instances]]
label = "p"
spec = "paper"
[[clients]]
label = "u"
spec = "ucb1"
[[panels]]
name = "a"
title = "OLD"
quantity = "regret"
instance = "p"
clients = "u"
[[panels]]
name = "b"
title = "OLD"
quantity = "cost"
instance = "p"
clients = "u"
[[panels.claims]]
kind = "below"
text = "Teaching costs."
section = "our guess"
teachers = ["none"]
than = ["twl(gamma1=1,gamma2=0)"]
"""


def own(text=OWN):
    """A small experiment of one's own."""
    return parse(text, "own.toml")


def contents(folder):
    """Every file with its bytes."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder in which it was played and drawn."""
    folder = tmp_path_factory.mktemp("finished")
    make(own(), folder)
    return folder


@pytest.fixture
def sketched(finished, tmp_path, monkeypatch):
    """A finished folder whose pictures are their titles, quick to draw: for when, not what, is written."""

    def drawn(played, pictures, drawing):
        for data in played.panels:
            if drawing is not None:
                drawing(data.panel.name)
        titles = {data.panel.name: data.panel.title for data in played.panels}
        return {path: f"{titles[name]} {path.name}".encode() for name in pictures for path in pictures[name]}

    monkeypatch.setattr(report_writing, "_drawn", drawn)
    monkeypatch.setattr("tutelage.report.page.panel_json", lambda *_: "{}")
    folder = tmp_path / "sketched"
    shutil.copytree(finished / "cells", folder / "cells")
    make(own(), folder)
    return folder


def test_drawn_again_it_has_the_same_bytes(finished, tmp_path):
    """Also later in the same process."""
    shutil.copytree(finished / "cells", tmp_path / "cells")
    assert make(own(), tmp_path).report.is_new
    assert contents(tmp_path) == contents(finished)


@pytest.mark.parametrize(
    ("name", "harm"),
    [("report.html", Path.unlink), ("report.html", cut), ("a.pdf", emptied), ("b.png", changed)],
)
def test_what_is_lost_or_damaged_is_made_again(sketched, tmp_path, name, harm):
    """The same bytes as before; what is whole is not touched."""
    folder = shutil.copytree(sketched, tmp_path / "it")
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("*.*")}
    harm(folder / name)
    assert make(own(), folder).report.is_new
    assert contents(folder) == contents(sketched)
    new = {path.name for path in stamps if path.stat().st_mtime_ns != stamps[path]}
    assert new == {name, "report.html"}


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


@pytest.mark.parametrize("at", [1, 3, 5])
def test_killed_while_pictures_are_replaced(sketched, tmp_path, monkeypatch, at):
    """No page stands beside pictures of another experiment, and either one can be had whole again."""
    folder = shutil.copytree(sketched, tmp_path / "it")
    other = own(OWN.replace("OLD", "NEW"))
    writes = []

    def write(path, content):
        writes.append(path)
        if len(writes) == at:
            raise Killed
        atomic_files.write_whole(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(report_writing, "write_whole", write)
        with pytest.raises(Killed):
            make(other, folder)
    assert not (folder / "report.html").exists()
    again = make(own(), folder)
    assert again.report.is_new
    assert contents(folder) == contents(sketched)
    assert make(own(), folder).played is None


def test_killed_while_drawing(sketched, tmp_path, monkeypatch):
    """Everything is drawn before anything is replaced: the earlier report is whole."""
    folder = shutil.copytree(sketched, tmp_path / "it")

    def drawing(what):
        if what == "b":
            raise Killed

    with pytest.raises(Killed):
        make(own(OWN.replace("OLD", "NEW")), folder, drawing=drawing)
    assert {path: content for path, content in contents(folder).items() if path.suffix != ".nc"} == {
        path: content for path, content in contents(sketched).items() if path.suffix != ".nc"
    }


def test_nobody_else_draws_meanwhile(sketched, tmp_path):
    """The lock covers playing and drawing, by the command and by write_report alone."""
    folder = shutil.copytree(sketched, tmp_path / "it")
    other, tried = own(OWN.replace("OLD", "NEW")), []

    def drawing(what):
        with pytest.raises(InputError, match="Another tutelage is at work"):
            experiments.play(own(), folder)
        tried.append(what)

    made = make(other, folder, drawing=drawing)
    assert tried == ["a", "b", "report.html"]
    (folder / "report.html").unlink()
    write_report(made.played, drawing=drawing)
    assert len(tried) == 6


def test_a_finished_one_is_known_by_its_bytes(finished, python):
    """Nothing is loaded, drawn or written: neither xarray nor matplotlib nor bokeh is imported."""
    code = f"""
import sys
from tutelage.experiments.parsing import parse
from tutelage.report import make
made = make(parse({OWN!r}, "own.toml"), {str(finished)!r})
assert made.played is None and not made.report.is_new
document = made.document()
loaded = {{name.partition(".")[0] for name in sys.modules}}
print(sorted(loaded & {{"xarray", "matplotlib", "bokeh", "h5py"}}))
print(len(document["panels"]), document["report"])
"""
    stamps = {path: path.stat().st_mtime_ns for path in finished.rglob("*")}
    told = python("-c", code).stdout.splitlines()
    assert told == ["[]", f"2 {finished / 'report.html'}"]
    assert {path: path.stat().st_mtime_ns for path in finished.rglob("*")} == stamps


def test_a_finished_one_gives_the_same_document(sketched, tmp_path):
    """As when it was played, but for what is new."""
    first = make(own(), tmp_path).document()
    again = make(own(), tmp_path).document()
    assert [cell.pop("new") for cell in first["cells"]] == [True, True]
    assert [cell.pop("new") for cell in again["cells"]] == [False, False]
    assert json.loads(json.dumps(first)) == again


@pytest.mark.parametrize("harm", [emptied, changed])
def test_a_damaged_cell_is_noticed(sketched, tmp_path, harm):
    """Also where the report is whole: it is played again, told of, and no trace is left on the page."""
    folder = shutil.copytree(sketched, tmp_path / "it")
    harm(next(path for path in (folder / "cells").iterdir() if "twl" in path.name))
    made = make(own(), folder)
    assert [cell.is_new for cell in made.played.cells] == [True, False]
    assert "is played again" in made.document()["notes"][0]
    assert contents(folder) == contents(sketched)
    assert make(own(), folder).played is None


def test_a_finished_one_needs_nothing_that_can_be_written(finished, monkeypatch):
    """Neither a lock nor a folder that can be written to."""
    monkeypatch.setattr(making, "alone_in", None)
    monkeypatch.setattr(making, "made_folder", None)
    monkeypatch.setattr("os.access", lambda *_: False)
    assert make(own(), finished).played is None


def test_what_must_be_written_is_refused_where_it_cannot(finished, tmp_path, monkeypatch):
    """A cell or a page is missing and the folder is read-only: one sentence, before anything is played."""
    folder = shutil.copytree(finished, tmp_path / "it")
    monkeypatch.setattr("os.access", lambda *_: False)
    (folder / "report.html").unlink()
    with pytest.raises(InputError, match="cannot be written to"):
        make(own(), folder)
    next((folder / "cells").iterdir()).unlink()
    monkeypatch.setattr("tutelage.lab.run", None)
    with pytest.raises(InputError, match="cannot be written to"):
        make(own(), folder)


def test_whose_claims(played, page, finished):
    """Only those of the paper's own files are what the paper says."""
    assert page.count("<h3>What the paper says of it, and our figures</h3>") == len(played.panels)
    assert "(Section\N{NO-BREAK SPACE}VIII-A)" in page
    mine = (finished / "report.html").read_text(encoding="utf-8")
    assert "What the paper says" not in mine
    assert "<h3>Claims, and our figures</h3>" in mine
    assert "(our guess)" in mine


def test_a_claim_under_a_name_of_the_papers_is_not_the_papers():
    """Names can be taken; what counts is the claim."""
    (experiment,) = experiments.paper(["fig2a"])
    (panel,) = experiment.panels
    assert is_papers(experiment, panel)
    assert not is_papers(experiment, dataclasses.replace(panel, claims=panel.claims[1:]))
    assert not is_papers(dataclasses.replace(experiment, name="mine"), panel)


def test_a_mean_outside_its_band_is_told(played, page, tmp_path):
    """In the caption, with the teacher's name; otherwise nothing is said of it."""
    first = played.panels[0]
    skewed = first.dataset.isel(run=[0] * 20).copy(deep=True)
    skewed["regret"][:] = 1.0
    skewed["regret"][2, 0] = 1000.0
    changed = dataclasses.replace(played, panels=[dataclasses.replace(first, dataset=skewed)])
    told = write_report(changed, tmp_path).page.read_text(encoding="utf-8")
    assert "The mean regret of TWL(1,0) lies outside the band of 80 % of runs: a few are far" in told
    section = page.split('<section id="fig2b">')[1].split("</section>")[0]
    assert "outside the band" not in section


def test_another_verdict_is_another_page(played, tmp_path):
    """Text is text, whatever it holds; a claim that cannot be told is neither."""
    first = played.panels[0]
    verdict = Verdict("</script><b>7 > 5</b>", None, "ng of na in none", "")
    changed = dataclasses.replace(played, panels=[dataclasses.replace(first, verdicts=[verdict])])
    told = write_report(changed, tmp_path).page.read_text(encoding="utf-8")
    assert "&lt;/script&gt;&lt;b&gt;7 &gt; 5&lt;/b&gt;" in told
    assert "Our figures cannot tell." in told
    assert "NG of NA in none" in told
    assert "Of 1 claim about them: 1 cannot be told." in told


def test_claims_name_teachers_as_the_table_does(played, tmp_path):
    """By their labels, whether the figures have the whole SPEC or the brief one; other words stay."""
    first = played.panels[0]
    spec = TEACHERS.spec(TEACHERS.parse("blt(rho=3)"))
    names = [spec, TEACHERS.spec(TEACHERS.parse("blt")), *first.dataset.teacher.values[2:]]
    dataset = first.dataset.assign_coords(teacher=names)
    told = "cost: blt 1 against twl(gamma1=1,gamma2=0) 2, blt(rho=3) 3, ng 4; none of na(x) is known"
    verdict = Verdict("It is so.", True, f"{told}, {spec}", "I")
    changed = dataclasses.replace(first, dataset=dataset, verdicts=[verdict])
    shown = write_report(dataclasses.replace(played, panels=[changed]), tmp_path).page.read_text("utf-8")
    assert "cost: BLT 1 against TWL(1,0) 2, BLT(rho=3) 3, NG 4; none of na(x) is known, BLT(rho=3)" in shown


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


@pytest.mark.parametrize("name", ["progress", "drawing"])
def test_what_cannot_be_told_is_refused(tmp_path, name):
    """One sentence, before anything is played or made."""
    with pytest.raises(InputError, match=f"The {name} 3 is not a function"):
        make(own(), tmp_path / "new", **{name: 3})
    assert not (tmp_path / "new").exists()


def test_a_drawing_that_is_no_function_is_refused(played, tmp_path):
    """By write_report alone as well."""
    with pytest.raises(InputError, match="The drawing 3 is not a function"):
        write_report(played, tmp_path / "new", drawing=3)


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
    ended = subprocess.run(
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


@pytest.mark.parametrize(
    ("teachers", "options"),
    [(["none"], {"runs": 3}), (["none", "known"], {"runs": 1}), (["twl"], {"runs": 2, "checkpoints": 1})],
)
@pytest.mark.parametrize("quantity", ["regret", "cost", "regret-cost"])
def test_nothing_is_said_of_odd_results(caplog, teachers, options, quantity):
    """Costs of 0 throughout, one run, one checkpoint: neither a warning nor a line in Bokeh's log."""
    import tutelage

    data = tutelage.simulate("uniform:clients=1,arms=2,seed=1", teachers, horizon=3, **options)
    assert json.loads(panel_json(data, quantity, "here"))["target_id"] == "here"
    assert not caplog.records
