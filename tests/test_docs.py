"""Every command, option, policy, teacher, instance and reward distribution is named by some page."""

import importlib
import re
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from tutelage.cli.app import app
from tutelage.distributions import DISTRIBUTIONS
from tutelage.instances import INSTANCES
from tutelage.policies import POLICIES
from tutelage.registry import parameters_of
from tutelage.service.api.api_routes import api_routes
from tutelage.teachers import TEACHERS

ROOT = Path(__file__).parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}


@pytest.mark.parametrize(
    ("page", "table"),
    [
        ("docs/instances.md", INSTANCES),
        ("docs/instances.md", DISTRIBUTIONS),
        ("docs/policies.md", POLICIES),
        ("docs/teachers.md", TEACHERS),
    ],
)
def test_every_entry_has_its_page(page, table):
    """A table's page names each of its entries, in code style."""
    missing = [name for name in table if not re.search(rf"`{re.escape(name)}[`(:]", PAGES[page])]
    assert missing == []


def test_every_parameter_is_named():
    """The parameters of instances stand on their page."""
    named = PAGES["docs/instances.md"].lower()
    for name in INSTANCES:
        for item in parameters_of(INSTANCES.cls(name)):
            assert f"`{item.name}" in named or item.name == "path", f"{name}'s {item.name}"


def commands(group, path="tutelage"):
    """Every command below a group with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_every_command_and_option_has_a_page():
    """Each command, also of a group such as `tutelage key`, and each of its options is named by some page."""
    import typer.main

    text = "\n".join(PAGES.values())
    for called, command in commands(typer.main.get_command(app)):
        assert called in text, called
        for option in command.params:
            for written in option.opts:
                if written.startswith("--") and written != "--help":
                    assert re.search(rf"`(?:\[)?{written}\b|{called}[^`]* {written}\b", text), f"{called} {written}"


def test_the_examples_of_extending_play(tmp_path, python):
    """The policy, teacher, source and distribution of docs/extending.md are put into a package and simulated."""
    text = PAGES["docs/extending.md"]
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    package = tmp_path / "mypackage"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, mark in (
        ("policies", "class Greedy"),
        ("teachers", "class Explore(Teacher):"),
        ("instances", "class Ladder"),
        ("distributions", "class Triangle"),
    ):
        (package / f"{name}.py").write_text(next(block for block in blocks if mark in block))
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import tutelage
data = tutelage.simulate(
    "paper", "mypackage.teachers:Explore(pulls=50)", "mypackage.policies:Greedy", horizon=2000, runs=2
)
assert (data.target == 4).all()
source = "mypackage.instances:Ladder(arms=3,rewards='mypackage.distributions:Triangle(width=0.5)')"
data = tutelage.simulate(source, "none", "mypackage.policies:Greedy", horizon=300, runs=2)
assert data.sizes["arm"] == 3
"""
    assert python("-c", code).returncode == 0


def test_links_lead_somewhere():
    """Every relative link in a page leads to a file or folder of the project."""
    for page, text in PAGES.items():
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("name", ["QUICK := $(addprefix tests/,", "SLOW := $(addprefix --ignore=tests/,"])
def test_listed_tests_exist(name):
    """Every folder and file of `make test-quick`, and of what `make test` leaves out, is there."""
    listed = (ROOT / "Makefile").read_text().partition(name)[2].partition(")")[0]
    places = listed.replace("\\", " ").split()
    assert len(places) > 10
    assert [place for place in places if not (ROOT / "tests" / place).exists()] == []


def test_programs_of_the_makefile_exist():
    """Each Python file that a target runs is there."""
    places = re.findall(r"/python ([\w/.-]+\.py)", (ROOT / "Makefile").read_text())
    assert len(places) > 5
    assert [place for place in places if not (ROOT / place).is_file()] == []


def test_listed_pages_exist():
    """Every page whose commands `make test` does not run is there."""
    listed = re.search(r"blocks_run\[docs/%\.md\]', (.*?)\)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1]
    assert [page for page in listed.split() if f"docs/{page}.md" not in PAGES] == []


SITE = ROOT / "docs" / "site"


def test_the_navigation_names_pages():
    """Each name in the site's tables of contents is a page or generated; that no page is missing the build checks."""
    trees = re.findall(r"^:::\{toctree\}\n(.*?)^:::$", "\n".join(PAGES.values()), re.MULTILINE | re.DOTALL)
    named = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    pages = {page.removeprefix("docs/").removesuffix(".md") for page in PAGES}
    assert set(named) - pages == {"contributing", "changelog", "commands", "http", "api/index", "0*"}
    assert len(named) == len(set(named))


def test_the_generated_reference_is_complete(monkeypatch, tmp_path):
    """Every command and option, HTTP operation and module has its place on a page of the site."""
    import typer.main

    monkeypatch.syspath_prepend(SITE)
    reference = importlib.import_module("reference")

    reference.write_reference(tmp_path)
    written, http = (tmp_path / "commands.rst").read_text(), (tmp_path / "http.rst").read_text()
    for called, command in commands(typer.main.get_command(app)):
        part = re.split(rf"^{called}\n-+$", written, flags=re.MULTILINE)[1]
        for option in command.params:
            assert option.hidden or option.param_type_name == "argument" or option.opts[-1] in part, called
    assert "``directive``" in http
    for route in api_routes(*[MagicMock()] * 3):
        assert not route.summary or f"\n{route.method} {route.path}\n" in http, route.path
    api = "".join(page.read_text() for page in (tmp_path / "api").iterdir())
    for module in (ROOT / "src" / "tutelage").rglob("*.py"):
        name = ".".join(module.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        if ".cli" not in name and "__main__" not in name and name != "tutelage":
            assert f"automodule:: {name}\n" in api, name


def test_the_first_hour_is_filled_in(monkeypatch, tmp_path):
    """A page's blocks are run in one folder, and their output and pictures are put into it."""
    monkeypatch.syspath_prepend(SITE)
    first_hour = importlib.import_module("first_hour")

    page = tmp_path / "hour.md"
    page.write_text("```sh\necho 3 > a.png; echo 1 2\n```\n\n<!-- output -->\n\n<!-- picture: a.png: A line -->\n")
    first_hour.run_page(page)
    assert page.read_text().endswith("```\n\n```text\n1 2\n```\n\n![A line](pictures/hour/a.png)\n")
    assert (tmp_path / "pictures" / "hour" / "a.png").read_text() == "3\n"
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(SystemExit, match="failed"):
        first_hour.run_page(page)
