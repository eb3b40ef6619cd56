"""Clients of Thompson sampling that leap or step, many times over, and the exact law of their first pulls."""

import functools
from collections import defaultdict
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

import numpy as np
from scipy import stats

from tutelage.draws import random
from tutelage.engine.kernels import compiled_main
from tutelage.engine.leaping import new_scratch
from tutelage.policies import thompson
from tutelage.policies.base import Learner, Prospect
from tutelage.policies.thompson import ThompsonSampling
from tutelage.seeding import POLICY, client_generator, client_streams

UNLIMITED = 1 << 40


class Case(NamedTuple):
    """A client's history, and the chances of a 1 at its arms."""

    successes: tuple[int, ...]
    failures: tuple[int, ...]
    means: tuple[float, ...]


def play_runs(stream, history, times, room, learner, prospect, stretch, parameters, leaps, pulls, ones):
    """Play a client with ``history`` [2, K] up to the last of ``times``, once for each row of ``pulls`` [R, C, K].

    ``pulls`` and ``ones`` get what was pulled and shown up to each of the times.  Unless it ``leaps``, and where
    it gains nothing by that, the client steps.
    """
    num_arms = learner.counts.size
    for run in range(pulls.shape[0]):
        learner.state[:] = 0.0
        for arm in range(num_arms):
            learner.state[arm], learner.state[num_arms + arm] = history[0, arm], history[1, arm]
        now = 0
        for place in range(times.size):
            for arm in range(num_arms):
                pulls[run, place, arm] = pulls[run, place - 1, arm] if place > 0 else 0
                ones[run, place, arm] = ones[run, place - 1, arm] if place > 0 else 0
            while now < times[place]:
                stretch.pulls[:] = 0
                stretch.ones[:] = 0
                rounds = 0
                if leaps:
                    asked = Prospect(
                        prospect.means,
                        prospect.is_constant,
                        prospect.is_settled,
                        room,
                        times[place] - now,
                        False,
                        0,
                        now,
                        prospect.checkpoints,
                        0,
                        False,
                    )
                    rounds = leap(now + 1, learner, asked, stretch, parameters, stream)
                if rounds == 0:
                    rounds = 1
                    arm = choose(now + 1, learner, parameters, stream)
                    reward = 1.0 if random(stream) < prospect.means[arm] else 0.0
                    learn(arm, reward, learner, parameters, stream)
                    stretch.pulls[arm] = 1
                    stretch.ones[arm] = 0 if prospect.is_constant[arm] else int(reward)
                now += rounds
                for arm in range(num_arms):
                    pulls[run, place, arm] += stretch.pulls[arm]
                    of_constant = stretch.pulls[arm] if prospect.means[arm] == 1.0 else 0
                    ones[run, place, arm] += of_constant if prospect.is_constant[arm] else stretch.ones[arm]


choose, learn, leap = thompson.choose, thompson.learn, thompson.leap


def play(case, times, runs, *, leaps=True, seed=0, room=UNLIMITED, compiles=False, leap_function=thompson.leap):
    """Return pulls and ones [R, C, K] of that many clients at ``times``; in plain Python unless it ``compiles``."""
    num_arms = len(case.means)
    counts, numbers = np.zeros((2, num_arms), dtype=np.int64), np.zeros((2, num_arms))
    learner = Learner(counts[0], numbers[0], np.zeros(ThompsonSampling().state_size(num_arms)))
    means = np.array(case.means, dtype=np.float64)
    is_constant = (means == 0.0) | (means == 1.0)
    prospect = Prospect(means, is_constant, is_constant, counts[1], 1, False)
    pulls, ones = (np.zeros((runs, len(times), num_arms), dtype=np.int64) for _ in range(2))
    bound = FunctionType(play_runs.__code__, globals() | {"leap": leap_function})
    (compiled_main(play_runs, "play_runs") if compiles else bound)(
        client_streams(seed, 0, 1)[0, POLICY] if compiles else client_generator(seed, 0, 0, POLICY),
        np.array([case.successes, case.failures], dtype=np.float64),
        np.array(times),
        np.full(num_arms, room),
        learner,
        prospect,
        new_scratch(num_arms)[1],
        np.zeros(1),
        leaps,
        pulls,
        ones,
    )
    return pulls, ones


def exact_law(case, horizon):
    """Return the probabilities of all (pulls, ones) [2, K] after ``horizon`` pulls, as a dictionary of tuples."""
    num_arms = len(case.means)
    law = {((0,) * num_arms, (0,) * num_arms): 1.0}
    for _ in range(horizon):
        after = defaultdict(float)
        for (pulls, ones), chance in law.items():
            a = tuple(1 + s + one for s, one in zip(case.successes, ones, strict=True))
            b = tuple(1 + f + n - one for f, n, one in zip(case.failures, pulls, ones, strict=True))
            for arm, wins in enumerate(chances_of_being_largest(a, b)):
                more = (*pulls[:arm], pulls[arm] + 1, *pulls[arm + 1 :])
                mean = case.means[arm]
                after[more, (*ones[:arm], ones[arm] + 1, *ones[arm + 1 :])] += chance * wins * mean
                after[more, ones] += chance * wins * (1.0 - mean)
        law = {outcome: chance for outcome, chance in after.items() if chance > 0.0}
    assert abs(sum(law.values()) - 1.0) < 1e-9
    return law


@functools.cache
def chances_of_being_largest(a, b):
    """Return P(theta_k is the largest) for theta_k ~ Beta(a_k, b_k), by quadrature.

    Of whole a and b the integrand is a polynomial, for which the quadrature is exact where its degree is below 512.
    """
    tables = [beta_table(*shapes) for shapes in zip(a, b, strict=True)]
    below = np.array([table[1] for table in tables])
    return [
        float((_WEIGHTS * tables[arm][0] * np.delete(below, arm, axis=0).prod(axis=0)).sum())
        for arm in range(len(tables))
    ]


_NODES, _WEIGHTS = (np.polynomial.legendre.leggauss(256)[part] / 2.0 for part in (0, 1))


@functools.cache
def beta_table(a, b):
    """Return density and distribution function of Beta(a, b) at the nodes."""
    law = stats.beta(a, b)
    return law.pdf(_NODES + 0.5), law.cdf(_NODES + 0.5)


def p_value_of_law(case, horizon, runs, **options):
    """Return the p-value of a chi-squared test of the clients' pulls and ones after ``horizon`` against their law."""
    law = exact_law(case, horizon)
    pulls, ones = play(case, [horizon], runs, **options)
    outcomes, found = np.unique(np.stack([pulls[:, 0], ones[:, 0]], axis=1), axis=0, return_counts=True)
    observed = {
        tuple(map(tuple, outcome.tolist())): count for outcome, count in zip(outcomes, found.tolist(), strict=True)
    }
    if not observed.keys() <= law.keys():
        return 0.0
    likely = {outcome: runs * chance for outcome, chance in law.items() if runs * chance > 10.0}
    squares = sum((observed.get(outcome, 0) - mean) ** 2 / mean for outcome, mean in likely.items())
    rest = runs - sum(likely.values())
    if rest > 10.0:
        squares += (runs - sum(observed.get(outcome, 0) for outcome in likely) - rest) ** 2 / rest
    return float(stats.chi2.sf(squares, len(likely) - (rest <= 10.0)))


def mutated(module, changes):
    """Return Thompson's leap after changes, a dictionary, to the source of one of its modules."""
    source = Path(module.__file__).read_text()
    for old, new in changes.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    changed = ModuleType(module.__name__)
    exec(compile(source, "mutant", "exec"), vars(changed))  # noqa: S102
    imported = [name for name in vars(thompson) if name.startswith(("find_", "pull_")) and hasattr(changed, name)]
    names = vars(thompson) | {name: getattr(changed, name) for name in imported}
    names["_pull_any"] = FunctionType(thompson._pull_any.__code__, names)
    return FunctionType(thompson.leap.__code__, names)
