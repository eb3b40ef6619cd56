"""Verdicts: whether our results support the claims about a panel."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tutelage.experiments.claims import Balance, Below, Claim, Comparison, Growth, MostlyBelow, Reaches, Spread
from tutelage.experiments.definition import Panel
from tutelage.results import NONE
from tutelage.text import format_count, format_number

if TYPE_CHECKING:
    import xarray as xr

FEWEST_RUNS = 20  # for a verdict
LINEAR_FROM, LOGARITHMIC_TO = 0.4, 0.25  # share of the whole that the second half of the rounds adds
Part = tuple[bool | None, str]  # whether a part of a claim holds, and the figures that decide it


@dataclass(frozen=True)
class Verdict:
    """Whether our results support a claim.

    ``text`` is the claim in our words and ``section`` where it is made; ``holds`` is None where the results
    are inconclusive; ``figures`` are the numbers that decided.
    """

    text: str
    holds: bool | None
    figures: str
    section: str = ""


def judge_claims(panel: Panel, dataset: "xr.Dataset") -> list[Verdict]:
    """Return a verdict on each of the panel's claims."""
    return [judge_claim(claim, panel.quantity, dataset) for claim in panel.claims]


def judge_claim(claim: Claim, quantity: str, dataset: "xr.Dataset") -> Verdict:
    """Return the verdict on one claim; ``quantity`` is the panel's, used where the claim names none."""
    quantity = getattr(claim, "quantity", None) or quantity
    parts = list(_JUDGES[type(claim)](claim, quantity, dataset))
    holds = _all_hold(part for part, _ in parts)
    figures = [text for _, text in parts]
    runs = at_horizon(dataset, "regret", dataset["teacher"].values[0]).size
    if runs < FEWEST_RUNS:
        holds = None
        figures.append(f"fewer than {FEWEST_RUNS} runs are inconclusive")
    return Verdict(claim.text, holds, "; ".join(figures), claim.section)


def _all_hold(parts: Iterable[bool | None]) -> bool | None:
    """False where a part fails, else None where a part is inconclusive."""
    found = set(parts)
    return False if False in found else None if None in found else True


def _judge_below(claim: Below, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    values = {spec: at_horizon(dataset, quantity, spec) for spec in (*claim.teachers, *claim.than)}
    holds = _all_hold(
        _is_positive(claim.factor * values[other] - values[mine])
        for mine, other in itertools.product(claim.teachers, claim.than)
    )
    figures = _compare(claim, quantity, {spec: format_number(float(each.mean())) for spec, each in values.items()})
    yield holds, figures if holds is not None else f"{figures}; the difference may be chance"


def _is_positive(differences: NDArray[np.float64]) -> bool | None:
    """Whether the mean difference of runs that share their random numbers is at least 0.

    None if it is within two standard errors of 0, unless all differences are equal.
    """
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(differences.size) if differences.size > 1 else 0.0
    return None if abs(mean) < 2.0 * error else mean >= 0.0


def _compare(claim: Comparison, what: str, written: dict[str, str]) -> str:
    """``regret: twl 5,047 compared with ng 51,060, na 1,724``."""
    mine, others = (", ".join(f"{spec} {written[spec]}" for spec in specs) for specs in (claim.teachers, claim.than))
    return f"{what}: {mine} compared with {others}"


def _judge_mostly_below(claim: MostlyBelow, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    factor = "" if claim.factor == 1 else f"{claim.factor:g} times "
    for teacher, other in itertools.product(claim.teachers, claim.than):
        mine, its = (at_horizon(dataset, quantity, each) for each in (teacher, other))
        below = mine <= claim.factor * its
        pair = f"{quantity} of {teacher} is at most {factor}that of {other}"
        yield (bool(below.mean() >= claim.share), f"{pair} in {below.sum()} of {format_count(below.size, 'run')}")


def _judge_growth(claim: Growth, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    rounds = dataset["checkpoint"].values
    half = int(np.searchsorted(rounds, rounds[-1] / 2, side="right")) - 1
    for teacher in claim.teachers:
        if half < 0 or not 0.4 <= rounds[half] / rounds[-1] <= 0.5:
            yield None, f"{teacher} has no checkpoint near the middle round"
            continue
        means = dataset[quantity].sel(teacher=teacher).sum("client").mean("run").values
        if means[-1] == 0:
            yield None, f"the {quantity} of {teacher} is 0"
            continue
        share = 1 - means[half] / means[-1]
        logarithm = math.log(2) / math.log(max(rounds[-1], 2))
        holds = share >= LINEAR_FROM if claim.shape == "linear" else share <= LOGARITHMIC_TO
        figures = f"the second half of the rounds adds {100 * share:.0f} % of the {quantity} of {teacher}"
        yield bool(holds), f"{figures} (a straight line 50 %, a logarithm {100 * logarithm:.0f} %)"


def _judge_balance(claim: Balance, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    distances = {spec: _imbalance(dataset, spec) for spec in (*claim.teachers, *claim.than)}
    holds = max(distances[spec] for spec in claim.teachers) < min(distances[spec] for spec in claim.than)
    written = {spec: _write_ratio(distance) for spec, distance in distances.items()}
    yield holds, _compare(claim, "ratio of regret and cost (median of runs)", written)


def _imbalance(dataset: "xr.Dataset", teacher: str) -> float:
    """Return the median over runs of abs(log(cost / regret)); infinite where one of the two is 0."""
    regret, cost = (at_horizon(dataset, quantity, teacher) for quantity in ("regret", "cost"))
    distance = np.full(regret.shape, np.inf)
    both = (regret > 0) & (cost > 0)
    distance[both] = np.abs(np.log(cost[both] / regret[both]))
    distance[(regret == 0) & (cost == 0)] = 0.0
    return float(np.sort(distance)[distance.size // 2])


def _write_ratio(distance: float) -> str:
    if math.isinf(distance):
        return "infinite"
    return f"{math.exp(distance):.3g}" if distance < 20 else f"exp({distance:.0f})"


def _judge_spread(claim: Spread, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    """In a set, the runs on the same instance are compared, not the instances with each other."""
    is_set = "instance" in dataset[quantity].dims
    if is_set and dataset.sizes["run"] < 2:
        yield (
            None,
            (
                "one run on each instance does not show how far runs on the same instance differ: use more "
                "(runs in [[instances]]; for the paper's figures, --runs-per-instance)"
            ),
        )
        return
    widths = {
        spec: _relative_width(np.atleast_2d(_totals(dataset, quantity, spec)))
        for spec in (*claim.teachers, *claim.than)
    }
    known = {spec: width for spec, width in widths.items() if width is not None}
    if len(known) < len(widths):
        yield None, "a single run, or a mean of 0, has no relative band"
        return
    holds = all(
        known[mine] >= claim.factor * known[other] for mine, other in itertools.product(claim.teachers, claim.than)
    )
    written = {spec: f"{100 * width:.1f} %" for spec, width in known.items()}
    which = "80 % of the runs on an instance" if is_set else "80 % of runs"
    yield holds, _compare(claim, f"width of the band of {which}, relative to the mean {quantity}", written)


def _relative_width(values: NDArray[np.float64]) -> float | None:
    """Return the width of the band over runs [I, R] divided by the mean, averaged over instances."""
    means = values.mean(axis=1)
    if values.shape[1] < 2 or not means.all():
        return None
    low, high = np.quantile(values, (0.1, 0.9), axis=1)
    return float(((high - low) / means).mean())


def _judge_reaches(claim: Reaches, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    for teacher in claim.teachers:
        decided, wrong, runs = count_decided(dataset, teacher)
        yield (
            decided - wrong >= claim.share * runs,
            (
                f"{teacher} decided for a best arm in {decided - wrong} of "
                f"{format_count(runs, 'run')}, for another arm in {wrong}, and did not decide in {runs - decided}"
            ),
        )


_JUDGES: dict[type, Callable[[Any, str, "xr.Dataset"], Iterable[Part]]] = {
    Below: _judge_below,
    MostlyBelow: _judge_mostly_below,
    Growth: _judge_growth,
    Balance: _judge_balance,
    Spread: _judge_spread,
    Reaches: _judge_reaches,
}


def at_horizon(dataset: "xr.Dataset", quantity: str, teacher: str) -> NDArray[np.float64]:
    """Return the quantity at T, summed over clients, of every run (and instance of a set), flat."""
    return _totals(dataset, quantity, teacher).reshape(-1)


def _totals(dataset: "xr.Dataset", quantity: str, teacher: str) -> NDArray[np.float64]:
    """Return the same as [R], or [I, R] for a set."""
    chosen = dataset[quantity].sel(teacher=teacher).isel(checkpoint=-1).sum("client")
    values: NDArray[np.float64] = chosen.values
    return values


def count_decided(dataset: "xr.Dataset", teacher: str) -> tuple[int, int, int]:
    """Count the runs with a target at the horizon, those whose target is not a best arm, and all runs."""
    target = dataset["target"].sel(teacher=teacher).values  # [R], or [I, R] for a set
    gaps = dataset["gap"].values  # [K], or [I, K]
    hit = np.maximum(target, 0)
    lost = gaps[hit] if gaps.ndim == 1 else np.take_along_axis(gaps, hit, axis=1)
    has = target != NONE
    return int(has.sum()), int((has & (lost > 0)).sum()), int(target.size)
