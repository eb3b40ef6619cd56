"""Pictures and page on disk."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from tutelage import results
from tutelage.experiments import Played
from tutelage.plots import panel, save_figure
from tutelage.writing import write_whole

_PAGE = "report.html"
_ENDINGS = (".pdf", ".png")
Drawing = Callable[[str], None]  # is told what is being made


@dataclass(frozen=True)
class Report:
    """What was made: the page, the pictures of each panel by its name, and whether any of it is new."""

    page: Path
    pictures: dict[str, list[Path]]
    is_new: bool


def write_report(played: Played, folder: str | Path | None = None, drawing: Drawing | None = None) -> Report:
    """A PDF and a PNG of every panel and one ``report.html``, in the experiments' folder or another.

    The page is written last and holds a fingerprint of all that it depends on: where it is there with all
    pictures, nothing is done.  The same experiments give the same bytes.  Raises ``OSError`` for what cannot
    be written.
    """
    folder = played.folder if folder is None else Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        data.panel.name: [folder / f"{data.panel.name}{ending}" for ending in _ENDINGS]
        for data in played.panels
    }
    place, fingerprint = folder / _PAGE, _fingerprint(played)
    if all(path.is_file() for paths in pictures.values() for path in paths) and _has(place, fingerprint):
        return Report(place, pictures, is_new=False)
    for data in played.panels:
        if drawing is not None:
            drawing(data.panel.name)
        figure = panel(data.dataset, data.panel.quantity, data.panel.title)
        for path in pictures[data.panel.name]:
            save_figure(figure, path)
    if drawing is not None:
        drawing(_PAGE)
    from tutelage.report.page import page

    write_whole(place, page(played, fingerprint).encode())
    return Report(place, pictures, is_new=True)


def _fingerprint(played: Played) -> str:
    """The hash of the figures and of all that they are drawn with."""
    looks = [
        resources.files("tutelage.plots").joinpath("tutelage.mplstyle").read_text(encoding="utf-8"),
        resources.files("tutelage.report").joinpath("page.html").read_text(encoding="utf-8"),
        results.version("matplotlib"),
        results.version("bokeh"),
    ]
    told = json.dumps([played.fingerprint, played.notes, looks])
    return hashlib.sha256(told.encode()).hexdigest()


def _has(page: Path, fingerprint: str) -> bool:
    """Whether a page is there that was made from the same; its fingerprint stands within its first lines."""
    try:
        with page.open("rb") as file:
            return fingerprint.encode() in file.read(2000)
    except FileNotFoundError:
        return False
