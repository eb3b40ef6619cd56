"""What the demo shows: a table that is drawn anew on a terminal, a line now and then in a pipe."""

import contextlib
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from tutelage.cli.demo_players import LATELY, Player, Players
from tutelage.cli.output import printing
from tutelage.cli.page import Page, grid

_LINE_SECONDS = 5.0  # between two lines in a pipe
# What fits beside the clients' names, by the columns of the terminal.
_HEADINGS = (
    (67, ("pulls", "favourite arm lately", "its share", "untaught")),
    (46, ("pulls", "arm", "share", "untaught")),
    (0, ("pulls", "arm", "share")),
)
_LEARNING = re.compile(r"(?:learning|betting),(?: epoch ([0-9,]+),)? ([0-9,]+) arms? active")


class DemoPage:
    """Everything that the demo says, to standard output."""

    def __init__(self) -> None:
        self._page, self._console = Page(), Console(highlight=False)
        self._session: Live | None = None
        self._begun = self._line = time.monotonic()
        self._last: tuple[dict[str, Any], Players, int | None] | None = None

    def wait(self) -> None:
        """Say at once that something happens."""
        with printing():
            self._page.put("Starting a server ...")

    def begin(self, dashboard: str, players: Players) -> None:
        """Say what is to be seen, and where else."""
        likes = [int(player.means.argmax()) for player in players.all]
        best = int(players.gaps.argmin())
        self._page.put(
            "Five clients play the paper's instance over HTTP; none of them knows of teaching.",
            f"Arm {best} is best for all together, but {sum(arm != best for arm in likes)} of them do better "
            "with another.",
            f"Dashboard: {dashboard}",
            "",
        )
        self._begun = self._line = time.monotonic()

    @contextlib.contextmanager
    def live(self) -> Iterator[None]:
        """Meanwhile the table is drawn, if there is a terminal."""
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, auto_refresh=False) as self._session:
            yield

    def show(self, told: dict[str, Any], players: Players, target: int | None, *, is_last: bool) -> None:
        """How it stands: ``told`` is the campaign as the server tells it."""
        self._last = told, players, target
        if self._session is not None:
            self._session.update(self._drawn(told, players), refresh=True)
            return
        now = time.monotonic()
        if is_last or now - self._line >= _LINE_SECONDS:
            self._line = now
            regret, untaught = players.regrets()
            favourites = " ".join(_favourite(player)[0] for player in players.all)
            with printing():
                sys.stdout.write(
                    f"round {told['round']:,}: in play {_numbers(told)}; favourites {favourites}; "
                    f"regret {regret:,.0f} (untaught {untaught:,.0f}); cost {told['cost']:,.0f}\n"
                )

    def _drawn(self, told: dict[str, Any], players: Players) -> Group:
        headings = next(names for width, names in _HEADINGS if self._console.width >= width)
        table = grid(*headings, first="client")
        regret, untaught = players.regrets()
        for name, player, twin in zip(told["clients"], players.all, players.twins, strict=True):
            arm, share = _favourite(player)
            style = "green" if told["target"] == f"arm {arm}" else ""
            cells = (f"{player.round:,}", Text(arm, style=style), share, _favourite(twin)[0])
            table.add_row(name, *cells[: len(headings)])
        facts = Grid.grid(padding=(0, 2))
        facts.add_column(no_wrap=True)
        facts.add_column(overflow="fold")
        seconds = time.monotonic() - self._begun
        for word, fact in (
            ("round", f"{told['round']:,} of {told['horizon']:,}, after {seconds:.0f} s"),
            ("arms in play", _numbers(told)),
            ("teacher", _plainly(told["state"])),
            ("regret", f"{regret:,.0f}; untaught it would be {untaught:,.0f}"),
            ("cost", f"{told['cost']:,.0f}"),
        ):
            facts.add_row(Text(word, style="bold"), Text(fact))
        return Group(table, "", facts)

    def end(self, address: str, *, is_kept: bool) -> None:
        """What was taught, and where to go from here."""
        assert self._last is not None  # noqa: S101 - it was shown at least once
        told, players, target = self._last
        regret, untaught = players.regrets()
        pulls = sum(player.round for player in players.all)
        self._page.put("", *_taught(told, players, target))
        self._page.put(
            f"Regret {regret:,.0f} instead of {untaught:,.0f} untaught, over {pulls:,} pulls; "
            f"{told['cost']:,.0f} of reward was added or taken away for it.",
            "",
        )
        if is_kept:
            self._page.put(
                f"The server stays up: see {address}/c/demo/ or, in another terminal,",
                f"    tutelage campaign show demo --server {address}",
                "Ctrl-C ends it.",
            )
        else:
            self._page.put(
                "Look further:",
                "    tutelage demo --keep             leaves the server up, for its dashboard",
                "    tutelage demo --teacher none     the same clients, untaught",
                "    tutelage serve                   a server of your own: docs/server.md",
            )


def _taught(told: dict[str, Any], players: Players, target: int | None) -> list[str]:
    if target is None:
        return [f"{told['teacher'].partition('(')[0]} has decided for no arm in {told['round']:,} rounds."]
    right = "the best for all" if players.gaps[target] == 0 else "not the best for all"
    follow = "All clients follow" if players.follow(target) else "Not all clients follow yet"
    return [
        f"Decided for {told['target']}, {right}. {follow}: of the last {LATELY} pulls of each, "
        + ", ".join(f"{player.lately.count(target)}" for player in players.all)
        + " were of it."
    ]


def _favourite(player: Player) -> tuple[str, str]:
    found = player.favourite()
    return ("-", "-") if found is None else (f"{found[0]}", f"{found[1]:.0%}")


def _plainly(state: str) -> str:
    """Where the teacher stands, for people who do not know its words."""
    found = _LEARNING.match(state)
    if found is None:
        return state
    arms = "one arm" if found[2] == "1" else f"any of {found[2]} arms"
    epoch = f", in epoch {found[1]}" if found[1] else ""
    return f"still learning{epoch}: {arms} may be the best for all{state[found.end() :]}"


def _numbers(told: dict[str, Any]) -> str:
    """The arms that the teacher still considers, by number."""
    return " ".join(arm.removeprefix("arm ") for arm in told["active_arms"])
