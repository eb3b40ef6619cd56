"""What a campaign can be asked, and the answer once it is decided: what goes between threads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tutelage.service.campaigns.messages import PullRequest
from tutelage.service.campaigns.session import Session
from tutelage.service.campaigns.settings import Settings

Act = Literal["register", "start", "stop", "exclude", "exported", "delete"]


@dataclass(slots=True, eq=False)
class Job:
    """Something that a campaign is asked: its result or error once ``deliver`` has been called with it."""

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
    """A new campaign, started at once if so asked."""

    settings: Settings | None = None
    start: bool = False


@dataclass(slots=True, eq=False)
class ActionJob(Job):
    """An operator's or a client's act."""

    act: Act = "start"
    client: str = ""
    position: int | None = None  # what an export reaches up to; None is all that there is
    created: int | None = None  # of the campaign that was exported: by now the name may be another's


@dataclass(slots=True, eq=False)
class ReadJob(Job):
    """Call ``look`` with the campaign between two groups; it must be quick and change nothing."""

    look: Callable[[Session], Any] = field(default=lambda session: session)
