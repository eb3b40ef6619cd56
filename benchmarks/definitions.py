"""The two definitions that can be measured, as the tables under "Measured definitions" in docs/theory.md.

    python benchmarks/definitions.py [--seed S] [--workers N]

Sufficient exploration of every policy with two arms that show 0, and that show 1; then warm-start pulls with
five arms, the last of them the target, of UCB1 and of epsilon-greedy, beside the paper's lemmas.  The same
version prints the same tables for the same seed.
"""

import argparse
import os

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


def explored(policy: str, gamma: float, seed: int, workers: int | None) -> str:
    """The pulls of the least and of the most pulled of two arms, the extremes of all runs."""
    seen = sufficient_exploration(
        policy, 2, gamma, PULLS, runs=EXPLORED_RUNS, seed=seed, checkpoints=1, workers=workers
    )
    low, high = seen.curves()
    return f"{low[-1]:,} to {high[-1]:,}"


def exploration_table(seed: int, workers: int | None) -> None:
    """Policies with the same figures in one row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for policy in POLICIES.entries:
        found = (explored(policy, 0.0, seed, workers), explored(policy, 1.0, seed, workers))
        rows.setdefault(found, []).append(f"`{policy}`")
    print("| policy | γ = 0 | γ = 1 |")  # noqa: RUF001 - the letters of the page
    print("|---|---|---|")
    for (zeros, ones), policies in rows.items():
        print(f"| {', '.join(policies)} | {zeros} | {ones} |")


def started(
    policy: str, case: tuple[int, float, float, float], runs: int, seed: int, workers: int | None
) -> tuple[WarmStart, WarmStartBound]:
    """What a policy does after such a history, and the lemma on it."""
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


def ucb1_table(seed: int, workers: int | None) -> None:
    """Mean pulls of one arm off the target."""
    print("| history | γ1 | γ2 | μ† | measured | lem:tal_teaching_UCB | ratio |")  # noqa: RUF001
    print("|---|---|---|---|---|---|---|")
    for case in UCB1_CASES:
        seen, lemma = started("ucb1", case, UCB1_RUNS, seed, workers)
        history, gamma1, gamma2, mean = case
        measured, bound = float(seen.iota[-1, :4].mean()), lemma.each
        ratio = bound / measured
        print(
            f"| {history:,} | {gamma1:g} | {gamma2:g} | {mean:g} | {measured:,.0f} | {bound:,.0f} | "
            f"{ratio:{'.1f' if ratio < 10 else '.0f'}} |"
        )


def eps_greedy_table(seed: int, workers: int | None) -> None:
    """Mean pulls of all arms off the target together."""
    print("| history | μ† | measured | lem:tal_teaching_epsilon |")
    print("|---|---|---|---|")
    for history, mean in EPS_GREEDY_CASES:
        seen, lemma = started("eps-greedy", (history, 0.0, 0.0, mean), EPS_GREEDY_RUNS, seed, workers)
        measured = float(seen.off_target[:, -1].mean())
        print(f"| {history:,} | {mean:g} | {measured:,.0f} | {lemma.together:,.0f} |")


def main() -> None:
    """Measure and print three Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="where all random numbers come from (0)")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="runs at a time, as many as cores"
    )
    options = parser.parse_args()
    for table in (exploration_table, ucb1_table, eps_greedy_table):
        table(options.seed, options.workers)
        print(flush=True)


if __name__ == "__main__":
    main()
