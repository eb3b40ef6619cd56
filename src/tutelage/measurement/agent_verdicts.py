"""From what was measured on an agent to a verdict for each teacher, by the theorems."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from tutelage.errors import InputError
from tutelage.inference import interval_of_mean, interval_of_share
from tutelage.teachers.blt.teacher import BLT
from tutelage.theory.blt import pulls_of_blt
from tutelage.theory.client_bounds import ClientBound, ExplorationBound, WarmStartBound
from tutelage.theory.setting import TheorySetting
from tutelage.theory.tal import performance_of_tal

_LOCKED_SHARE = 0.25  # of an even share: an arm with fewer pulls is left alone
_LED_SHARE = 0.15  # of late pulls off the target, up to which an agent counts as led
_SETTLED_SHARE = 0.05  # and up to which it is taken to pull other arms ever more rarely
_SLACK = 2.0  # of the straight lines, times what the runs need that gave them
_TIE_RISK = 1e-3


@dataclass(frozen=True, eq=False)
class Sharing:
    """Pulls of arms that all show one constant: R runs, tau = 1 .. T pulls, K arms."""

    constant: float
    least: NDArray[np.int64]  # [R, T] of the arm with the fewest pulls
    most: NDArray[np.int64]  # [R, T]
    counts: NDArray[np.int64]  # [R, K] at the end
    has_one_order: bool  # all runs pulled the same arms in the same order, although their seeds differ

    @property
    def num_arms(self) -> int:
        return int(self.counts.shape[1])

    @property
    def untried(self) -> int:
        """The number of runs in which some arm was never pulled."""
        return int((self.counts.min(axis=1) == 0).sum())

    @property
    def ties(self) -> str:
        """How ties are broken: ``by index`` if runs with other seeds favour one arm more than chance would."""
        if self.has_one_order:
            return "by index"
        if np.all(self.counts.max(axis=1) - self.counts.min(axis=1) <= 1):
            return "at random"
        favourites = np.bincount(self.counts.argmax(axis=1), minlength=self.num_arms)
        test = binomtest(int(favourites.max()), int(favourites.sum()), 1.0 / self.num_arms, alternative="greater")
        return "by index" if test.pvalue * self.num_arms < _TIE_RISK else "at random"

    def lines(self) -> tuple[float, float, float, float]:
        """Return a, b, c, d: a tau - b <= least and most <= c tau + d in the first half of the runs.

        a and c are the slopes over the last half of tau of that run with the least and the most.
        """
        half = max(1, len(self.least) // 2)
        least, most, taus = self.least[:half], self.most[:half], np.arange(1, self.least.shape[1] + 1)
        middle = taus.size // 2
        a = float((least[:, -1] - least[:, middle]).min() / (taus[-1] - taus[middle]))
        c = float((most[:, -1] - most[:, middle]).max() / (taus[-1] - taus[middle]))
        low, high = float((a * taus - least).max()), float(max(0.0, (most - c * taus).max()))
        return a, _SLACK * low, c, _SLACK * high

    def outside(self) -> tuple[int, int, float]:
        """Return how many of the other half of the runs leave the lines, how many there are, and the upper limit."""
        a, b, c, d = self.lines()
        half, taus = max(1, len(self.least) // 2), np.arange(1, self.least.shape[1] + 1)
        least, most = self.least[half:], self.most[half:]
        hits = int(((least < a * taus - b - 1e-9) | (most > c * taus + d + 1e-9)).any(axis=1).sum())
        return hits, len(least), interval_of_share(hits, len(least))[1]

    @property
    def share(self) -> float:
        """K a: the least pulled arm's share of late pulls, 1 if they are shared evenly."""
        return min(1.0, self.lines()[0] * self.num_arms)

    def measured(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
        """Return pulls of the least and of the most pulled arm at the end, as multiples of an even share.

        Each is the mean over the runs with its 95 % confidence interval; a single run has no interval but itself.
        """
        even = self.least.shape[1] / self.num_arms
        found = []
        for curve in (self.least, self.most):
            shares = curve[:, -1] / even
            mean = float(shares.mean())
            low, high = interval_of_mean(shares) or (mean, mean)
            found.append((mean, low, high))
        return found[0], found[1]

    def balance(self) -> tuple[float, float] | None:
        """Return kappa and beta with most <= kappa least + beta, by the straight lines; None if an arm is left alone.

        From a tau - b <= least and most <= c tau + d: kappa = c/a and beta = kappa b + d.
        """
        if self.share < _LOCKED_SHARE:
            return None
        a, b, c, d = self.lines()
        kappa = max(1.0, c / a)
        return kappa, max(0.0, kappa * b + d)

    def bound(self) -> ExplorationBound:
        """Return eta as straight lines; ``needed`` is beyond all horizons where an arm is left alone."""
        a, b, c, d = self.lines()
        return ExplorationBound(
            least=lambda pulls: max(0.0, a * pulls - b),
            most=lambda pulls: min(float(pulls), c * pulls + d),
            needed=lambda each: math.ceil((each + b) / a) if a > 0.0 else 10**15,
            failure=0.0,
        )


@dataclass(frozen=True, eq=False)
class History:
    """Pulls of other arms than the target after a history of a constant, over its length; late shares: R' runs.

    ``length`` is the history's pulls of each arm.
    """

    constant: float
    each: NDArray[np.float64]  # [R'] of the other arm with the most, over the history's pulls of each arm
    together: NDArray[np.float64]  # [R']
    late: NDArray[np.float64]  # [R'] share of pulls off the target in the last quarter
    curves: NDArray[np.int64]  # [R', W] pulls of all other arms so far, in the rounds after the history
    length: int

    @property
    def is_led(self) -> bool:
        return float(self.late.mean()) <= _LED_SHARE

    def bound(self, history: float, horizon: int) -> WarmStartBound:
        """Return iota after a history, as the largest measured multiple of it; late pulls go on."""
        later = 0.0 if self.late.mean() <= _SETTLED_SHARE else float(self.late.max()) * horizon
        each, together = (float(values.max()) * history + later for values in (self.each, self.together))
        return WarmStartBound(each, together, 0.0)


@dataclass(frozen=True, eq=False)
class AgentMeasures:
    """All that was measured on an agent: under 0, gamma (where it takes it) and 1."""

    sharings: tuple[Sharing, ...]
    histories: tuple[History, ...]
    reading: str
    repeats: bool

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        constants = []
        for sharing, history in zip(self.sharings, self.histories, strict=True):
            a, b, c, d = sharing.lines()
            hits, count, limit = sharing.outside()
            constants.append(
                {
                    "constant": sharing.constant,
                    "runs_with_untried_arms": sharing.untried,
                    "runs": len(sharing.least),
                    "eta_low": [a, -b],
                    "eta_high": [c, d],
                    "runs_outside": [hits, count],
                    "outside_limit": limit,
                    "even_share": sharing.share,
                    "least_share": list(sharing.measured()[0]),
                    "most_share": list(sharing.measured()[1]),
                    "ties": sharing.ties,
                    "iota_each": float(history.each.max()),
                    "iota_together": float(history.together.max()),
                    "late_share_off_target": float(history.late.mean()),
                }
            )
        return {"constants": constants, "reads_half": self.reading, "repeats_with_a_seed": self.repeats}


@dataclass(frozen=True)
class AgentVerdict:
    """Whether a teacher can teach clients like this agent, with the reason, and the bounds where it can.

    ``answer`` is yes, no, or unclear where what was measured does not tell.

    ``decides_by`` is the round by which learning ends, by the theorem; None if never.
    """

    teacher: str
    answer: str
    reason: str
    decides_by: int | None = None
    regret: float | None = None
    cost: float | None = None


def judge(measures: AgentMeasures, setting: TheorySetting) -> tuple[AgentVerdict, ...]:
    """Judge TAL with each constant that was measured, which stands for TWL too, and BLT."""
    found = [
        _judge_constant(sharing, history, measures, setting)
        for sharing, history in zip(measures.sharings, measures.histories, strict=True)
    ]
    found.append(_judge_blt(measures, setting))
    if measures.reading in {"as 1", "as 0", "unclear"} or measures.reading.startswith("refused"):
        found.append(_judge_binary_blt(measures))
    return tuple(found)


def _judge_constant(
    sharing: Sharing, history: History, measures: AgentMeasures, setting: TheorySetting
) -> AgentVerdict:
    gamma = sharing.constant
    teacher = f"tal(gamma1={gamma:g},gamma2=0)"
    why, least = "", f"the least pulled arm got {sharing.share:.0%} of an even share"
    untried = f"under constant {gamma:g} it left an arm untried in {sharing.untried} of {len(sharing.least)} runs"
    if sharing.untried == len(sharing.least):
        why = untried
    elif sharing.share < _LOCKED_SHARE:
        how = "breaks ties by index" if sharing.ties == "by index" else "locks on"
        why = f"under constant {gamma:g} it {how}: {least}"
    elif sharing.untried:
        why = untried
    elif 0.0 < gamma < 1.0 and measures.reading in {"as 1", "as 0"}:
        why = f"it reads {gamma:g} {measures.reading}, so it does not learn what was revealed"
    elif not history.is_led:
        late = f"{history.late.mean():.0%} of its late pulls"
        why = f"after a history of {gamma:g} it keeps pulling arms that show 0: {late}"
    exploration = sharing.bound()
    if exploration.needed(1) >= 10**15:
        return AgentVerdict(teacher, "no", why or f"under constant {gamma:g} it leaves an arm alone")

    def clients(horizon: int) -> list[ClientBound]:
        return [ClientBound(exploration, lambda pulls: history.bound(pulls, horizon))] * setting.num_clients

    guarantee = performance_of_tal(setting, gamma, 0.0, clients)
    decides_by = guarantee.decides_by
    if not why and decides_by > setting.horizon:
        why = f"learning ends by round {decides_by:,}, beyond the horizon of {setting.horizon:,}"
    if why:
        return AgentVerdict(teacher, "no", why, decides_by)
    return AgentVerdict(
        teacher,
        "yes",
        f"it shares its pulls under constant {gamma:g} and leaves arms that show 0 afterwards",
        decides_by,
        guarantee.regret.value,
        guarantee.cost.value,
    )


def _judge_binary_blt(measures: AgentMeasures) -> AgentVerdict:
    """Judge BLT that reveals 0 and 1 only, which no theorem is about: it has no bounds."""
    if all(each.untried == len(each.least) for each in measures.sharings):
        return AgentVerdict("blt, binary reveals", "no", "it never tries some arm, whatever is revealed")
    return AgentVerdict(
        "blt, binary reveals", "unclear", "blt would reveal 0 and 1 only, with levelled means: simulate it"
    )


def _refuse_blt(measures: AgentMeasures) -> AgentVerdict | None:
    """Return the verdict on BLT where what the agent makes of rewards stands in its way."""
    unclear = {
        "as 1": "it reads 0.5 as 1, so arms that blt levels by fractions look better than they are",
        "as 0": "it reads 0.5 as 0, so arms that blt levels by fractions look worse than they are",
        "unclear": "the measurement does not tell how it reads fractions, which blt reveals",
    }
    if measures.reading.startswith("refused"):
        return AgentVerdict("blt", "no", f"it takes 0 and 1 only, but blt reveals fractions ({measures.reading})")
    if all(each.untried == len(each.least) for each in measures.sharings):
        return AgentVerdict("blt", "no", "it never tries some arm, whatever is revealed")
    return AgentVerdict("blt", "unclear", unclear[measures.reading]) if measures.reading in unclear else None


def _judge_blt(measures: AgentMeasures, setting: TheorySetting) -> AgentVerdict:
    """Judge BLT, whose levels depend on the client: what is measured here shows only what stands in its way.

    The balance of its theorem is that under the middle constant; levels make clients pull at least as evenly, which
    is assumed, not measured.
    """
    if refusal := _refuse_blt(measures):
        return refusal
    middle = len(measures.histories) // 2
    balance = measures.sharings[middle].balance()
    kappa, beta = balance or (1.0, 0.0)
    try:
        least, pulls = (
            math.ceil(float(pulls_of_blt(setting, BLT(), *each).sum())) for each in ((1.0, 0.0), (kappa, beta))
        )
    except InputError as error:
        return AgentVerdict("blt", "no", str(error))
    if least > setting.horizon:
        return AgentVerdict("blt", "no", f"clients need {least:,} pulls each, beyond the horizon", least)
    reason = "it reads fractions as they are, so levels lead it to the arms that are behind"
    if balance is None:
        reason += "; the bound assumes that it pulls levelled arms evenly, which it does not under constants"
    elif pulls > setting.horizon:
        reason += f"; with the measured balance (kappa = {kappa:.3g}) the bound lies beyond the horizon"
        return AgentVerdict("blt", "yes", reason, pulls)
    else:
        reason += f"; the bound is with the measured balance, kappa = {kappa:.3g} and beta = {beta:.3g}"
    later = measures.histories[middle].bound(float(pulls) / setting.num_arms, setting.horizon)
    gap = float(max(setting.other_gaps))
    return AgentVerdict(
        "blt",
        "yes",
        reason,
        pulls,
        setting.num_clients * gap * (pulls + later.together),
        setting.num_clients * (pulls + later.together * float(setting.local_means.max())),
    )
