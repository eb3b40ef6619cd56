"""The report page: complete, needing no other file, in plain words."""

import dataclasses
import re
import shutil
import subprocess

import pytest
from msgspec import structs

from tutelage import experiments
from tutelage.experiments import Verdict
from tutelage.experiments.paper_figures import has_paper_claims
from tutelage.metrics import summarize_runs
from tutelage.plots import samples, teacher_styles
from tutelage.report import write_report


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
            assert row.startswith(f"<td>{mean}</td>")
            decided = re.findall("<td>(.*?)</td>", row)[2]
            assert (decided == "-") == (style.label in ("na", "none"))
            runs = data.dataset.sizes["run"] * data.dataset.sizes.get("instance", 1)
            assert decided == "-" or decided.endswith(f" of {runs}")


def test_decisions_are_counted(result, page):
    """Each teacher that can decide has a column; at a horizon of 200 TAL never decides."""
    section = page.split('<section id="decisions">')[1].split("</section>")[0]
    assert re.findall("<th>(.*?)</th>", section)[3:] == ["tal", "tal(gamma1=0)", "twl", "ng", "known"]
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
    assert page.count("<h3>Claims of the paper and our results</h3>") == len(result.panels)
    assert "(Section\N{NO-BREAK SPACE}VIII-A)" in page
    mine = (finished_folder / "report.html").read_text(encoding="utf-8")
    assert "Claims of the paper" not in mine
    assert "<h3>Claims and results</h3>" in mine
    assert "(our guess)" in mine


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


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium here")
def test_chromium_shows_the_page_without_messages(report, tmp_path):
    """Its console shows no error and no refused request, and a curve has its colour."""
    shot = tmp_path / "page.png"
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--screenshot={shot}"]
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
