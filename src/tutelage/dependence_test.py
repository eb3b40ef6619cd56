"""A test for dependence between the rewards of different clients within a round (docs/dependence.md).

Hypothesis: means are constant, and given everything before a round the rewards of its clients are independent.
The test bets against it after each round and notices dependence once the capital has grown to 2 / risk.  Under
the hypothesis it ever does so with probability at most ``risk``, however long it runs, whatever arms clients
choose from what happened before, and whatever rewards in [0, 1] are like.

Shapes: M clients, K arms, R rounds, G stakes.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tutelage.text import format_count

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

RISK = 0.001
FARTHEST = 0.25  # a client takes part with arms whose mean is known to within this
_STAKES = 0.5 ** np.arange(1, 9)  # shares of the capital that may be lost in a round
_PRIOR = 5.0  # variance at which the confidence sequence is narrowest for its size: that of 20 rewards
_MOST_CELLS = 1 << 20  # rounds times clients times arms that are computed at once
_MOST_LOG = 700.0  # of a number that can be printed
_VARIANCE = 0.25  # of a reward in [0, 1] at most


def confidence_radius(pulls: Counts, risk: float) -> Array:
    """Return r(n) for which the mean of the first n rewards is within r(n) of the true mean, for all n at once.

    This fails with probability at most ``risk``: Robbins' normal mixture for sums of variance n/4 (Robbins 1970;
    Howard et al. 2021, eq. 14).  ``pulls`` is any array of n; r(0) is 1.
    """
    variance = _VARIANCE * pulls + _PRIOR
    bound = np.sqrt(variance * (np.log(variance / _PRIOR) - 2.0 * math.log(risk)))
    return np.asarray(np.minimum(1.0, bound / np.maximum(pulls, 1)))


def log_gains(rewards: Array, predictions: Array, radii: Array, takes_part: Flags) -> Array:
    """Return the logs of the factors by which each round changes the capital of each sign and stake, [R, 2, G].

    ``rewards`` [R, M] have means within ``radii`` of the ``predictions``; clients that do not take part count as
    absent, and at least two take part in each round.  With e the rewards less the predictions, sums over pairs of
    clients and sign s = 1 or -1, the bet is on

        Y = s sum e e' - sum r r',  a factor 1 + stake Y / B,  B such that Y >= -B.

    If the rewards are independent, the mean of e e' is the product of two errors of predictions, at most r r';
    so the mean of the factor is at most 1.
    """
    errors = np.where(takes_part, rewards - predictions, 0.0)
    farthest = np.where(takes_part, np.maximum(predictions, 1.0 - predictions), 0.0)
    common, slack = sum_of_pairs(errors), sum_of_pairs(np.where(takes_part, radii, 0.0))
    worst = np.stack((0.5 * (farthest**2).sum(axis=1), sum_of_pairs(farthest)), axis=1)
    values = np.stack((common, -common), axis=1) - slack[:, None]
    return np.asarray(np.log1p((values / (worst + slack[:, None]))[:, :, None] * _STAKES))


def sum_of_pairs(values: Array) -> Array:
    """Return the sum of x x' over all pairs of a row, for each row [R, M]."""
    return np.asarray(0.5 * (values.sum(axis=1) ** 2 - (values**2).sum(axis=1)))


@dataclass(frozen=True)
class DependenceFinding:
    """What the test has found so far.

    ``rounds`` had at least two clients whose arms' means were known well enough.  ``correlation`` is the mean
    correlation of two clients' rewards in these rounds, None without any.  ``evidence`` is the largest capital
    so far; ``noticed_after`` is the number of rounds after which it reached 2 / risk, None if it has not.
    """

    rounds: int
    correlation: float | None
    evidence: float
    noticed_after: int | None
    risk: float = RISK


def describe_finding(finding: DependenceFinding, num_clients: int) -> str:
    """Return sentences on what has been found about this many clients."""
    if num_clients < 2:
        return "There are no two clients that the teacher assumes to be independent of each other."
    if finding.correlation is None:
        return (
            "There are too few pulls: the test needs two clients that have each pulled an arm often enough to know its "
            f"mean to within {FARTHEST}."
        )
    correlation = f"the mean correlation of two clients within a round is {finding.correlation:.2g}"
    if finding.noticed_after is None:
        return f"No dependence between clients was noticed in {format_count(finding.rounds, 'round')}; {correlation}."
    return (
        f"The rewards of different clients depend on each other: {correlation}. This was noticed after "
        f"{format_count(finding.noticed_after, 'round')} of {finding.rounds:,}. If they were independent, and means "
        f"constant, it would ever be noticed with probability at most {finding.risk:g}."
    )


class DependenceTest:
    """The test for M clients and K arms, fed with rounds in order."""

    def __init__(self, num_clients: int, num_arms: int, risk: float = RISK) -> None:
        self.risk, self._rounds = risk, 0
        self._counts: Counts = np.zeros((num_clients, num_arms), dtype=np.int64)
        self._sums: Array = np.zeros((num_clients, num_arms))
        self._log_capital: Array = np.zeros((2, _STAKES.size))
        self._products, self._pairs, self._squares, self._pulls = 0.0, 0.0, 0.0, 0.0
        self._greatest = 0.0
        self._noticed_after: int | None = None

    def add_rounds(self, arms: Counts, rewards: Array) -> None:
        """Bet on rounds: the arm [R, M] of each client (-1: none) and its reward [R, M] in [0, 1]."""
        size = max(1, _MOST_CELLS // self._counts.size)
        for start in range(0, len(arms), size):
            self._bet(arms[start : start + size], rewards[start : start + size])

    def _bet(self, arms: Counts, rewards: Array) -> None:
        pulled = arms[:, :, None] == np.arange(self._counts.shape[1])  # [R, M, K]
        counts = self._counts + pulled.cumsum(axis=0)
        sums = self._sums + (pulled * rewards[:, :, None]).cumsum(axis=0)
        acts, place = arms >= 0, np.maximum(arms, 0)[:, :, None]
        before = np.take_along_axis(counts, place, axis=2)[:, :, 0] - acts
        total = np.take_along_axis(sums, place, axis=2)[:, :, 0] - np.where(acts, rewards, 0.0)
        self._counts, self._sums = counts[-1].copy(), sums[-1].copy()  # a view would keep those of all rounds
        radii = confidence_radius(before, self.risk / (2.0 * self._counts.size))
        known = acts & (radii <= FARTHEST)
        used = known.sum(axis=1) > 1
        if used.any():
            predictions = np.clip(total / np.maximum(before, 1), 0.0, 1.0)
            self._settle(rewards[used], predictions[used], radii[used], known[used])

    def _settle(self, rewards: Array, predictions: Array, radii: Array, known: Flags) -> None:
        """Add up the gains of rounds that are bet on, and what the correlation is computed from."""
        capital = self._log_capital + log_gains(rewards, predictions, radii, known).cumsum(axis=0)
        evidence = np.logaddexp.reduce(capital.reshape(len(capital), -1), axis=1) - math.log(self._log_capital.size)
        reached = np.flatnonzero(evidence >= math.log(2.0 / self.risk))
        if self._noticed_after is None and reached.size:
            self._noticed_after = self._rounds + int(reached[0]) + 1
        self._log_capital, self._greatest = capital[-1].copy(), max(self._greatest, float(evidence.max()))
        errors = np.where(known, rewards - predictions, 0.0)
        self._rounds += len(rewards)
        self._products += float(sum_of_pairs(errors).sum())
        self._pairs += float(sum_of_pairs(known.astype(np.float64)).sum())
        self._squares += float((errors**2).sum())
        self._pulls += float(known.sum())

    def finding(self) -> DependenceFinding:
        """Return what has been found so far."""
        correlation = None
        if self._squares > 0.0:
            correlation = (self._products / self._pairs) / (self._squares / self._pulls)
        evidence = math.exp(min(self._greatest, _MOST_LOG))
        return DependenceFinding(self._rounds, correlation, evidence, self._noticed_after, self.risk)


class PullRounds:
    """Divides pulls in the order of a ledger into rounds for a test of M clients.

    A round is a stretch of consecutive pulls in which no client pulls twice: the second pull of a client ends it.
    """

    def __init__(self, test: DependenceTest, num_clients: int) -> None:
        self._test, self._num_clients = test, num_clients
        self._rounds: list[dict[int, tuple[int, float]]] = [{}]

    def add(self, client: int, arm: int, reward: float) -> None:
        """Add the next pull; the reward is in [0, 1]."""
        if client in self._rounds[-1]:
            self._rounds.append({})
        self._rounds[-1][client] = arm, reward

    def test_finished(self) -> DependenceFinding:
        """Bet on the rounds that have ended since the last call, and return what has been found so far."""
        *finished, last = self._rounds
        if finished:
            arms = np.full((len(finished), self._num_clients), -1)
            rewards = np.zeros(arms.shape)
            for round, pulls in enumerate(finished):
                for client, pull in pulls.items():
                    arms[round, client], rewards[round, client] = pull
            self._test.add_rounds(arms, rewards)
            self._rounds = [last]
        return self._test.finding()


def find_dependence(arms: Counts, rewards: Array, num_arms: int, risk: float = RISK) -> DependenceFinding:
    """Test a trace by round: arms [M, T] (-1 where a client does not act), observed rewards [M, T] in [0, 1]."""
    test = DependenceTest(len(arms), num_arms, risk)
    test.add_rounds(arms.T, rewards.T)
    return test.finding()
