"""Builds the documentation as a site: `make docs`.

The pages of docs/ are copied into out/docs-source/, where the pages that follow from the code are added
(:mod:`reference`) and the first hour is run (:mod:`first_hour`).  Sphinx then writes out/docs/.  A warning, such as
that of a link that leads nowhere, ends the build with an error.  ``--no-run`` leaves out running the first hour, for a
look at a page while one writes it.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import first_hour
import reference
import sphinx.cmd.build

ROOT = Path(__file__).parents[2]
DOCS, SOURCE, SITE = ROOT / "docs", ROOT / "out" / "docs-source", ROOT / "out" / "docs"
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+([^)]*)\)")
_ROOT_PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


def name_files(text: str) -> str:
    """Replace links to files that are not pages of the site by the files' names in the repository."""
    for name, target in _ROOT_PAGES.items():
        text = text.replace(f"](../{name})", f"]({target})")
    return _OUTSIDE.sub(r"\1 (`\2` in the repository)", text)


def copy_pages() -> None:
    """Copy the pages and pictures, and the two pages of the root that readers of the site want."""
    for page in DOCS.rglob("*.md"):
        target = SOURCE / page.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = page.read_text(encoding="utf-8")
        update(target, text if page.parent != DOCS else name_files(text))
    for name, target in _ROOT_PAGES.items():
        text = (
            (ROOT / name)
            .read_text(encoding="utf-8")
            .replace("](docs/", "](")
            .replace("](CONTRIBUTING.md)", "](contributing.md)")
        )
        update(SOURCE / target, re.sub(r"\[([^\]]+)\]\((?:SECURITY.md|LICENSE)\)", r"\1", text))
    shutil.copytree(DOCS / "pictures", SOURCE / "pictures", dirs_exist_ok=True)


def update(path: Path, text: str) -> None:
    """Write a file, unless it has this text: Sphinx then builds its page from before."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main() -> int:
    """Build the site, and return the exit status."""
    SOURCE.mkdir(parents=True, exist_ok=True)
    copy_pages()
    reference.write_reference(SOURCE)
    if "--no-run" not in sys.argv:
        first_hour.run_page(SOURCE / "first-hour.md")
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--conf-dir", str(DOCS / "site")]
    status = sphinx.cmd.build.main(
        [*options, "--doctree-dir", str(ROOT / "out" / "docs-trees"), str(SOURCE), str(SITE)]
    )
    if status == 0:
        sys.stdout.write(f"The site is in {os.path.relpath(SITE)}: open {os.path.relpath(SITE / 'index.html')}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
