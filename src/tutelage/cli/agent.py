"""``tutelage agent``: whether an agent of any library can be taught."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tutelage.cli.options import Json, Seed, argument, flag, option, whole_option
from tutelage.cli.printing import Printer, print_answer
from tutelage.errors import InputError
from tutelage.text import format_table_number

if TYPE_CHECKING:
    from rich.table import Table

    from tutelage.measurement.agent_check import AgentCheck
    from tutelage.measurement.agent_verdicts import AgentVerdict

app = typer.Typer(help="Check whether an agent of another library can be taught.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keep ``check`` a command of a group although it is the only one."""


@app.command()
def check(
    agent: Annotated[
        str,
        argument(
            "AGENT",
            "Function that makes the agent from the number of arms and a seed, as package.module:function, or a "
            "policy, as in ucb1.",
        ),
    ],
    arms: Annotated[int, whole_option("K", "Number of arms, at least 2.")] = 5,
    rounds: Annotated[int, whole_option("N", "Number of rounds with each constant reward, at least 10 per arm.")] = 300,
    runs: Annotated[int, whole_option("R", "Number of runs of each measurement, at least 2.")] = 20,
    gamma: Annotated[float, option("G", "Constant reward besides 0 and 1, from 0 to 1.")] = 0.5,
    clients: Annotated[int, whole_option("M", "Number of such clients that the bounds are for.")] = 5,
    gap: Annotated[float, option("D", "Gap that the bounds are for, above 0.")] = 0.2,
    best_mean: Annotated[float, option("MU", "Mean of the best arm that the bounds are for.")] = 0.7,
    horizon: Annotated[int, whole_option("T", "Horizon that the bounds are for.")] = (50_000),
    seed: Seed = 0,
    plot: Annotated[str | None, option("FILE", "Draw the measured curves: a .png, .svg or .pdf file.")] = None,
    force: Annotated[bool, flag("--force", "Replace the file of --plot if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Measure whether an agent can be taught, and by which teacher.

    The agent plays without other clients and gets constant rewards: 0, --gamma and 1.  The exit status is 1 if no
    teacher can teach it.
    """
    from tutelage.measurement.agent_check import check_agent

    place = None if plot is None else _check_place(plot, force)
    found = check_agent(
        agent,
        arms=arms,
        rounds=rounds,
        runs=runs,
        gamma=gamma,
        clients=clients,
        gap=gap,
        best_mean=best_mean,
        horizon=horizon,
        seed=seed,
    )
    if place is not None:
        from tutelage.measurement.agent_picture import draw_check
        from tutelage.plots.layout import save_figure

        save_figure(draw_check(found), place)
    print_answer(found.summary, lambda: _print_check(found), as_json=as_json)
    if not any(each.answer == "yes" for each in found.verdicts):
        raise typer.Exit(1)


def _check_place(plot: str, force: bool) -> Path:
    """Return where the picture can be written.  Raises ``InputError`` where it cannot."""
    from tutelage.plots import FORMATS
    from tutelage.results import check_writable

    place = check_writable(plot)
    if place.suffix.lower() not in FORMATS:
        raise InputError(f"Invalid --plot {plot!r}: use a file that ends in {', '.join(FORMATS)}.")
    if place.exists() and not force:
        raise InputError(f"{plot!r} exists: add --force to replace it, or name another file.")
    return place


def _print_check(found: "AgentCheck") -> None:
    printer = Printer()
    measures, setting = found.measures, found.setting
    printer.print_definitions(
        [
            ("agent", found.agent),
            ("reads 0.5", measures.reading),
            ("repeats with a seed", "yes" if measures.repeats else "no"),
            ("ties", ", ".join(f"{each.ties} under {each.constant:g}" for each in measures.sharings)),
        ]
    )
    printer.print("", _create_measures_table(found), "")
    printer.print_definitions(
        [
            ("untried", "runs in which some arm was never pulled"),
            ("eta low", "pulls of the least pulled arm over an even share: mean and 95 % confidence interval"),
            ("eta high", "the same for the most pulled arm"),
            (
                "outside",
                "runs that leave straight lines fitted to the other runs, and the upper 95 % limit of their share",
            ),
            ("iota", "pulls of the other arms once only a target still pays, at most, over those of each arm before"),
            ("late", "share of these in the last quarter of the pulls"),
        ]
    )
    printer.print("")
    printer.print_definitions([(each.teacher, _describe_verdict(each)) for each in found.verdicts])
    printer.print("")
    printer.print(
        f"Bounds are for {setting.num_clients} such clients, {setting.num_arms} arms with a gap of "
        f"{max(setting.other_gaps):g} and a horizon of {setting.horizon:,}; they extend eta and iota as "
        "straight lines. Verdicts on tal hold for twl too. For blt, eta under the middle constant gives the clients' "
        "balance."
    )


def _create_measures_table(found: "AgentCheck") -> "Table":
    from tutelage.cli.result_tables import create_table

    table = create_table("untried", "eta low", "eta high", "outside", "iota", "late", first="constant")
    for sharing, history in zip(found.measures.sharings, found.measures.histories, strict=True):
        hits, count, limit = sharing.outside()
        table.add_row(
            f"{sharing.constant:g}",
            f"{sharing.untried} of {len(sharing.least)}",
            *(f"{mean:.2f} ± {(high - low) / 2:.2f}" for mean, low, high in sharing.measured()),
            f"{hits} of {count} (<= {limit:.0%})",
            f"{history.together.max():.1f}",
            f"{history.late.mean():.0%}",
        )
    return table


def _describe_verdict(verdict: "AgentVerdict") -> str:

    answer = f"{verdict.answer}, because {verdict.reason}"
    if verdict.answer == "yes" and verdict.decides_by and verdict.regret is not None and verdict.cost is not None:
        answer += (
            f"; decides by round {verdict.decides_by:,}, regret <= {format_table_number(verdict.regret)}, cost <= "
            f"{format_table_number(verdict.cost)}"
        )
    return answer
