"""Renders pages in a thread of their own, and each campaign's panels at most once per view."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tutelage.service.dashboard.panels import CampaignPanels, render_panels
from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.status import Thresholds

Result = TypeVar("Result")


class PageRenderer:
    """The panels last rendered of each campaign, for all viewers."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds
        self._panels: dict[str, tuple[CampaignView, dict[str, asyncio.Future[CampaignPanels]]]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tutelage-pages")

    async def panels(self, view: CampaignView, range_name: str = "") -> CampaignPanels:
        """Return the panels of a view with charts of a time range, rendered once for all callers."""
        name = view.metrics.name
        if self._panels.get(name, (None, {}))[0] is not view:
            self._panels[name] = view, {}
        rendered = self._panels[name][1]
        if range_name not in rendered:
            made = self.run(render_panels, view, self._thresholds, range_name)
            rendered[range_name] = asyncio.ensure_future(made)
        return await asyncio.shield(rendered[range_name])

    async def run(self, render: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function in the thread that renders."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, render, *arguments)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()
