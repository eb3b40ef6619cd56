"""What a report shows of each panel, its pictures and its part of the page, made while other panels are simulated."""

from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from tutelage.engine.background import BackgroundMap, BackgroundTask
from tutelage.experiments import PanelResult

if TYPE_CHECKING:
    from tutelage.report.page import PagePanel

ENDINGS = (".pdf", ".png")  # of the pictures of a panel
_PartName = Literal["pictures", "page"]
_Task = BackgroundTask[tuple[_PartName, PanelResult]]


@dataclass(frozen=True, eq=False)
class _PanelTasks:
    pictures: _Task
    page: _Task


class PanelParts:
    """The parts of panels, made in copies of this process, up to ``workers`` of them at a time."""

    def __init__(self, workers: int | None = None) -> None:
        self._background = BackgroundMap(_make_part, workers, _import_libraries)
        self._tasks: dict[PanelResult, _PanelTasks] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._background.__exit__(kind, error, trace)

    def start(self) -> None:
        """Import what draws in a copy, before the first panel is there."""
        self._background.start()

    def add(self, data: PanelResult) -> None:
        """Begin to make the parts of a panel, if it was not added before."""
        if data not in self._tasks:
            submit = self._background.submit
            self._tasks[data] = _PanelTasks(pictures=submit(("pictures", data)), page=submit(("page", data)))

    def advance(self) -> None:
        """Give the copies more to do; call this from time to time."""
        self._background.advance()

    def draw_pictures(self, data: PanelResult) -> list[bytes]:
        """Return the pictures of an added panel, one for each of ``ENDINGS``."""
        pictures: list[bytes] = self._background.result(self._tasks[data].pictures)
        return pictures

    def make_page_panel(self, data: PanelResult) -> "PagePanel":
        """Return what the page shows of an added panel."""
        panel: PagePanel = self._background.result(self._tasks[data].page)
        return panel


def _import_libraries() -> None:
    import tutelage.plots
    import tutelage.report.interactive
    import tutelage.report.page  # noqa: F401


def _make_part(wanted: tuple[_PartName, PanelResult]) -> Any:
    name, data = wanted
    if name == "pictures":
        return draw_pictures(data)
    from tutelage.report.page import make_page_panel

    return make_page_panel(data)


def draw_pictures(data: PanelResult) -> list[bytes]:
    """Return the pictures of a panel, one for each of ``ENDINGS``."""
    from tutelage import plots

    figure = plots.draw_panel(data.dataset, data.panel.quantity, data.panel.title or data.panel.name)
    return [plots.render_figure(figure, ending) for ending in ENDINGS]
