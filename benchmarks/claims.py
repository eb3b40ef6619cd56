"""Judge the claims of the paper's evaluation, and those about Figure 3 also elsewhere: the tables of docs/claims.md.

    python benchmarks/claims.py [--part PART] [--runs R] [--seed S] [--workers N] [--out FOLDER]

The part ``claims`` makes the figures as ``tutelage reproduce`` does and writes a row for each claim; ``theory``
computes from which horizon the claims about Figure 3 should hold for each way of grouping the films;
``movielens`` simulates the same groupings at several horizons, BLT included.  MovieLens is found as for
``tutelage reproduce`` (TUTELAGE_DATA).  Results are stored in FOLDER, so an interrupted command continues.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from tutelage import instances
from tutelage.atomic_files import write_atomically
from tutelage.errors import InputError
from tutelage.experiments import Experiment, PanelResult, load_paper_experiments, run_experiment
from tutelage.experiments.claims import Balance, Below
from tutelage.experiments.data_sets import find_data_set, locate
from tutelage.experiments.verdicts import at_horizon, count_decided, judge_claim
from tutelage.instances.base import Instance
from tutelage.planning.decision_times import likely_horizon, likely_round
from tutelage.teachers import TEACHERS
from tutelage.teachers.blt.teacher import BLT
from tutelage.theory import epoch_end, horizon_needed, pulls_of_blt, setting_of
from tutelage.versions import package_version

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from arguments import add_seed, add_workers, make_parser
from make_tables import fill

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "claims.md"
NOT_MEASURED = "not measured"
VERDICTS = {True: "supported", False: "not supported", None: "inconclusive"}
ANSWERS = {True: "yes", False: "no", None: "may be chance"}
LEARNING = ("tal", "tal(gamma1=0)", "twl", "blt")
TEACHERS_SHOWN = (*LEARNING, "ng", "na", "none")
DATA = "ml-latest-small"
Row = Sequence[str]


class Case(NamedTuple):
    """Runs with one way of grouping the films and one kind of clients, at one horizon."""

    group: str
    clients: str
    horizon: int
    runs: int


GROUPS = ("random", "genre", "popularity")
CLIENTS = {"mixed": "5*ucb1,5*eps-greedy,5*ts", "UCB1": "ucb1"}
CASES = (
    Case("random", "mixed", 50_000, 8),
    Case("popularity", "mixed", 50_000, 8),
    Case("popularity", "mixed", 200_000, 4),
    Case("popularity", "UCB1", 50_000, 8),
    Case("genre", "mixed", 200_000, 4),
    Case("genre", "UCB1", 200_000, 4),
    Case("random", "UCB1", 2_500_000, 2),
)


def claim_rows(panels: Sequence[PanelResult]) -> Iterator[Row]:
    """Yield the rows of the table of claims: one for each claim of the paper, measured or not."""
    verdicts = {data.panel.name: data.verdicts for data in panels}
    yield "panel", "claim", "section", "verdict", "what decides it"
    for experiment in load_paper_experiments():
        for panel in experiment.panels:
            unknown = [(claim.text, claim.section, NOT_MEASURED, "") for claim in panel.claims]
            found = [
                (each.text, each.section, VERDICTS[each.holds], each.figures) for each in verdicts.get(panel.name, ())
            ]
            yield from ((panel.name, *row) for row in found or unknown)


def count_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows of the table that counts the verdicts in the table of claims."""
    found = Counter(row[3] for row in rows[1:])
    yield "verdict", "claims"
    yield from ((name, str(found[name])) for name in (*VERDICTS.values(), NOT_MEASURED))
    yield "all", str(found.total())


def origin_rows(what: str) -> list[Row]:
    """Return how a table was made: the command, the version and the day."""
    return [("made by", "version", "date"), (f"`{what}`", package_version(), f"{datetime.now(UTC):%Y-%m-%d}")]


def write_claims(options: Any) -> dict[str, list[Row]]:
    """Make all figures of the paper and return the tables of verdicts."""
    experiments = load_paper_experiments(options.figure, runs=options.runs, seed=options.seed)
    result = run_experiment(experiments, options.out, workers=options.workers, progress=True)
    if result.missing:
        raise SystemExit(result.missing[0].sentence)
    figures = "".join(f" --figure {name}" for name in options.figure)
    command = f"{command_of('claims')} --runs {options.runs} --seed {options.seed}{figures}"
    rows = list(claim_rows(result.panels))
    return {"claims": rows, "verdicts": list(count_rows(rows)), "made claims": origin_rows(command)}


def make_spec(group: str) -> str:
    """Return the SPEC of the paper's instance with films in these groups, without its path."""
    return f"movielens:clients=15,arms=15,group={group},seed=0"


def load_movielens(group: str) -> Instance:
    """Load the instance with films in these groups."""
    path = locate(find_data_set(DATA), None)
    if path is None:
        raise SystemExit(f"{DATA} is needed: name its folder in TUTELAGE_DATA; tutelage data lists where to get it.")
    name, _, rest = make_spec(group).partition(":")
    return instances.load(f'{name}:"{path}",{rest}')


class Prediction(NamedTuple):
    """What follows from the means if clients explore evenly (docs/claims.md): rounds, and losses a round."""

    gap: float
    loss_untaught: float
    loss_exploring: float
    decision_of_twl: int
    decision_of_tal: int
    cost_below_na: int
    twl_below_none: int
    tal_below_none: int
    decision_of_blt: int


def predict(instance: Instance) -> Prediction:
    """Compute from which horizon the claims about Figure 3 should hold.

    Losses are regret of all M clients a round: without teaching sum_m Delta_{best arm of m}, exploring evenly
    M mean(Delta), which is that of NG's guess too.  TAL explores evenly until its likely round; TWL pulls arm k
    F(psi_k) times, psi_k the first epoch whose likely gap is at most Delta_k.  A horizon is the shortest from
    which this lasts: for the cost, TAL(0,0) adds mean(mu) a pull while it learns and NA E abs(X - Y) at the best
    arm for ever.  ``decision_of_blt`` is the theorem's, for balanced clients.
    """
    gaps, clients = instance.gaps, instance.num_clients
    untaught = float(gaps[instance.local_means.argmax(axis=1)].sum())
    exploring = clients * float(gaps.mean())
    means, best = instance.local_means[:, instance.best_arm], float(instance.global_means[instance.best_arm])
    noise = float((means * (1.0 - best) + best * (1.0 - means)).mean())
    tal, twl = TEACHERS.parse("tal"), TEACHERS.parse("twl")

    def from_horizon(amount: Callable[[int], float], rate: float) -> int:
        return horizon_needed(lambda horizon: math.ceil(amount(horizon) / rate))

    def lost_by_twl(horizon: int) -> float:
        epochs = [max(1, math.ceil(-math.log2(gap)) - 1) for gap in gaps[gaps > 0.0]]
        ends = [epoch_end(epoch, instance.num_arms, horizon, instance.weights.tolist()) for epoch in epochs]
        return clients * float(gaps[gaps > 0.0] @ np.array(ends))

    def decision_of_blt(horizon: int) -> int:
        try:
            return math.ceil(float(pulls_of_blt(setting_of(instance, horizon), BLT()).sum()))
        except InputError:  # a short horizon has no stake that is small enough
            return 2 * horizon

    return Prediction(
        instance.min_gap,
        untaught,
        exploring,
        likely_horizon(twl, instance),
        likely_horizon(tal, instance),
        from_horizon(lambda horizon: likely_round(tal, instance, horizon) * float(instance.local_means.mean()), noise),
        from_horizon(lost_by_twl, untaught),
        from_horizon(lambda horizon: likely_round(tal, instance, horizon) * exploring, untaught),
        horizon_needed(decision_of_blt),
    )


def write_theory(_: Any) -> dict[str, list[Row]]:
    """Return the table of predictions, a row for each quantity."""
    found = {group: predict(load_movielens(group)) for group in GROUPS}
    names = {
        "gap": "gap",
        "loss_untaught": "regret a round without teaching, all clients",
        "loss_exploring": "regret a round while clients explore evenly, and with NG",
        "decision_of_twl": "TWL decides as likely as not within T from",
        "decision_of_tal": "TAL decides as likely as not within T from",
        "cost_below_na": "TAL(0,0) costs less than NA from",
        "twl_below_none": "TWL has less regret than no teaching from",
        "tal_below_none": "TAL has less regret than no teaching from",
        "decision_of_blt": "BLT decides with probability 1 - 2/T from (balanced clients)",
    }

    def write(value: float) -> str:
        return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"

    rows = [(name, *(write(getattr(found[group], key)) for group in GROUPS)) for key, name in names.items()]
    return {"theory": [("films grouped by", *GROUPS), *rows], "made theory": origin_rows(command_of("theory"))}


def command_of(part: str) -> str:
    """Return the command that makes a part."""
    return f"python benchmarks/claims.py --part {part}"


def make_experiment(case: Case, seed: int) -> Experiment:
    """Return Figure 3 with these groups, clients and horizon, and BLT as one teacher more."""
    (paper,) = load_paper_experiments(["fig3"], runs=case.runs, horizon=case.horizon, seed=seed)
    entry = replace(paper.instances[0], label=case.group, spec=make_spec(case.group))
    clients = replace(paper.clients[0], label=case.clients, spec=CLIENTS[case.clients])
    return replace(paper, teachers=TEACHERS_SHOWN, checkpoints=1, instances=(entry,), clients=(clients,), panels=())


def case_rows(case: Case, dataset: Any) -> Iterator[Row]:
    """Yield the rows of one case: each teacher's regret and cost, and which claims hold for it."""

    def compare(kind: type[Below | Balance], quantity: str, teacher: str, *others: str) -> str:
        claim = kind(text="-", section="-", teachers=(teacher,), than=others)
        return ANSWERS[judge_claim(claim, quantity, dataset).holds]

    for teacher in TEACHERS_SHOWN:
        decided, wrong, runs = count_decided(dataset, teacher)
        amounts = [f"{at_horizon(dataset, quantity, teacher).mean():,.0f}" for quantity in ("regret", "cost")]
        learns = teacher in LEARNING
        verdicts = (
            compare(Below, "regret", teacher, "ng"),
            compare(Below, "cost", teacher, "na"),
            compare(Balance, "regret", teacher, "ng", "na"),
            compare(Below, "regret", teacher, "none"),
        )
        decisions = f"{decided - wrong} / {wrong} / {runs}" if learns or teacher == "ng" else "-"
        first = case.group, case.clients, f"{case.horizon:,}", f"`{teacher}`", decisions
        yield *first, *amounts, *(verdicts if learns else "----")


def write_movielens(options: Any) -> dict[str, list[Row]]:
    """Simulate all cases and return their table."""
    rows: list[Row] = [
        (
            *("films", "clients", "T", "teacher", "right / wrong / runs", "regret", "cost"),
            *("less regret than NG", "lower cost than NA", "better balance", "less regret than no teaching"),
        )
    ]
    for number, case in enumerate(CASES):
        if number >= options.cases:
            rows.append((case.group, case.clients, f"{case.horizon:,}", NOT_MEASURED, *[""] * 7))
            continue
        result = run_experiment(
            make_experiment(case, options.seed), options.out, workers=options.workers, progress=True
        )
        rows += case_rows(case, result.panels[0].dataset)
    command = f"{command_of('movielens')} --seed {options.seed} --cases {options.cases}"
    return {"movielens": rows, "made movielens": origin_rows(command)}


PARTS = {"claims": write_claims, "theory": write_theory, "movielens": write_movielens}


def main() -> None:
    """Make the tables and write them to the page."""
    parser = make_parser(__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="make these tables only; repeatable")
    parser.add_argument(
        "--figure", action="append", default=[], metavar="FIGURE", help="claims about this figure only; repeatable"
    )
    parser.add_argument("--runs", type=int, default=100, metavar="R", help="runs of each curve (%(default)s)")
    parser.add_argument(
        "--cases", type=int, default=len(CASES), metavar="N", help="first cases of Figure 3 to simulate (%(default)s)"
    )
    parser.add_argument("--out", default="out/claims", metavar="FOLDER", help="folder of the results (%(default)s)")
    add_seed(parser, 1)
    add_workers(parser)
    options = parser.parse_args()
    for part in options.part or PARTS:
        tables = PARTS[part](options)
        text = fill(PAGE.read_text(encoding="utf-8"), {name: rows.copy for name, rows in tables.items()})
        write_atomically(PAGE, text.encode())
        print(f"Wrote the tables of {part} to {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
