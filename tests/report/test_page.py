"""The report page: complete, needing no other file, in plain words."""

import dataclasses
import html
import re
import shutil
import subprocess

import pytest
from msgspec import structs

from tests.report.small_report import parse_small
from tutelage import experiments
from tutelage.experiments import Verdict
from tutelage.experiments.paper_figures import has_paper_claims
from tutelage.metrics import summarize_runs
from tutelage.plots import samples, teacher_styles, warn_of_few_samples
from tutelage.report import write_report
from tutelage.report.page_sentences import hide_folders


def test_the_page_loads_no_other_file(parsed, page):
    """It contains everything that it needs, and forbids the browser to load more."""
    assert parsed.loads == ["data:,"]
    assert "default-src 'none'" in page
    assert not re.search(r"@import|url\(", page.split("</style>")[0])


def test_links_lead_to_existing_files(parsed, report):
    """Links lead to panels of the page and to the pictures next to it."""
    for link in parsed.links:
        assert link[1:] in parsed.ids if link.startswith("#") else (report.page.parent / link).exists(), link


def test_every_panel_has_its_claims_and_table(result, page):
    """A panel shows its claims with verdicts, and for each teacher mean, band, decided and wrong runs."""
    for data in result.panels:
        section = page.split(f'<section id="{data.panel.name}">')[1].split("</section>")[0]
        for verdict in data.verdicts:
            assert verdict.text.replace("'", "&#39;") in section
        marks = re.findall(r'<span class="mark (\w+)"', section)
        words = {True: "supported", False: "unsupported", None: "inconclusive"}
        assert marks == [words[verdict.holds] for verdict in data.verdicts]
        for n, style in enumerate(teacher_styles(data.dataset)):
            quantity = data.panel.quantity.split("-")[-1]
            content = summarize_runs(samples.totals(data.dataset, quantity)[n, :, -1])
            row = re.findall(rf"</svg>{re.escape(style.label)}</td>(.*?)</tr>", section)[-1]
            mean = f"{content.mean:,.0f}" if content.mean >= 100 else f"{content.mean:.3g}"
            width = f"{content.half_width:,.0f}" if content.half_width >= 100 else f"{content.half_width:.3g}"
            assert row.startswith(f"<td>{mean} ± {width}</td>")
            decided = re.findall("<td>(.*?)</td>", row)[2]
            assert (decided == "-") == (style.label in ("na", "none"))
            runs = data.dataset.sizes["run"] * data.dataset.sizes.get("instance", 1)
            assert decided == "-" or decided.endswith(f" of {runs}")


def test_decisions_are_counted(result, page):
    """Each teacher that can decide has a column; at a horizon of 200 TAL never decides."""
    section = page.split('<section id="decisions">')[1].split("</section>")[0]
    heading = re.findall('<th scope="col">(.*?)</th>', section)
    assert heading[3:] == ["tal", "tal(gamma1=0)", "twl", "ng", "known"]
    rows = [re.findall("<td>(.*?)</td>", row) for row in re.findall("<tr>(<td>.*?)</tr>", section)]
    assert [row[:4] for row in rows] == [["fixed, ucb1", "200", "3", "0"], ["random, ucb1", "200", "5", "0"]]
    assert all(row[-1] == row[2] for row in rows)


def test_a_missing_panel_is_explained(page):
    """The sentence on how to get the data is escaped text."""
    assert "<strong>fig9z</strong> could not be made. Get it from &lt;the moon&gt; &amp; come back." in page


def test_seed_and_versions_are_listed(page):
    """The page says how to make it again."""
    how = page.split('<section id="how">')[1].split("</section>")[0]
    assert "seed 1, 3 runs, 200 rounds" in how
    assert "uniform:clients=5,arms=5, seeds 0..4" in how
    assert all(f"{name} " in how for name in ("tutelage", "python", "numpy", "numba", "matplotlib", "bokeh"))


def test_only_the_papers_claims_are_called_so(result, page, finished_folder):
    """Claims of a user's file have another heading and their own section."""
    assert page.count("<h3>Claims of the paper, in our words, and our results</h3>") == len(result.panels)
    assert "Shi, Xiong, Shen and Yang, “Reward Teaching for Federated Multi-armed Bandits”" in page
    assert "The claims are in our words" in page
    assert "(Section\N{NO-BREAK SPACE}VIII-A)" in page
    mine = (finished_folder / "report.html").read_text(encoding="utf-8")
    assert "Claims of the paper" not in mine
    assert "Xiong" not in mine
    assert "<h3>Claims and results</h3>" in mine
    assert "(our guess)" in mine


def test_marks_have_a_key(result, page, tmp_path):
    """Each mark has its meaning with the level of the tests, and a page without claims has no key."""
    key = page.split('<ul class="key"')[1].split("</ul>")[0]
    assert re.findall(r'class="(\w+)">(.)</strong> (.*?):', key) == [
        ("supported", "✓", "supported"),
        ("unsupported", "✗", "not supported"),
        ("inconclusive", "?", "inconclusive"),
    ]
    assert key.count("a test at the level of 1 %") == 2
    bare = [dataclasses.replace(data, verdicts=[]) for data in result.panels]
    assert '<ul class="key"' not in write_report(dataclasses.replace(result, panels=bare), tmp_path).page.read_text(
        "utf-8"
    )


OWN = """
name = "own"
runs = 4
horizons = [60]
checkpoints = 3
teachers = ["twl", "none"]
instances = [
    { label = "shop", spec = "'FOLDER/my means.csv'" },
    { label = "any", spec = "uniform:clients=3,arms=2", seeds = "0..2", runs = 1 },
]
clients = [{ label = "all", spec = "ucb1" }]
panels = [
    { name = "a", quantity = "regret", instance = "shop", clients = "all" },
    { name = "b", quantity = "regret-cost", instance = "any", clients = "all" },
]
"""


def test_a_users_page(tmp_path):
    """It has arm names, means and gaps, speaks of its own teachers only, and contains no absolute path."""
    folder = tmp_path / "data of mine"
    folder.mkdir()
    (folder / "my means.csv").write_text("shoes,hats,bags\n0.1,0.5,0.3\n0.2,0.4,0.65\n0.1,0.9,0.2\n")
    experiment = parse_small(OWN.replace("FOLDER", str(folder)))
    found = experiments.run_experiment(experiment, tmp_path / "out")
    found = dataclasses.replace(
        found, warnings=[f"{str(folder / 'ratings.csv')!r} differs.", f"See {tmp_path / 'x.csv'}."]
    )
    content = html.unescape(write_report(found).page.read_text("utf-8"))
    assert (
        "3 clients and 3 arms, whose means over all clients are hats: 0.6, bags: 0.383, shoes: 0.133; the gap"
        in content
    )
    assert "between the best and the second-best is 0.217." in content
    assert "3 instances of 3 clients and 2 arms; gap between the best and the second-best arm 0." in content
    assert "Teachers that never choose one: none." in content
    assert "from the start" not in content
    assert str(tmp_path) not in content
    text = re.sub(r"<(script|style).*?</\1>", "", content, flags=re.DOTALL)
    for absent in ("ng", "na", "known", "tal", "data of mine"):
        assert not re.search(rf"\b{absent}\b", text), absent
    assert "shop: 'my means.csv'; any: " in content
    assert "'ratings.csv' differs." in content
    assert "A band of 80 % of 4 runs says little: it nearly covers the range of all 4." in content


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("'/home/me/my data/a.csv' was read", "'a.csv' was read"),
        ("/home/me/a.csv was read", "a.csv was read"),
        ("table:/home/me/a.csv,weights=1;2", "table:a.csv,weights=1;2"),
        ('movielens:"C:\\Users\\me\\a.csv",clients=5', 'movielens:"a.csv",clients=5'),
        ("~/data/a.csv", "a.csv"),
        ("https://files.grouplens.org/datasets/x.zip (1 MB)", "https://files.grouplens.org/datasets/x.zip (1 MB)"),
        ("data/a.csv and ../b.csv, 1/2 of cost/regret", "data/a.csv and ../b.csv, 1/2 of cost/regret"),
    ],
)
def test_absolute_paths_are_hidden(text, shown):
    """Of an absolute path only the last name is left; relative paths, addresses and fractions stay."""
    assert hide_folders(text) == shown


def test_enough_runs_need_no_warning(result):
    """The ends of a band lie within the extremes from 11 runs on; of one run there is no band."""
    dataset = result.panels[0].dataset
    for count, warned in ((1, False), (2, True), (10, True), (11, False)):
        assert bool(warn_of_few_samples(dataset.isel(run=[0] * count))) is warned


def test_a_users_claim_under_a_name_of_the_paper():
    """The claims themselves are compared, not only the names."""
    (experiment,) = experiments.load_paper_experiments(["fig2a"])
    (panel,) = experiment.panels
    assert has_paper_claims(experiment, panel)
    assert not has_paper_claims(experiment, structs.replace(panel, claims=panel.claims[1:]))
    assert not has_paper_claims(structs.replace(experiment, name="mine"), panel)


def test_a_mean_outside_its_band_is_explained(result, page, tmp_path):
    """The caption names the teacher; other captions have no such sentence."""
    first = result.panels[0]
    skewed = first.dataset.isel(run=[0] * 20).copy(deep=True)
    skewed["regret"][:] = 1.0
    skewed["regret"][2, 0] = 1000.0
    changed = dataclasses.replace(result, panels=[dataclasses.replace(first, dataset=skewed)])
    content = write_report(changed, tmp_path).page.read_text(encoding="utf-8")
    assert "The mean regret of twl lies outside the band of 80 % of 20 runs, because a few" in content
    section = page.split('<section id="fig2b">')[1].split("</section>")[0]
    assert "outside the band" not in section


def test_an_inconclusive_claim_with_markup(result, tmp_path):
    """Markup in a claim is escaped, and an inconclusive claim is neither supported nor unsupported."""
    first = result.panels[0]
    verdict = Verdict("</script><b>7 > 5</b>", None, "ng of na in none", "")
    changed = dataclasses.replace(result, panels=[dataclasses.replace(first, verdicts=[verdict])])
    content = write_report(changed, tmp_path).page.read_text(encoding="utf-8")
    assert "&lt;/script&gt;&lt;b&gt;7 &gt; 5&lt;/b&gt;" in content
    assert "Inconclusive." in content
    assert "ng of na in none" in content
    assert "Of 1 claim: 1 inconclusive." in content


def run_chromium(page, folder, *arguments):
    """Open a page in Chromium and return what it prints; its console has no message."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={folder}"]
    ended = subprocess.run(
        [shutil.which("chromium"), *options, "--virtual-time-budget=10000", *arguments, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in ended.stderr
    return ended.stdout


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium here")
def test_chromium_shows_the_page_without_messages(report, tmp_path):
    """Its console shows no error and no refused request, and a curve has its colour."""
    shot = tmp_path / "page.png"
    run_chromium(report.page, tmp_path, f"--screenshot={shot}", "--window-size=1200,2400")
    from matplotlib.image import imread

    pixels = {tuple((255 * pixel[:3]).round().astype(int)) for pixel in imread(shot).reshape(-1, 4)[::3]}
    assert (0xD5, 0x5E, 0x00) in pixels  # TWL's curve


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium here")
@pytest.mark.parametrize(("dark", "width"), [(True, 390), (False, 1200)])
def test_chromium_in_the_dark_and_on_a_narrow_screen(report, tmp_path, dark, width):
    """In the dark dark lines are lighter, and on a narrow screen a sentence says that tables scroll."""
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    shown = run_chromium(report.page, tmp_path, scheme, f"--window-size={width},900", "--dump-dom")
    strokes = dict(re.findall(r'<line [^>]*stroke="(#\w+)"[^>]*data-stroke="(#\w+)"', shown))
    assert ("#0072b2" in strokes) is not dark
    assert "#0072b2" in strokes.values()
    assert ("scroll overflows" in shown) is (width == 390)
