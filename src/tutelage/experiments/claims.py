"""What the paper claims about a panel, tried on our figures."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tutelage.errors import InputError
from tutelage.experiments.claim_kinds import (
    Balance,
    Below,
    Claim,
    Growth,
    MostlyBelow,
    Reaches,
    Spread,
)
from tutelage.experiments.definition import Panel
from tutelage.results import NONE
from tutelage.teachers import TEACHERS
from tutelage.text import counted, short

if TYPE_CHECKING:
    import xarray as xr

FEWEST_RUNS = 20  # that can bear a claim out or not
LINEAR_FROM, LOGARITHMIC_TO = 0.4, 0.25  # shares of the whole that the second half of time adds


@dataclass(frozen=True)
class Verdict:
    """Whether our figures bear a claim out.

    ``text`` is the claim in our words and ``section`` where the paper makes it; ``holds`` is None where the
    figures cannot tell; ``figures`` are those that decided.
    """

    text: str
    holds: bool | None
    figures: str
    section: str = ""


def verdicts(panel: Panel, dataset: "xr.Dataset") -> list[Verdict]:
    """Each of the panel's claims, tried on its dataset."""
    return [verdict(claim, panel.quantity, dataset) for claim in panel.claims]


def verdict(claim: Claim, quantity: str, dataset: "xr.Dataset") -> Verdict:
    """One claim, tried; ``quantity`` is the panel's, which holds where the claim names none."""
    quantity = getattr(claim, "quantity", None) or quantity
    if isinstance(claim, Below):
        found = [_below(claim, quantity, dataset)]
    elif isinstance(claim, MostlyBelow):
        found = list(_mostly_below(claim, quantity, dataset))
    elif isinstance(claim, Growth):
        found = list(_growth(claim, quantity, dataset))
    elif isinstance(claim, Balance):
        found = [_balance(claim, dataset)]
    elif isinstance(claim, Spread):
        found = [_spread(claim, quantity, dataset)]
    else:
        found = list(_reaches(claim, dataset))
    parts = [part for part, _ in found]
    told = [told for _, told in found]
    holds = False if False in parts else None if None in parts else True
    runs = at_horizon(dataset, "regret", dataset["teacher"].values[0]).size
    if runs < FEWEST_RUNS:
        holds = None
        told.append(f"fewer than {FEWEST_RUNS} runs cannot tell")
    return Verdict(claim.text, holds, "; ".join(told), claim.section)


Part = tuple[bool | None, str]


def _below(claim: Below, quantity: str, dataset: "xr.Dataset") -> Part:
    values = {spec: at_horizon(dataset, quantity, spec) for spec in (*claim.teachers, *claim.than)}
    pairs = [
        _is_above(claim.factor * values[other] - values[mine])
        for mine, other in itertools.product(claim.teachers, claim.than)
    ]
    holds = False if False in pairs else None if None in pairs else True
    told = _against(claim, quantity, {spec: short(float(each.mean())) for spec, each in values.items()})
    return holds, told if holds is not None else f"{told}; the difference may be chance"


def _is_above(differences: NDArray[np.float64]) -> bool | None:
    """Whether the mean of what runs with the same random numbers give is at least 0.

    None within two standard errors of it, unless all of them are equal.
    """
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(differences.size) if differences.size > 1 else 0.0
    return None if abs(mean) < 2.0 * error else mean >= 0.0


def _against(claim: Below | Balance | Spread, what: str, written: dict[str, str]) -> str:
    """``regret: twl(...) 5,047 against ng 51,060, na 1,724``: the figures of a comparison, each once."""
    mine, others = (
        ", ".join(f"{briefly(spec)} {written[spec]}" for spec in specs)
        for specs in (claim.teachers, claim.than)
    )
    return f"{what}: {mine} against {others}"


def _mostly_below(claim: MostlyBelow, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    for teacher, other in itertools.product(claim.teachers, claim.than):
        mine, its = (at_horizon(dataset, quantity, each) for each in (teacher, other))
        below = mine <= claim.factor * its
        factor = "" if claim.factor == 1 else f"{claim.factor:g} times "
        pair = f"{quantity} of {briefly(teacher)} at most {factor}that of {briefly(other)}"
        yield (
            bool(below.mean() >= claim.share),
            f"{pair} in {below.sum()} of {counted(below.size, 'run')}",
        )


def _growth(claim: Growth, quantity: str, dataset: "xr.Dataset") -> Iterator[Part]:
    rounds = dataset["checkpoint"].values
    half = int(np.searchsorted(rounds, rounds[-1] / 2, side="right")) - 1
    for teacher in claim.teachers:
        name = briefly(teacher)
        if half < 0 or not 0.4 <= rounds[half] / rounds[-1] <= 0.5:
            yield None, f"{name} has no checkpoint near the middle of time"
            continue
        means = dataset[quantity].sel(teacher=teacher).sum("client").mean("run").values
        if means[-1] == 0:
            yield None, f"{quantity} of {name} is 0"
            continue
        share = 1 - means[half] / means[-1]
        logarithm = math.log(2) / math.log(max(rounds[-1], 2))
        holds = share >= LINEAR_FROM if claim.shape == "linear" else share <= LOGARITHMIC_TO
        told = f"the second half of time adds {100 * share:.0f} % of the {quantity} of {name}"
        yield bool(holds), f"{told} (a straight line 50 %, a logarithm {100 * logarithm:.0f} %)"


def _balance(claim: Balance, dataset: "xr.Dataset") -> Part:
    distances = {spec: _imbalance(dataset, spec) for spec in (*claim.teachers, *claim.than)}
    holds = max(distances[spec] for spec in claim.teachers) < min(distances[spec] for spec in claim.than)
    written = {spec: _factor(distance) for spec, distance in distances.items()}
    return holds, _against(claim, "regret and cost differ (median of runs)", written)


def _imbalance(dataset: "xr.Dataset", teacher: str) -> float:
    """The median over runs of abs(log(cost / regret)); infinite where one of them is 0."""
    regret, cost = (at_horizon(dataset, quantity, teacher) for quantity in ("regret", "cost"))
    distance = np.full(regret.shape, np.inf)
    both = (regret > 0) & (cost > 0)
    distance[both] = np.abs(np.log(cost[both] / regret[both]))
    distance[(regret == 0) & (cost == 0)] = 0.0
    return float(np.sort(distance)[distance.size // 2])


def _spread(claim: Spread, quantity: str, dataset: "xr.Dataset") -> Part:
    """Of a set the runs on the same instance are compared, not the instances with each other."""
    is_set = "instance" in dataset[quantity].dims
    if is_set and dataset.sizes["run"] < 2:
        return None, (
            "one run on each instance cannot tell how far runs on the same one differ: play several "
            "(runs in [[instances]]; of the paper's figures, --runs-per-instance)"
        )
    widths = {
        spec: _width(np.atleast_2d(_totals(dataset, quantity, spec)))
        for spec in (*claim.teachers, *claim.than)
    }
    known = {spec: width for spec, width in widths.items() if width is not None}
    if len(known) < len(widths):
        return None, "one run has no band, nor has a mean of 0"
    holds = all(
        known[mine] >= claim.factor * known[other]
        for mine, other in itertools.product(claim.teachers, claim.than)
    )
    written = {spec: f"{100 * width:.1f} %" for spec, width in known.items()}
    which = "80 % of the runs on an instance" if is_set else "80 % of runs"
    return holds, _against(claim, f"{which} span, of the mean {quantity}", written)


def _width(values: NDArray[np.float64]) -> float | None:
    """The band of the runs of each instance [I, R] in its means; of several instances the mean."""
    means = values.mean(axis=1)
    if values.shape[1] < 2 or not means.all():
        return None
    low, high = np.quantile(values, (0.1, 0.9), axis=1)
    return float(((high - low) / means).mean())


def _reaches(claim: Reaches, dataset: "xr.Dataset") -> Iterator[Part]:
    for teacher in claim.teachers:
        finished, wrong, runs = decided(dataset, teacher)
        told = (
            f"{briefly(teacher)} decided for a best arm in {finished - wrong} of {counted(runs, 'run')}, for "
            f"another in {wrong}"
        )
        yield finished - wrong >= claim.share * runs, f"{told}, for none in {runs - finished}"


def at_horizon(dataset: "xr.Dataset", quantity: str, teacher: str) -> NDArray[np.float64]:
    """The quantity at T, summed over clients, of every run (and instance of a set), flat."""
    return _totals(dataset, quantity, teacher).reshape(-1)


def _totals(dataset: "xr.Dataset", quantity: str, teacher: str) -> NDArray[np.float64]:
    """The same as [R], or [I, R] of a set."""
    chosen = dataset[quantity].sel(teacher=teacher).isel(checkpoint=-1).sum("client")
    values: NDArray[np.float64] = chosen.values
    return values


def briefly(spec: str) -> str:
    """A teacher's SPEC as people read it: of many parameters only those that are not as by default."""
    try:
        return TEACHERS.brief(TEACHERS.parse(spec))
    except InputError:  # of a package that is not installed here
        return spec


def decided(dataset: "xr.Dataset", teacher: str) -> tuple[int, int, int]:
    """Runs with a target at the horizon, those of them whose target is no best arm, and all runs."""
    target = dataset["target"].sel(teacher=teacher).values  # [R], or [I, R] of a set
    gaps = dataset["gap"].values  # [K], or [I, K]
    hit = np.maximum(target, 0)
    lost = gaps[hit] if gaps.ndim == 1 else np.take_along_axis(gaps, hit, axis=1)
    has = target != NONE
    return int(has.sum()), int((has & (lost > 0)).sum()), int(target.size)


def _factor(distance: float) -> str:
    if math.isinf(distance):
        return "without bound"
    return f"{math.exp(distance):.3g} times" if distance < 20 else f"exp({distance:.0f}) times"
