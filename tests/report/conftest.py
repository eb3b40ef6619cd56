"""Reports that the tests here share: the paper's figures in small, and a user's small experiment."""

import dataclasses
import shutil
from html.parser import HTMLParser

import pytest
from msgspec import structs

from tests.report.small_report import NAMES, parse_small
from tutelage import experiments
from tutelage.experiments import MissingPanel
from tutelage.report import build_report, report_files, write_report


@pytest.fixture(scope="session")
def result(tmp_path_factory):
    """Curves of regret and cost, a set of instances, and a panel whose data is missing."""
    chosen = list(experiments.load_paper_experiments(NAMES, runs=3, horizon=200))
    chosen[1] = structs.replace(
        chosen[1], instances=tuple(structs.replace(each, seeds="0..4") for each in chosen[1].instances)
    )
    found = experiments.run_experiment(chosen, tmp_path_factory.mktemp("played"), workers=1)
    lacking = structs.replace(found.panels[0].panel, name="fig9z")
    return dataclasses.replace(found, missing=[MissingPanel(lacking, "Get it from <the moon> & come back.")])


@pytest.fixture(scope="session")
def report(result):
    """The report, written once."""
    return write_report(result)


@pytest.fixture(scope="session")
def page(report):
    """The text of the page."""
    return report.page.read_text(encoding="utf-8")


class PageParser(HTMLParser):
    """Collects what a page would load, its links, scripts and ids."""

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


@pytest.fixture(scope="session")
def parsed(page):
    """The parsed page."""
    reader = PageParser()
    reader.feed(page)
    return reader


@pytest.fixture(scope="session")
def finished_folder(tmp_path_factory):
    """A folder with the finished report of the small experiment."""
    folder = tmp_path_factory.mktemp("finished")
    build_report(parse_small(), folder)
    return folder


@pytest.fixture
def sketched_folder(finished_folder, tmp_path, monkeypatch):
    """A finished folder whose pictures are only their titles: quick, for tests of what is written when."""

    def sketch(data):
        return [f"{data.panel.title} {data.panel.name}{ending}".encode() for ending in report_files.ENDINGS]

    monkeypatch.setattr(report_files, "draw_pictures", sketch)
    monkeypatch.setattr("tutelage.report.interactive.write_panel_json", lambda *_: "{}")
    folder = tmp_path / "sketched"
    shutil.copytree(finished_folder / "cells", folder / "cells")
    build_report(parse_small(), folder)
    return folder
