"""What the page needs of its interactive panels without importing Bokeh."""

import importlib.util
from pathlib import Path

HEIGHTS = {"regret": 400, "cost": 400, "regret-cost": 440}  # of a panel, in pixels


def load_bokeh_script() -> str:
    """Return Bokeh's core JavaScript, without widgets, tables and mathematics."""
    found = importlib.util.find_spec("bokeh")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'bokeh'", name="bokeh")
    script = Path(found.origin).parent / "server" / "static" / "js" / "bokeh.min.js"
    return script.read_text(encoding="utf-8")
