"""What ``tutelage demo`` prints: a table on a terminal, or a line every few seconds in a pipe."""

import contextlib
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.text import Text

from tutelage.cli.demo_clients import RECENT_PULLS, DemoClient, DemoClients
from tutelage.cli.printing import Printer, checked_output, create_definitions
from tutelage.cli.result_tables import create_table
from tutelage.safe_console import SafeConsole

_LINE_SECONDS = 5.0  # between two lines in a pipe
# Headings that fit next to the clients' names, by the minimum width of the terminal.
_HEADINGS = (
    (67, ("pulls", "favourite arm", "its share", "untaught")),
    (46, ("pulls", "arm", "share", "untaught")),
    (0, ("pulls", "arm", "share")),
)
_LEARNING = re.compile(r"(?:learning|betting),(?: epoch ([0-9,]+),)? ([0-9,]+) arms? active")


class DemoOutput:
    """Everything that the demo prints to standard output."""

    def __init__(self) -> None:
        self._printer, self._console = Printer(), SafeConsole(highlight=False)
        self._live: Live | None = None
        self._started = self._last_line = time.monotonic()
        self._last: tuple[dict[str, Any], DemoClients, int | None] | None = None
        self._decided: int | None = None  # the round in which a target was first seen
        self._paid: int | None = None  # the round in which the balance last became positive

    def print_introduction(self, dashboard: str, clients: DemoClients) -> None:
        """Say what the demo shows, and where its dashboard is."""
        own_best = [int(client.means.argmax()) for client in clients.taught]
        best = int(clients.gaps.argmin())
        self._printer.print(
            f"Dashboard: {dashboard} (in a few seconds)",
            "",
            "Five clients pull the arms of the paper's instance over HTTP; none of them knows about teaching.",
            f"Arm {best} is best for all of them together, but {sum(arm != best for arm in own_best)} of "
            "them would do better with another arm.",
            "Each has a twin that is not taught. Say a pull earns its arm's mean over all clients, in euros: regret is",
            "how much more the best arm would have earned, and cost is the sum of all changes to rewards.",
            "",
        )
        sys.stdout.flush()

    def begin(self) -> None:
        """Count time from now."""
        self._started = self._last_line = time.monotonic()

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """Draw the table during the block, if standard output is a terminal."""
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False) as self._live:
            yield

    def update(self, campaign: dict[str, Any], clients: DemoClients, target: int | None, *, is_last: bool) -> None:
        """Show the progress; ``campaign`` is the server's answer about the campaign."""
        self._last = campaign, clients, target
        for sentence in self._find_events(campaign, clients):
            if self._live is not None:
                self._live.console.print(Text(sentence, style="green"))
            else:
                self._printer.print(sentence)
        if self._live is not None:
            self._live.update(self._create_view(campaign, clients), refresh=True)
            return
        now = time.monotonic()
        if is_last or now - self._last_line >= _LINE_SECONDS:
            self._last_line = now
            regret, untaught = clients.compute_regrets()
            favourites = " ".join(_format_favourite(client)[0] for client in clients.taught)
            with checked_output():
                sys.stdout.write(
                    f"round {campaign['round']:,}: active arms {_list_arms(campaign)}; "
                    f"favourite arms {favourites}; "
                    f"regret {regret:,.0f} (untaught {untaught:,.0f}); cost {campaign['cost']:,.0f}\n"
                )

    def _find_events(self, campaign: dict[str, Any], clients: DemoClients) -> Iterator[str]:
        """Yield what has just happened: the decision, and that teaching has paid for itself."""
        round = campaign["round"]
        if self._decided is None and campaign["target"] is not None:
            self._decided = round
            yield f"Round {round:,}: decided on {campaign['target']}."
        balance = _compute_balance(campaign, clients)
        if balance <= 0:
            self._paid = None
        elif self._paid is None and self._decided is not None:
            self._paid = round
            yield f"Round {round:,}: teaching has saved more than it cost."

    def _create_view(self, campaign: dict[str, Any], clients: DemoClients) -> Group:
        headings = next(names for width, names in _HEADINGS if self._console.width >= width)
        table = create_table(*headings, first="client")
        regret, untaught = clients.compute_regrets()
        for name, client, twin in zip(campaign["clients"], clients.taught, clients.twins, strict=True):
            arm, share = _format_favourite(client)
            style = "green" if campaign["target"] == f"arm {arm}" else ""
            cells = (f"{client.round:,}", Text(arm, style=style), share, _format_favourite(twin)[0])
            table.add_row(name, *cells[: len(headings)])
        seconds = time.monotonic() - self._started
        facts = (
            ("round", f"{campaign['round']:,} of {campaign['horizon']:,}, after {seconds:.0f} s"),
            ("active arms", _list_arms(campaign)),
            ("teacher", _explain_state(campaign["report"])),
            ("regret", f"{regret:,.0f} taught, {untaught:,.0f} untaught: {untaught - regret:,.0f} saved"),
            ("cost", f"{campaign['cost']:,.0f}"),
            ("balance", f"{_compute_balance(campaign, clients):+,.0f} euros"),
        )
        return Group(table, "", create_definitions((word, Text(fact)) for word, fact in facts))

    def print_end(self, address: str, *, is_kept: bool) -> None:
        """Say what was taught, and which commands to try next."""
        assert self._last is not None  # noqa: S101 - update was called at least once
        campaign, clients, target = self._last
        self._printer.print("", *_describe_decision(campaign, clients, target))
        self._printer.print(*self._describe_balance(campaign, clients), "")
        if is_kept:
            self._printer.print(
                f"The server is still running: see {address}/c/demo/ or, in another terminal,",
                f"    tutelage campaign show demo --server {address}",
                "Press Ctrl-C to stop it.",
            )
        else:
            self._printer.print(
                "Next, try:",
                "    tutelage demo --open --keep      see the dashboard, and keep the server",
                "    tutelage demo --teacher none     the same clients without teaching",
                "    tutelage serve                   your own server (docs/server.md)",
            )

    def _describe_balance(self, campaign: dict[str, Any], clients: DemoClients) -> Iterator[str]:
        """Say what was saved, what that cost, and whether it paid."""
        regret, untaught = clients.compute_regrets()
        pulls, cost = sum(client.round for client in clients.taught), campaign["cost"]
        yield (
            f"Compared with always pulling the best arm, {pulls:,} pulls lost {untaught:,.0f} euros without teaching "
            f"and {regret:,.0f} with it: {untaught - regret:,.0f} saved. All changes to rewards cost {cost:,.0f}."
        )
        balance = _compute_balance(campaign, clients)
        if balance > 0:
            since = "" if self._paid is None else f", and it had paid for itself by round {self._paid:,}"
            yield f"Teaching paid: {balance:,.0f} euros are left{since}."
        elif cost == 0:
            yield "Nothing was changed, so there is nothing to pay or to save."
        elif self._decided is None:
            yield f"Teaching has not paid yet: {-balance:,.0f} euros are missing, and learning goes on."
        else:
            yield (
                f"Teaching has not paid yet: {-balance:,.0f} euros are missing. What is saved grows with each round "
                "from now on: try a larger --horizon."
            )


def _compute_balance(campaign: dict[str, Any], clients: DemoClients) -> float:
    """Return the regret that teaching saved, minus its cost; a reward of 1 is worth 1."""
    regret, untaught = clients.compute_regrets()
    return untaught - regret - float(campaign["cost"])


def _describe_decision(campaign: dict[str, Any], clients: DemoClients, target: int | None) -> list[str]:
    if target is None:
        teacher = campaign["teacher"].partition("(")[0]
        return [f"{teacher} has not decided on an arm in {campaign['round']:,} rounds."]
    verdict = "the best arm for all" if clients.gaps[target] == 0 else "not the best arm for all"
    follow = "All clients follow" if clients.all_follow(target) else "Not all clients follow yet"
    counts = ", ".join(f"{client.recent_arms.count(target)}" for client in clients.taught)
    sentence = f"The teacher decided on {campaign['target']}, {verdict}. {follow}: "
    return [f"{sentence}of each client's last {RECENT_PULLS} pulls, {counts} were of this arm."]


def _format_favourite(client: DemoClient) -> tuple[str, str]:
    found = client.favourite_arm()
    return ("-", "-") if found is None else (f"{found[0]}", f"{found[1]:.0%}")


def _explain_state(state: str) -> str:
    """Reword the teacher's state for people who do not know its terms."""
    found = _LEARNING.match(state)
    if found is None:
        return state
    arms = "one arm" if found[2] == "1" else f"any of {found[2]} arms"
    epoch = f", in epoch {found[1]}" if found[1] else ""
    return f"still learning{epoch}: {arms} may be the best for all{state[found.end() :]}"


def _list_arms(campaign: dict[str, Any]) -> str:
    """List the numbers of the arms that the teacher still considers."""
    return " ".join(arm.removeprefix("arm ") for arm in campaign["active_arms"])
