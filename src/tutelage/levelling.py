"""LEVEL and FREE LEVEL: keep the revealed sums of a client's active arms near one line (docs/blt.md).

Plain functions that the engine compiles.  N and Q of the memory count the current pull, S does not yet.
``progress`` is an arm's pulls made comparable: N, or max(0, N - head start) / leading share for the leading arm.
"""

import numpy as np
from numpy.typing import NDArray

from tutelage.rule_memory import LEVEL, PRESSURES, WANDER, RuleArrays, RuleMemory, clip

START_LEVEL, LEAST_LEVEL, MOST_LEVEL = 0.5, 0.05, 0.95
_OTHER_WEIGHT = 0.2  # of an arm that does not lead, in the client's mean reward, where the leading arm has 1

_WANDER_WINDOW, _EXPLORER = 30.0, 0.12  # a client whose wander is above the second explores
_TIE = 1e-9
_EXPLORER_SLACK, _LEADING_SLACK = 4.0, 10.0
_LAG, _LAG_SHARE, _LAG_LEVEL = 3.0, 0.1, 0.4  # a free leading arm that falls behind is raised to this level


def reveal_level(rules: RuleArrays, memory: RuleMemory, arm: int, reward: float) -> float:
    """Return what ``rules.Level`` reveals."""
    numbers, pulls, revealed = rules.numbers, memory.pulls[arm], memory.revealed[arm]
    leading_share, offset, band = numbers[arm, 0], numbers[arm, 1], numbers[arm, 2]
    slack, slack_share, push = numbers[arm, 3], numbers[arm, 4], numbers[arm, 5]
    head_start = numbers[arm, 8]
    _freeze(rules, memory, numbers[arm, 6], numbers[arm, 7])
    level = memory.state[LEVEL] if memory.state[LEVEL] > 0.0 else START_LEVEL
    least = _least_progress(rules, memory, leading_share, head_start)
    line = level * pulls + offset * (leading_share if arm == rules.leading_arm else 1.0)
    low, high = clip(line - band - revealed), clip(line + band - revealed)
    ahead = _progress(rules, memory, arm, leading_share, head_start) - least - slack - slack_share * least
    if ahead > 0.0:
        low, high = 0.0, clip(line - band - push * ahead - revealed)
    return min(high, max(low, reward))


def _progress(rules: RuleArrays, memory: RuleMemory, arm: int, leading_share: float, head_start: float) -> float:
    pulls = float(memory.pulls[arm])
    return max(0.0, pulls - head_start) / leading_share if arm == rules.leading_arm else pulls


def _least_progress(rules: RuleArrays, memory: RuleMemory, leading_share: float, head_start: float) -> float:
    least = np.inf
    for arm in range(len(rules.kinds)):
        if rules.active[arm]:
            least = min(least, _progress(rules, memory, arm, leading_share, head_start))
    return least


def _fewest_pulls(rules: RuleArrays, memory: RuleMemory, omitted: int) -> float:
    """Return the fewest pulls of any active arm but one (-1: of any)."""
    fewest = np.inf
    for arm in range(len(rules.kinds)):
        if rules.active[arm] and arm != omitted:
            fewest = min(fewest, float(memory.pulls[arm]))
    return fewest


def _freeze(rules: RuleArrays, memory: RuleMemory, freeze_pulls: float, freeze_share: float) -> None:
    """Fix the client's level once it has enough pulls of every active arm."""
    if memory.state[LEVEL] > 0.0 or _fewest_pulls(rules, memory, -1) < freeze_pulls:
        return
    total = 0.0
    for arm in range(len(rules.kinds)):
        if rules.active[arm]:
            total += memory.observed[arm] / memory.pulls[arm]
    memory.state[LEVEL] = max(LEAST_LEVEL, freeze_share * (total / rules.num_active))


# -------------------------------------------------------------------------------------------- FREE LEVEL


def update_wander(memory: RuleMemory, arm: int) -> None:
    """Move the client's wander by a pull of ``arm``, once it has pulled every arm before."""
    own_pulls = memory.pulls[arm] - 1
    if own_pulls == 0:
        return
    highest = 0.0
    for other in range(len(memory.pulls)):
        if memory.pulls[other] == 0:
            return
        if other != arm:
            highest = max(highest, memory.revealed[other] / memory.pulls[other])
    away = 1.0 if memory.revealed[arm] / own_pulls < highest - _TIE else 0.0
    memory.state[WANDER] += (away - memory.state[WANDER]) / _WANDER_WINDOW


def reveal_free_level(rules: RuleArrays, memory: RuleMemory, arm: int, reward: float) -> float:
    """Return what ``rules.FreeLevel`` reveals."""
    numbers, pulls, revealed = rules.numbers, memory.pulls[arm], memory.revealed[arm]
    leading_share, offset, band = numbers[arm, 0], numbers[arm, 1], numbers[arm, 2]
    slack, slack_share, push = numbers[arm, 3], numbers[arm, 4], numbers[arm, 5]
    head_start = numbers[arm, 7]
    leads, explores = arm == rules.leading_arm, rules.leading_arm >= 0 and memory.state[WANDER] > _EXPLORER
    least = _least_progress(rules, memory, leading_share, head_start)
    progress = _progress(rules, memory, arm, leading_share, head_start)
    share = max(1.0, pulls / max(1.0, progress)) if leads else 1.0
    line = _move_level(rules, memory, numbers[arm], explores, least) * pulls + offset * share
    lowest = _lowest_mean_behind(rules, memory, arm, least, line)
    if leads and explores:
        high = clip(MOST_LEVEL * pulls + offset * share - revealed)
        low = 0.0
        if _fewest_pulls(rules, memory, arm) - progress > _LAG + _LAG_SHARE * progress:
            low = min(high, clip(_LAG_LEVEL * pulls - revealed))
        top = lowest * pulls - band
    else:
        low, high = clip(line - band - revealed), clip(line + band - revealed)
        top = min(line, lowest * pulls)
    slack_here = _LEADING_SLACK if leads else _EXPLORER_SLACK if explores else slack
    if progress - least - slack_here - slack_share * least > 0.0:
        memory.state[PRESSURES + arm] += push
        low, high = 0.0, clip(top - memory.state[PRESSURES + arm] - revealed)
    else:
        memory.state[PRESSURES + arm] = 0.0
        spare = (_EXPLORER_SLACK + slack_share * least) / 2.0 if explores else slack + slack_share * least
        if progress > least + spare:
            low = 0.0  # only arms that are needed are raised
    return min(high, max(low, reward))


def _move_level(
    rules: RuleArrays, memory: RuleMemory, numbers: NDArray[np.float64], explores: bool, least: float
) -> float:
    """Freeze the client's level if that is due, move it if it is frozen, and return it.

    A level that rises must do so more slowly than offset / progress falls: otherwise the arm that was raised
    first holds a greedy client.
    """
    leading_share, offset, freeze_pulls, head_start = numbers[0], numbers[1], numbers[6], numbers[7]
    leading_arm, level = rules.leading_arm, memory.state[LEVEL]
    if level == 0.0 and _fewest_pulls(rules, memory, -1) < freeze_pulls:
        return START_LEVEL
    if explores:
        pulls = float(memory.pulls[leading_arm])
        share = max(1.0, pulls / max(1.0, _progress(rules, memory, leading_arm, leading_share, head_start)))
        level = (memory.revealed[leading_arm] - offset * share) / pulls
        level = min(MOST_LEVEL, max(LEAST_LEVEL, level))
    elif level == 0.0:
        level = _mean_reward(rules, memory)
    elif leading_arm >= 0:
        mean = _mean_reward(rules, memory)
        unit = offset / max(least, 4.0) ** 2 / (rules.num_active - 1 + leading_share)
        level += min(mean - level, unit / 4.0) if mean > level else -min(level - mean, 2.0 * unit)
    memory.state[LEVEL] = level
    return level  # type: ignore[no-any-return]


def _mean_reward(rules: RuleArrays, memory: RuleMemory) -> float:
    """Return the client's mean observed reward over the active arms, in which the leading arm counts most."""
    total = weights = 0.0
    for arm in range(len(rules.kinds)):
        if rules.active[arm]:
            weight = 1.0 if arm == rules.leading_arm else _OTHER_WEIGHT
            total += weight * (memory.observed[arm] + 0.5) / (memory.pulls[arm] + 1.0)
            weights += weight
    return min(MOST_LEVEL, max(LEAST_LEVEL, total / weights))


def _lowest_mean_behind(rules: RuleArrays, memory: RuleMemory, arm: int, least: float, line: float) -> float:
    """Return the lowest revealed mean of the other active arms that have the least progress."""
    lowest = np.inf
    leading_share, head_start = rules.numbers[arm, 0], rules.numbers[arm, 7]
    for other in range(len(rules.kinds)):
        if not rules.active[other] or other == arm:
            continue
        if _progress(rules, memory, other, leading_share, head_start) > least + _TIE:
            continue
        if memory.pulls[other] > 0:
            lowest = min(lowest, memory.revealed[other] / memory.pulls[other])
        else:
            lowest = min(lowest, line / memory.pulls[arm])
    return lowest
