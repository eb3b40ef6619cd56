"""Measure two definitions of the paper, as the tables under "Measured definitions" in docs/theory.md.

    python benchmarks/theory_definitions.py [--seed S] [--workers N]

The first table is sufficient exploration: every policy with two arms that always reveal 0, or always 1.  The
others are warm-start pulls of UCB1 and of epsilon-greedy with five arms, the last of them the target,
compared with the paper's lemmas.  The same version prints the same tables for the same seed.
"""

from arguments import add_seed, add_workers, make_parser

from tutelage.measurement import WarmStart, sufficient_exploration, warm_start_pulls
from tutelage.policies import POLICIES
from tutelage.theory import WarmStartBound

PULLS, EXPLORED_RUNS = 5_000, 50
ROUNDS, UCB1_RUNS, EPS_GREEDY_RUNS = 50_000, 40, 200
UCB1_CASES = [  # history, gamma1, gamma2, the target's mean
    *((history, 1.0, 0.0, 0.5) for history in (0, 100, 1_000, 3_000)),
    *((1_000, gamma1, 0.0, 0.5) for gamma1 in (0.5, 0.3, 0.0)),
    *((1_000, 1.0, gamma2, 0.5) for gamma2 in (0.2, 0.4)),
    *((1_000, 1.0, 0.0, mean) for mean in (0.2, 0.8)),
]
EPS_GREEDY_CASES = [  # history, the target's mean
    *((history, 0.5) for history in (0, 1_000, 3_000)),
    *((1_000, mean) for mean in (0.05, 0.2, 0.8)),
]


def measure_exploration(policy: str, gamma: float, seed: int, workers: int | None) -> str:
    """Return the fewest and the most pulls of an arm in all runs."""
    seen = sufficient_exploration(
        policy, 2, gamma, PULLS, runs=EXPLORED_RUNS, seed=seed, checkpoints=1, workers=workers
    )
    low, high = seen.curves()
    return f"{low[-1]:,} to {high[-1]:,}"


def print_exploration(seed: int, workers: int | None) -> None:
    """Print a table in which policies with the same numbers share a row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for policy in POLICIES.entries:
        found = (measure_exploration(policy, 0.0, seed, workers), measure_exploration(policy, 1.0, seed, workers))
        rows.setdefault(found, []).append(f"`{policy}`")
    print("| policy | γ = 0 | γ = 1 |")  # noqa: RUF001 - the letters of the page
    print("|---|---|---|")
    for (zeros, ones), policies in rows.items():
        print(f"| {', '.join(policies)} | {zeros} | {ones} |")


def measure_warm_start(
    policy: str, case: tuple[int, float, float, float], runs: int, seed: int, workers: int | None
) -> tuple[WarmStart, WarmStartBound]:
    """Return what a policy does after such a history, and the lemma on it."""
    history, gamma1, gamma2, mean = case
    seen = warm_start_pulls(
        policy,
        history,
        [mean] * 5,
        ROUNDS,
        gamma1=gamma1,
        gamma2=gamma2,
        target=4,
        runs=runs,
        seed=seed,
        checkpoints=1,
        workers=workers,
    )
    if seen.lemma is None:
        raise LookupError(f"The paper has no lemma on {policy} after {case}.")
    return seen, seen.lemma


def print_ucb1(seed: int, workers: int | None) -> None:
    """Print the mean pulls of one arm other than the target."""
    print("| history | γ1 | γ2 | μ† | measured | lem:tal_teaching_UCB | ratio |")  # noqa: RUF001
    print("|---|---|---|---|---|---|---|")
    for case in UCB1_CASES:
        seen, lemma = measure_warm_start("ucb1", case, UCB1_RUNS, seed, workers)
        history, gamma1, gamma2, mean = case
        measured, bound = float(seen.iota[-1, :4].mean()), lemma.each
        ratio = bound / measured
        print(
            f"| {history:,} | {gamma1:g} | {gamma2:g} | {mean:g} | {measured:,.0f} | {bound:,.0f} | "
            f"{ratio:{'.1f' if ratio < 10 else '.0f'}} |"
        )


def print_eps_greedy(seed: int, workers: int | None) -> None:
    """Print the mean pulls of all arms other than the target together."""
    print("| history | μ† | measured | lem:tal_teaching_epsilon |")
    print("|---|---|---|---|")
    for history, mean in EPS_GREEDY_CASES:
        seen, lemma = measure_warm_start("eps-greedy", (history, 0.0, 0.0, mean), EPS_GREEDY_RUNS, seed, workers)
        measured = float(seen.off_target[:, -1].mean())
        print(f"| {history:,} | {mean:g} | {measured:,.0f} | {lemma.together:,.0f} |")


def main() -> None:
    """Measure and print three Markdown tables."""
    parser = make_parser(__doc__)
    add_seed(parser, 0)
    add_workers(parser)
    options = parser.parse_args()
    for print_table in (print_exploration, print_ucb1, print_eps_greedy):
        print_table(options.seed, options.workers)
        print(flush=True)


if __name__ == "__main__":
    main()
