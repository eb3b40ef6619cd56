"""``tutelage campaign monitor``: campaigns of a running server, as they go on."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tutelage.cli.completion import complete_campaign
from tutelage.cli.options import argument, number_option
from tutelage.cli.printing import checked_output, create_definitions
from tutelage.cli.result_tables import create_table
from tutelage.cli.server_options import Server
from tutelage.cli.server_requests import campaign_path, connect, name_server, send
from tutelage.errors import InputError, RefusalError
from tutelage.safe_console import SafeConsole
from tutelage.text import UNKNOWN, format_count, format_name, format_number, format_second, shorten_name

_STYLES = {"critical": "red", "warning": "yellow"}
_BAR_COLUMNS, _NAME_COLUMNS = 40, 32
_LONGEST_INTERVAL = 3600.0


@dataclass(frozen=True)
class Sample:
    """What the server says of a campaign: its summary, status items, and of one campaign the totals.

    ``rate`` is in pulls per second since the previous sample, None for the first.
    """

    summary: dict[str, Any]
    items: list[dict[str, Any]]
    totals: dict[str, Any] | None
    rate: float | None

    @property
    def arm_pulls(self) -> list[int]:
        """The pulls of each arm by all clients; empty without totals."""
        return [sum(pulls) for pulls in zip(*self.totals["pulls"], strict=True)] if self.totals else []


def monitor(
    name: Annotated[
        str | None, argument("NAME", "Name of the campaign.", show_default="all", autocompletion=complete_campaign)
    ] = None,
    every: Annotated[float, number_option("SECONDS", "Seconds between two updates, from 0.2 to 3600.")] = 2.0,
    server: Server = None,
) -> None:
    """Show a campaign, or all of them, until Ctrl-C.

    The view is updated every few seconds.  If standard output is not a terminal, a line is
    printed for each campaign that has changed.
    """
    if not 0.2 <= every <= _LONGEST_INTERVAL:
        raise InputError(f"Invalid --every {every:g}: use 0.2 to {_LONGEST_INTERVAL:g} seconds.")
    looks = _look_repeatedly(name, server, every)
    if sys.stdout.isatty():
        console = SafeConsole(highlight=False)
        with Live(console=console, auto_refresh=False, screen=False) as live:
            for found in looks:
                live.update(_create_view(found, name, console.height), refresh=True)
    else:
        _print_changes(looks)


def _look_repeatedly(name: str | None, server: str | None, interval: float) -> Iterator[list[Sample] | str]:
    """Yield samples, or why there are none; the first failure is raised, since nothing may ever answer there."""
    known: dict[str, tuple[float, int]] = {}
    has_answered = False
    while True:
        begun = time.monotonic()
        try:
            found: list[Sample] | str = _sample(name, server, known)
            has_answered = True
        except RefusalError as error:
            if not has_answered:
                raise
            found = str(error)
        yield found
        time.sleep(max(interval - (time.monotonic() - begun), 0.1))


def _sample(name: str | None, server: str | None, known: dict[str, tuple[float, int]]) -> list[Sample]:
    """Ask the server; ``known`` has the time and pulls of the previous sample of each campaign."""
    with connect(server) as http:
        if name is None:
            summaries = send(http, server, "GET", "/v1/campaigns")["campaigns"]
            listed, totals = send(http, server, "GET", "/v1/status")["campaigns"], None
        else:
            summaries = [send(http, server, "GET", campaign_path(name))]
            listed = [send(http, server, "GET", f"{campaign_path(name)}/status")]
            totals = send(http, server, "GET", f"{campaign_path(name)}/totals")
        all_items = {one["name"]: one["items"] for one in listed}
        found = []
        for summary in summaries:
            items = all_items.get(summary["name"], [])
            now, pulls = time.monotonic(), summary["num_pulls"]
            before = known.get(summary["name"])
            known[summary["name"]] = now, pulls
            rate = None if before is None else max(pulls - before[1], 0) / (now - before[0])
            for item in items:
                item["command"] = name_server(item["command"], server)
            found.append(Sample(summary, items, totals, rate))
    return found


def _print_changes(looks: Iterator[list[Sample] | str]) -> None:
    printed: dict[str, str] = {}
    for found in looks:
        for name, line in (
            [("", found)] if isinstance(found, str) else [(one.summary["name"], _line(one)) for one in found]
        ):
            if printed.get(name) != line:
                printed[name] = line
                with checked_output():
                    sys.stdout.write(f"{_clock()}  {line}\n")


def _line(sample: Sample) -> str:
    """Describe a campaign in a line that changes only if the campaign does."""
    one = sample.summary
    words = ", ".join(item["kind"] for item in sample.items if item["severity"] != "info") or one["report"]
    target = f"decided on {format_name(one['target'])}" if one["target"] else "not decided"
    return (
        f"{one['name']}: {one['status']}, round {one['round']:,} of {one['horizon']:,}, "
        f"{format_count(one['num_pulls'], 'pull')}, cost {format_number(one['cost'])}, {target}, {words}"
    )


def _create_view(found: list[Sample] | str, name: str | None, height: int) -> RenderableType:
    if isinstance(found, str):
        return Text(f"{_clock()}  {found}", style="red")
    end = Text(f"{_clock()}, Ctrl-C ends", style="dim")
    if name is not None:
        return Group(*_view_one(found[0], height), "", end)
    return Group(
        _view_all(found[: max(height - 4, 1)]), *_count_hidden(len(found) - max(height - 4, 1), "campaign"), end
    )


def _view_all(found: list[Sample]) -> RenderableType:
    if not found:
        return Text("The server has no campaigns.")
    table = create_table("round", "pulls", "pulls/s", "cost", "target", first="campaign", width=_NAME_COLUMNS)
    table.add_column("status", overflow="ellipsis", no_wrap=True)
    for one in found:
        summary = one.summary
        worst = one.items[0] if one.items else None
        style = _STYLES.get(worst["severity"], "") if worst else ""
        table.add_row(
            shorten_name(summary["name"], _NAME_COLUMNS),
            f"{summary['round']:,} of {summary['horizon']:,}",
            f"{summary['num_pulls']:,}",
            _format_rate(one.rate),
            format_number(summary["cost"]),
            Text(shorten_name(summary["target"] or UNKNOWN, 16), style="green"),
            Text(worst["kind"] if worst else summary["status"], style=style),
        )
    return table


def _view_one(one: Sample, height: int) -> Iterator[RenderableType]:
    """A campaign: where it stands, its arms, and what an operator must know."""
    summary = one.summary
    excluded = f", {len(summary['excluded']):,} excluded" if summary["excluded"] else ""
    rounds = Table.grid(padding=(0, 2))
    rounds.add_row(
        ProgressBar(total=summary["horizon"], completed=summary["round"], width=_BAR_COLUMNS),
        f"{summary['round']:,} of {summary['horizon']:,}",
    )
    pulls = f"{summary['num_pulls']:,} by {format_count(len(summary['clients']), 'client')}{excluded}"
    yield create_definitions(
        [
            ("campaign", Text(f"{summary['name']}, {summary['status']}")),
            ("teacher", Text(f"{summary['teacher']}: {summary['report']}")),
            ("round", rounds),
            ("pulls", Text(f"{pulls}, {_format_rate(one.rate)} per second")),
            ("cost", Text(format_number(summary["cost"]))),
            ("target", Text(summary["target"] or "not decided", style="green" if summary["target"] else "")),
        ]
    )
    yield ""
    yield from _view_arms(one, max(height - 16, 3))
    for item in one.items:
        style = _STYLES.get(item["severity"], "")
        yield Text.assemble("\n", (item["kind"], f"bold {style}"), f"  {item['message']} {item['action']}".rstrip())
        if item["command"]:
            yield Text(f"    {item['command']}", style="bold")


def _view_arms(one: Sample, most: int) -> Iterator[RenderableType]:
    """The arms by their pulls, the most first: a share as a bar, and what the teacher makes of the arm."""
    counts = one.arm_pulls
    total = max(sum(counts), 1)
    table = create_table("pulls", "share", first="arm", width=_NAME_COLUMNS)
    table.add_column("")
    table.add_column("")
    for arm in sorted(range(len(counts)), key=lambda arm: -counts[arm])[:most]:
        name = one.summary["arms"][arm]
        is_target = name == one.summary["target"]
        word = "target" if is_target else "active" if name in one.summary["active_arms"] else "ruled out"
        table.add_row(
            Text(shorten_name(name, _NAME_COLUMNS), style="green" if is_target else ""),
            f"{counts[arm]:,}",
            f"{counts[arm] / total:.0%}",
            ProgressBar(total=total, completed=counts[arm], width=_BAR_COLUMNS // 2),
            Text(word, style="green" if is_target else "dim" if word == "ruled out" else ""),
        )
    yield table
    yield from _count_hidden(len(counts) - most, "arm")


def _count_hidden(number: int, noun: str) -> list[RenderableType]:
    return [Text(f"and {format_count(number, noun)} more", style="dim")] if number > 0 else []


def _format_rate(rate: float | None) -> str:
    return UNKNOWN if rate is None else format_number(rate)


def _clock() -> str:
    return format_second(time.time_ns() // 1000)
