"""The tables of the documentation that follow from the code."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "docs" / "make_tables.py"


def test_the_tables_are_up_to_date():
    """`make docs-tables` would change no page."""
    spec = importlib.util.spec_from_file_location("make_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outdated = [path.name for path in module.outdated_pages()]
    assert outdated == [], "run make docs-tables"
