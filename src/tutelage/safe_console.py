"""A console for text that others have written."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tutelage.text import format_controls


class SafeConsole(Console):
    """A console that writes control characters out, which a terminal would obey wherever they come from.

    It leaves ``:name:`` as it is, which rich would replace by an emoji.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render without control characters in the text."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else format_controls(text), style, control)
