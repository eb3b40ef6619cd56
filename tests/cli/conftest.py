"""Settings of the tests of commands."""

import pytest

from tutelage import progress_bar


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch):
    """A command that a slow machine holds up prints no line of progress among what a test expects."""
    monkeypatch.setattr(progress_bar, "_LINE_SECONDS", float("inf"))
