"""Jobs for the engine, which pass between threads with their results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import Settings

Act = Literal["register", "start", "stop", "exclude", "exported", "delete"]


@dataclass(slots=True, eq=False)
class Job:
    """A request to a campaign; it has a result or an error once ``deliver`` has been called with it."""

    name: str
    result: Any = None
    error: Exception | None = None
    waiter: Any = None


@dataclass(slots=True, eq=False)
class PullJob(Job):
    """Answer these pulls; the result is a list of ``PullResponse``."""

    pulls: Sequence[PullRequest] = ()


@dataclass(slots=True, eq=False)
class CreateJob(Job):
    """Create a campaign, and start it if ``start``."""

    settings: Settings | None = None
    start: bool = False


@dataclass(slots=True, eq=False)
class ActionJob(Job):
    """Change a campaign, for an operator or a client."""

    act: Act = "start"
    client: str = ""
    position: int | None = None  # the end of an export; None is the end of the ledger
    created: int | None = None  # of the exported campaign: by now another may have its name


@dataclass(slots=True, eq=False)
class ReadJob(Job):
    """Call ``look`` with the session between two groups; it must be quick and change nothing."""

    look: Callable[[Session], Any] = field(default=lambda session: session)
