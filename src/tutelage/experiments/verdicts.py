"""Verdicts: whether our results support the claims about a panel, each decided by a test.

The runs of two teachers share their random numbers, so they are compared in pairs.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tutelage.experiments.claims import Balance, Below, Claim, Comparison, Growth, MostlyBelow, Reaches, Spread
from tutelage.experiments.definition import Panel
from tutelage.inference import compute_p_value, correct_by_holm
from tutelage.results import NONE
from tutelage.text import format_count, format_number, format_p

if TYPE_CHECKING:
    import xarray as xr

LEVEL = 0.01  # of each test, two-sided
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


class ClaimTest(NamedTuple):
    """The outcome of a test: whether a claim holds, None where that may be chance, and the p-value in words."""

    holds: bool | None
    sentence: str
    p: float = 1.0


def judge_claims(panel: Panel, dataset: "xr.Dataset") -> list[Verdict]:
    """Return a verdict on each of the panel's claims."""
    return [judge_claim(claim, panel.quantity, dataset) for claim in panel.claims]


def judge_claim(claim: Claim, quantity: str, dataset: "xr.Dataset") -> Verdict:
    """Return the verdict on one claim; ``quantity`` is the panel's, used where the claim names none."""
    quantity = getattr(claim, "quantity", None) or quantity
    parts = list(_JUDGES[type(claim)](claim, quantity, dataset))
    return Verdict(
        claim.text, _all_hold(part for part, _ in parts), "; ".join(text for _, text in parts), claim.section
    )


def _all_hold(parts: Iterable[bool | None]) -> bool | None:
    """False where a part fails, else None where a part is inconclusive."""
    found = set(parts)
    return False if False in found else None if None in found else True


def compare_means(differences: NDArray[np.float64], kind: str = "paired t-test", of: str = "pair") -> ClaimTest:
    """Test whether the mean of independent differences is at least 0, by Student's t-test."""
    count = differences.size
    if count < 2:
        return ClaimTest(None, "one run cannot be tested")
    if not differences.any():
        return ClaimTest(True, f"{kind}, {format_count(count, of)}: equal in every one", 0.0)
    p = compute_p_value(differences)
    return _decide(p, f"{kind}, {format_count(count, of)}", holds=bool(differences.mean() >= 0.0))


def compare_share(hits: int, count: int, share: float) -> ClaimTest:
    """Test whether ``hits`` of ``count`` are at least this share, by the exact binomial test."""
    from scipy.special import bdtr, bdtrc

    if share in (0.0, 1.0):
        return ClaimTest(hits >= share * count, "counted", 0.0)
    if count == 0:
        return ClaimTest(None, "there is nothing to count")
    tails = float(bdtr(hits, count, share)), float(bdtrc(hits - 1, count, share)) if hits else 1.0
    return _decide(min(1.0, 2.0 * min(tails)), "binomial test", holds=tails[1] < tails[0])


def _decide(p: float, test: str, *, holds: bool) -> ClaimTest:
    chance = "" if p < LEVEL else f", may be chance at the level of {100 * LEVEL:g} %"
    return ClaimTest(holds if p < LEVEL else None, f"{test}: {format_p(p)}{chance}", p)


def _judge_pairs(claim: Comparison, test: Callable[[str, str], ClaimTest]) -> ClaimTest:
    """Test each teacher against each in ``than`` and return the test that decides about all.

    A claim is supported if every test supports it, for which the tests need no correction.  One test is enough to
    contradict it, so that one must do so after a correction for their number (Holm).
    """
    tests = [test(mine, other) for mine, other in itertools.product(claim.teachers, claim.than)]
    for place, p in enumerate(correct_by_holm([each.p for each in tests])):
        if tests[place].holds is False and p >= LEVEL:
            several = f"{tests[place].sentence}, may be chance among {len(tests)} tests (Holm: {format_p(p)})"
            tests[place] = ClaimTest(None, several, p)
    holds = _all_hold(each.holds for each in tests)
    return next(each for each in tests if each.holds is holds)


def _judge_below(claim: Below, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    values = {spec: _average(dataset, quantity, spec) for spec in (*claim.teachers, *claim.than)}
    found = _judge_pairs(claim, lambda mine, other: compare_means(claim.factor * values[other] - values[mine]))
    figures = _compare(claim, quantity, {spec: format_number(float(each.mean())) for spec, each in values.items()})
    yield found.holds, f"{figures} (required: at most {_write_factor(claim.factor)}as much; {found.sentence})"


def _compare(claim: Comparison, what: str, written: dict[str, str]) -> str:
    """``regret: twl 5,047 compared with ng 51,060, na 1,724``."""
    mine, others = (", ".join(f"{spec} {written[spec]}" for spec in specs) for specs in (claim.teachers, claim.than))
    return f"{what}: {mine} compared with {others}"


def _write_factor(factor: float) -> str:
    return "" if factor == 1 else f"{factor:g} times "


def _judge_mostly_below(claim: MostlyBelow, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    for teacher, other in itertools.product(claim.teachers, claim.than):
        mine, its = (at_horizon(dataset, quantity, each) for each in (teacher, other))
        below = mine <= claim.factor * its
        found = compare_share(int(below.sum()), below.size, claim.share)
        pair = f"{quantity} of {teacher} is at most {_write_factor(claim.factor)}that of {other}"
        yield found.holds, f"{pair} in {_write_share(int(below.sum()), below.size, claim.share, found)}"


def _write_share(hits: int, count: int, share: float, found: ClaimTest) -> str:
    return f"{hits} of {format_count(count, 'run')} (required: {100 * share:g} %; {found.sentence})"


def _judge_growth(claim: Growth, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    rounds = dataset["checkpoint"].values
    half = int(np.searchsorted(rounds, rounds[-1] / 2, side="right")) - 1
    for teacher in claim.teachers:
        if half < 0 or not 0.4 <= rounds[half] / rounds[-1] <= 0.5:
            yield None, f"{teacher} has no checkpoint near the middle round"
            continue
        values = _over_clients(dataset, quantity, teacher).transpose("run", "checkpoint").values
        whole, added = values[:, -1], values[:, -1] - values[:, half]
        if whole.mean() == 0:
            yield None, f"the {quantity} of {teacher} is 0"
            continue
        is_linear = claim.shape == "linear"
        differences = added - LINEAR_FROM * whole if is_linear else LOGARITHMIC_TO * whole - added
        found = compare_means(differences, "t-test", "run")
        limit = f"at least {100 * LINEAR_FROM:g} %" if is_linear else f"at most {100 * LOGARITHMIC_TO:g} %"
        logarithm = math.log(2) / math.log(max(rounds[-1], 2))
        figures = f"the second half of the rounds adds {100 * added.mean() / whole.mean():.0f} % of the {quantity}"
        shapes = f"where a straight line adds 50 % and a logarithm {100 * logarithm:.0f} %"
        yield found.holds, f"{figures} of {teacher} (required: {limit}, {shapes}; {found.sentence})"


def _judge_balance(claim: Balance, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    distances = {spec: _imbalance(dataset, spec) for spec in (*claim.teachers, *claim.than)}
    closer = {
        (mine, other): (
            int((distances[mine] < distances[other]).sum()),
            int((distances[mine] != distances[other]).sum()),
        )
        for mine, other in itertools.product(claim.teachers, claim.than)
    }
    found = _judge_pairs(claim, lambda mine, other: compare_share(*closer[mine, other], 0.5))
    medians = {spec: _write_ratio(float(np.sort(each)[each.size // 2])) for spec, each in distances.items()}
    figures = _compare(claim, "ratio of regret and cost (median of runs)", medians)
    least = min(hits for hits, _ in closer.values())
    runs = format_count(next(iter(distances.values())).size, "run")
    yield found.holds, f"{figures}; closer to 1 in {least} of {runs} (required: more than half; {found.sentence})"


def _imbalance(dataset: "xr.Dataset", teacher: str) -> NDArray[np.float64]:
    """Return abs(log(cost / regret)) of each run; infinite where one of the two is 0."""
    regret, cost = (at_horizon(dataset, quantity, teacher) for quantity in ("regret", "cost"))
    distance = np.full(regret.shape, np.inf)
    both = (regret > 0) & (cost > 0)
    distance[both] = np.abs(np.log(cost[both] / regret[both]))
    distance[(regret == 0) & (cost == 0)] = 0.0
    return distance


def _write_ratio(distance: float) -> str:
    if math.isinf(distance):
        return "infinite"
    return f"{math.exp(distance):.3g}" if distance < 20 else f"exp({distance:.0f})"


def _judge_spread(claim: Spread, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    """In a set, the runs on the same instance are compared, not the instances with each other."""
    is_set = "instance" in dataset[quantity].dims
    if is_set and dataset.sizes["run"] < 2:
        more = "(runs in [[instances]]; for the paper's figures, --runs-per-instance)"
        yield None, f"one run on each instance does not show how far runs on the same instance differ: use more {more}"
        return
    specs = (*claim.teachers, *claim.than)
    runs = {spec: np.atleast_2d(_totals(dataset, quantity, spec)) for spec in specs}
    if next(iter(runs.values())).shape[1] < 2 or not all(values.mean(axis=1).all() for values in runs.values()):
        yield None, "a single run, or a mean of 0, has no relative band"
        return
    spreads = {spec: _measure_spread(values) for spec, values in runs.items()}

    def test(mine: str, other: str) -> ClaimTest:
        (width, deviations), (other_width, other_deviations) = spreads[mine], spreads[other]
        differences = deviations - claim.factor * other_deviations
        found = compare_means(differences.mean(axis=1) if is_set else differences[0])
        return found if found.holds is (width >= claim.factor * other_width) else found._replace(holds=None)

    found = _judge_pairs(claim, test)
    which = "80 % of the runs on an instance" if is_set else "80 % of runs"
    widths = {spec: f"{100 * width:.1f} %" for spec, (width, _) in spreads.items()}
    figures = _compare(claim, f"width of the band of {which}, relative to the mean {quantity}", widths)
    required = f"at least {_write_factor(claim.factor)}as wide"
    yield found.holds, f"{figures} (required: {required}; distances from the median, {found.sentence})"


def _measure_spread(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the width of the band over runs [I, R], averaged over instances, and distances from the median [I, R].

    Both are relative to the mean.
    """
    means = values.mean(axis=1, keepdims=True)
    low, high = np.quantile(values / means, (0.1, 0.9), axis=1)
    return float((high - low).mean()), np.abs(values - np.median(values, axis=1, keepdims=True)) / means


def _judge_reaches(claim: Reaches, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    for teacher in claim.teachers:
        decided, wrong, runs = count_decided(dataset, teacher)
        found = compare_share(decided - wrong, runs, claim.share)
        best = f"{teacher} decided on a best arm in {_write_share(decided - wrong, runs, claim.share, found)}"
        yield found.holds, f"{best}, on another arm in {wrong}, and did not decide in {runs - decided}"


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


def _average(dataset: "xr.Dataset", quantity: str, teacher: str) -> NDArray[np.float64]:
    """Return the same of every run, or for a set the mean of each instance: values that are independent."""
    values = _totals(dataset, quantity, teacher)
    return values if values.ndim == 1 else values.mean(axis=1)


def _totals(dataset: "xr.Dataset", quantity: str, teacher: str) -> NDArray[np.float64]:
    """Return the same as [R], or [I, R] for a set."""
    chosen = _over_clients(dataset, quantity, teacher).isel(checkpoint=-1)
    values: NDArray[np.float64] = chosen.values
    return values


def _over_clients(dataset: "xr.Dataset", quantity: str, teacher: str) -> "xr.DataArray":
    """Return the quantity summed over clients; that of many clients is a sum already."""
    values = dataset[quantity].sel(teacher=teacher)
    return values.sum("client") if "client" in values.dims else values


def count_decided(dataset: "xr.Dataset", teacher: str) -> tuple[int, int, int]:
    """Count the runs with a target at the horizon, those whose target is not a best arm, and all runs."""
    targets = dataset["target"]
    number = dataset["teacher"].values.tolist().index(teacher)
    target = targets.values.take(number, axis=targets.dims.index("teacher"))  # [R], or [I, R] for a set
    gaps = dataset["gap"].values  # [K], or [I, K]
    hit = np.maximum(target, 0)
    lost = gaps[hit] if gaps.ndim == 1 else np.take_along_axis(gaps, hit, axis=1)
    has = target != NONE
    return int(has.sum()), int((has & (lost > 0)).sum()), int(target.size)
