"""The contract of the set: what a status item is, and how a kind of item declares itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tutelage.service.monitoring.campaign_view import CampaignView
from tutelage.service.monitoring.forecast import Forecast

Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # the most severe first
Colour = Literal["red", "amber", "green", "grey", "blue", "plain"]
_ALERT_COLOURS: dict[Severity, Colour] = {"critical": "red", "warning": "amber"}


@dataclass(frozen=True)
class StatusItem:
    """One thing that an operator must know about a campaign.

    ``title`` is free of running numbers, so that it can stand in a browser's tab; ``details`` has them.
    ``action`` says what to do, ``command`` is the line to type for it; either is empty if there is none.
    ``client`` is the number of the client that causes it.  ``info_colour`` is how the page shows an item that
    is not an alert.
    """

    kind: str
    severity: Severity
    title: str
    details: str
    action: str = ""
    command: str = ""
    client: int | None = None
    info_colour: Colour = "plain"

    @property
    def message(self) -> str:
        """Title and details as one text."""
        return f"{self.title} {self.details}".rstrip()

    @property
    def is_alert(self) -> bool:
        """Whether somebody has to act, now or soon."""
        return self.severity != "info"

    @property
    def colour(self) -> Colour:
        """The colour of the item on the page."""
        return _ALERT_COLOURS.get(self.severity, self.info_colour)


Check = Callable[[CampaignView, Forecast, Any], StatusItem | None]


@dataclass(frozen=True)
class StatusCase:
    """What the documentation says of a kind at one severity: when it is shown, and what to do then."""

    severity: Severity
    when: str
    action: str


def never(view: CampaignView, forecast: Forecast, thresholds: object) -> None:
    """The check of a kind that does not follow from a campaign's view."""


@dataclass(frozen=True)
class StatusKind:
    """A kind of status item: its name, its documentation, and the function that finds it in a view.

    ``check`` gets the settings that its file declares, as fields of
    :class:`~tutelage.service.monitoring.status.Thresholds`.  A kind with a critical or warning case is also a
    gauge of ``/metrics``.
    """

    name: str
    cases: tuple[StatusCase, ...]
    check: Check = never

    @property
    def is_alert(self) -> bool:
        """Whether the kind is exported as a gauge."""
        return any(case.severity != "info" for case in self.cases)

    @property
    def metric(self) -> str:
        """The name of its gauge."""
        return f"tutelage_{self.name.replace(' ', '_')}"

    @property
    def metric_help(self) -> str:
        """The description of its gauge."""
        return f"1 while the campaign has the status item '{self.name}', otherwise 0. {self.cases[0].when}"
