"""The contract of the set: what a status item is, and how a kind of item declares itself."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tutelage.service.monitoring.campaign_view import CampaignView, Metrics
from tutelage.text import format_count, format_name, format_percent

Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # the most severe first
Colour = Literal["red", "amber", "green", "grey", "blue", "plain"]
_CASE = re.compile(r"^(Critical|Warning|Info): (.+?)\nAction: (.+?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_ALERT_COLOURS: dict[Severity, Colour] = {"critical": "red", "warning": "amber"}


@dataclass(frozen=True)
class StatusItem:
    """One thing that an operator must know about a campaign.

    ``title`` is free of running numbers, so that it can stand in a browser's tab; ``details`` has them.
    ``action`` says what to do, ``command`` is the line to type for it; each may be empty.
    ``client`` is the number of the client that causes it and ``arm`` that of the arm that it is about, if it is
    one; ``silent_seconds`` is for how long no client has pulled.  ``colour`` is that of the item on the page.
    """

    kind: str
    severity: Severity
    title: str
    details: str
    action: str = ""
    command: str = ""
    client: int | None = None
    colour: Colour = "plain"
    arm: int | None = None
    silent_seconds: float | None = None

    @property
    def message(self) -> str:
        """Title and details as one text."""
        return f"{self.title} {self.details}".rstrip()

    @property
    def is_alert(self) -> bool:
        """Whether somebody has to act, now or soon."""
        return self.severity != "info"


Check = Callable[[CampaignView, Any], StatusItem | None]


@dataclass(frozen=True)
class StatusKind:
    """A kind of status item: its name, its documentation, and the function that finds it in a view.

    ``cases`` are, for each severity, when it is shown and what to do then.  ``check`` gets the settings that
    the kind's file declares, as fields of :class:`~tutelage.service.monitoring.status.Thresholds`.  A kind
    with a critical or warning case is also a gauge of ``/metrics``, which is 1 while what ``gauge`` says is so.
    """

    name: str
    cases: Mapping[Severity, tuple[str, str]]
    colour: Colour
    check: Check
    gauge: str = ""

    def item(
        self,
        severity: Severity,
        title: str,
        details: str,
        action: str = "",
        command: str = "",
        client: int | None = None,
        *,
        arm: int | None = None,
        silent_seconds: float | None = None,
    ) -> StatusItem:
        """An item of this kind; an alert without an ``action`` has that of the documentation."""
        if severity not in self.cases:
            raise ValueError(f"The docstring of {self.name!r} has no case for the severity {severity!r}.")
        if not action and severity != "info":
            action = self.cases[severity][1]
        colour = _ALERT_COLOURS.get(severity, self.colour)
        return StatusItem(self.name, severity, title, details, action, command, client, colour, arm, silent_seconds)

    @property
    def is_alert(self) -> bool:
        """Whether the kind is exported as a gauge."""
        return not self.cases.keys() <= {"info"}

    @property
    def metric(self) -> str:
        """The name of its gauge."""
        return f"tutelage_{self.name.replace(' ', '_')}"

    @property
    def metric_help(self) -> str:
        """The description of its gauge."""
        return f"1 while {self.gauge}, otherwise 0."


def describe_others(count: int, noun: str) -> str:
    """The end of a sentence about one of several, as in "2 other clients show the same"; empty for none."""
    return f"{format_count(count, noun)} {'shows' if count == 1 else 'show'} the same" if count else ""


def describe_deciding_pair(metrics: Metrics) -> str:
    """The pair that the next consultation waits for most, with its share of the quota; there must be one."""
    assert metrics.deciding_pair is not None  # noqa: S101 - the caller knows that pulls are missing
    client, arm = metrics.deciding_pair
    wanted = int(metrics.quota[arm])
    return (
        f"Consultation {metrics.directive} waits most for {format_name(metrics.clients[client])} with "
        f"“{format_name(metrics.arms[arm])}”: {wanted - int(metrics.missing[client, arm]):,} of "
        f"{format_count(wanted, 'pull')} ({format_percent(metrics.quota_share)})"
    )


def status_kind(name: str, *, colour: Colour = "plain", gauge: str = "") -> Callable[[Check], StatusKind]:
    """Make a check a kind, whose documentation is the check's docstring.

    For each severity it has a paragraph "Critical: WHEN" (or Warning, Info) with a line "Action: WHAT TO DO".
    ``colour`` is that of items that are not alerts; ``gauge`` says, to readers who do not know the project's words,
    when the kind's gauge is 1.
    """

    def make_kind(check: Check) -> StatusKind:
        found = _CASE.findall(inspect.getdoc(check) or "")
        cases: dict[Severity, tuple[str, str]] = {
            severity: (" ".join(when.split()), " ".join(action.split()))
            for severity in SEVERITIES
            for case, when, action in found
            if case.lower() == severity
        }
        return StatusKind(name, cases, colour, check, gauge)

    return make_kind
