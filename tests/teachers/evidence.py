"""Hand-made evidence: estimates chosen arm by arm, turned into sums of rewards."""

import math

import numpy as np

from tutelage.epoch_schedule import confidence_radius
from tutelage.teachers.base import Evidence, Problem
from tutelage.teachers.families.intervals import schedule_of

THREE = Problem(3, 3, 50_000, (1 / 3, 1 / 3, 1 / 3))
UNEVEN = Problem(3, 3, 50_000, (0.5, 0.3, 0.2))
SINGLE_CLIENT = Problem(1, 2, 50_000, (1.0,))
EPOCHS = sum(3 * end <= THREE.horizon for end in schedule_of(THREE).ends)


def begin(teacher, problem=THREE):
    """The state at the start; neither TAL nor TWL draws anything."""
    return teacher.begin(problem, None)


def evidence_of(problem, rows):
    """Evidence from means: ``rows[arm]`` lists the new segments as (epoch, the clients' means)."""
    schedule = schedule_of(problem)
    sums = []
    for segments in rows:
        totals = [np.array(means, dtype=float) * schedule.pulls(epoch) for epoch, means in segments]
        sums.append(np.array(totals).reshape(len(totals), problem.num_clients))
    return Evidence(tuple(sums))


def same_for_all(problem, epoch, *means):
    """One segment of each arm, every client with the arm's mean; None for an arm without news."""
    return evidence_of(problem, [[] if mean is None else [(epoch, [mean] * problem.num_clients)] for mean in means])


def bounds_by_hand(problem, epoch, means, gone=()):
    """LCB and UCB of an arm from the clients' means, the weights of those that are left scaled."""
    remaining = [m for m in range(problem.num_clients) if m not in gone]
    total = sum(problem.weights[m] for m in remaining)
    weights = [problem.weights[m] / total for m in remaining]
    estimate = sum(weight * means[m] for weight, m in zip(weights, remaining, strict=True))
    log = math.log(2 * problem.num_arms * problem.horizon**2 * problem.num_clients ** len(gone))
    pulls = schedule_of(problem).pulls(epoch)
    radius = math.sqrt(log * sum(weight**2 for weight in weights) / (2 * pulls))
    return estimate - radius, estimate + radius


def just_touching(problem=SINGLE_CLIENT):
    """A sum of arm 1 whose LCB equals, to the last bit, the UCB of arm 0 that has only zeros."""
    schedule = schedule_of(problem)
    radius, pulls = confidence_radius(schedule, 1), schedule.pulls(1)
    total = 2 * radius * pulls
    while total / pulls - radius < radius:
        total = np.nextafter(total, math.inf)
    while total / pulls - radius > radius:
        total = np.nextafter(total, -math.inf)
    assert total / pulls - radius == radius
    return total


def zeros_against(total):
    """Evidence of the first epoch of one client: arm 0 has only zeros, arm 1 this sum."""
    return Evidence((np.zeros((1, 1)), np.full((1, 1), total)))
